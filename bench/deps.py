#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""make bench-deps: what packages cost, with what is aimed for.

deps.py PINFOLD [SAMPLES [MEGABYTES]], as root, with pip. An index of our own on the loopback of a network namespace has
two packages of the size of numpy and pandas, and one of MEGABYTES (500). Measured in turn, so that whatever else this
machine does meets both sides: a sandbox with them and one without, from the request to the first line; the first
installation beside pip's, from the same index; a scan of 2,000 programs; 100 sandboxes on one set."""
import importlib.util
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PINFOLD = os.path.abspath(sys.argv[1])
SAMPLES = int(sys.argv[2]) if len(sys.argv) > 2 else 20
MEGABYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 500
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINE = 'print("ready", flush=True)\n'


def load(name):
    spec = importlib.util.spec_from_file_location(name, f"{HERE}/tests/deps/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.argv[1:] = [TOP + "/port"]
    spec.loader.exec_module(module)
    return module


def package(index, name, files, size, requires=()):
    """So many modules with something in them that does not compress, and one that has nothing."""
    rng = random.Random(name)
    content = {f"{name}/__init__.py": "", **{f"{name}/m{i}.py": f"x = {rng.randrange(10**9)}\n" * 40 for i in range(files)}}
    # Not in one piece: that many bits are no int of C's.
    content[f"{name}/data.bin"] = b"".join(rng.randbytes(min(1 << 24, size - at)) for at in range(0, size, 1 << 24))
    index.add(name, index.wheel(name, "1.0", content, requires))


def serve(module, handler):
    server = module.http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/"


def run(words, **more):
    """Wall clock, processor time of it and its children."""
    began = time.monotonic()
    child = subprocess.Popen(words, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, words
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def first_line(*words):
    began = time.monotonic()
    with subprocess.Popen([PINFOLD, "run", "--no-daemon", *words], env=ENV, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as child:
        line = child.stdout.readline()
        took = time.monotonic() - began
        child.stdout.read()
    assert line == b"ready\n" and child.returncode == 0, words
    return took


def row(what, value, aim):
    print(f"| {what} | {value} | {aim} |", flush=True)


def disk(path):
    return int(subprocess.run(["du", "-sB1", path], capture_output=True, check=True).stdout.split()[0])


def cached():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("Cached:"))


def second():
    with_them = ["--deps", "auto", "--lang", "python", "-c", LINE + "import likepandas"]
    without = ["--lang", "python", "-c", LINE]
    first_line(*with_them)
    pairs = [(first_line(*with_them), first_line(*without)) for _ in range(SAMPLES)]
    a, b = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    row("second sandbox with the set, to its first line", f"{a * 1000:.1f} ms, without {b * 1000:.1f} ms: {a / b:.2f} ×", "≤ 1.1 ×")


def installation():
    """Nothing is removed in between: a file system that takes care not to use what was just freed would be measured."""
    lock, times = TOP + "/pinfold.lock", {"pip": [], "empty": [], "full": []}
    usual = ENV["PINFOLD_HOME"]
    run([PINFOLD, "deps", "add", "--lock", lock, "likepandas"])
    pip = ["/usr/bin/python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir", "--target"]
    for i in range(3):
        times["pip"].append(run([*pip, f"{TOP}/pip{i}", "likepandas"], stderr=subprocess.DEVNULL)[0])
        ENV["PINFOLD_HOME"] = f"{TOP}/empty{i}"
        times["empty"].append(run([PINFOLD, "deps", "fetch", "--lock", lock])[0])
        ENV["PINFOLD_HOME"] = f"{TOP}/full{i}"
        run([PINFOLD, "deps", "ls"])
        shutil.copytree(f"{TOP}/empty{i}/deps/files", f"{TOP}/full{i}/deps/files", dirs_exist_ok=True)
        times["full"].append(run([PINFOLD, "deps", "fetch", "--lock", lock])[0])
    ENV["PINFOLD_HOME"] = usual
    pip, empty, full = (statistics.median(times[k]) for k in ("pip", "empty", "full"))
    row("first installation, empty cache", f"{empty:.2f} s, pip {pip:.2f} s: {empty / pip:.2f} ×", "≤ 1.2 ×")
    row("the same, full cache", f"{full:.2f} s: {full / pip:.2f} ×", "≤ 0.5 ×")


def of_node():
    """The same beside npm ci, which has the lock of npm install; a hundred packages of twenty files."""
    if not shutil.which("npm", path=ENV["PATH"]):
        row("first installation of node's", "npm is not there", "≤ 1.2 ×")
        return
    registry, usual, rng = load("registry"), ENV["PINFOLD_HOME"], random.Random(1)
    names = [f"part{i}" for i in range(100)]
    for name in names:
        registry.add(name, "1.0.0", {"index.js": "", **{f"m{i}.js": f"exports.x = {rng.randrange(10**9)};\n" * 50 for i in range(20)}})
    registry.add("whole", "1.0.0", {"index.js": ""}, dependencies={n: "^1.0.0" for n in names})
    ENV["npm_config_registry"] = serve(registry, registry.Registry)
    lock, project, times = TOP + "/node.lock", TOP + "/project-of-node", {"npm": [], "empty": [], "full": []}
    npm = ["npm", "--no-audit", "--no-fund", "--silent"]
    os.makedirs(project)
    with open(project + "/package.json", "w", encoding="ascii") as f:
        f.write('{"name": "p", "version": "1.0.0", "dependencies": {"whole": "^1.0.0"}}')
    ENV["npm_config_cache"] = TOP + "/npm"
    run([*npm, "install"], cwd=project)
    run([PINFOLD, "deps", "add", "--lang", "node", "--lock", lock, "whole"])
    for i in range(3):
        ENV["npm_config_cache"] = f"{TOP}/npm{i}"
        here = shutil.copytree(project, f"{TOP}/node{i}", ignore=shutil.ignore_patterns("node_modules"))
        times["npm"].append(run([*npm, "ci"], cwd=here)[0])
        ENV["PINFOLD_HOME"] = f"{TOP}/node-empty{i}"
        times["empty"].append(run([PINFOLD, "deps", "fetch", "--lock", lock])[0])
        ENV["PINFOLD_HOME"] = f"{TOP}/node-full{i}"
        run([PINFOLD, "deps", "ls"])
        shutil.copytree(f"{TOP}/node-empty{i}/deps/files", f"{TOP}/node-full{i}/deps/files", dirs_exist_ok=True)
        times["full"].append(run([PINFOLD, "deps", "fetch", "--lock", lock])[0])
    ENV["PINFOLD_HOME"] = usual
    npm, empty, full = (statistics.median(times[k]) for k in ("npm", "empty", "full"))
    row("first installation of node's, empty cache", f"{empty:.2f} s, npm ci {npm:.2f} s: {empty / npm:.2f} ×", "≤ 1.2 ×")
    row("the same, full cache", f"{full:.2f} s: {full / npm:.2f} ×", "≤ 0.5 ×")


def scan():
    project, have = TOP + "/project", []
    for here, _, files in os.walk(os.path.dirname(os.__file__)):
        have += [os.path.join(here, f) for f in files if f.endswith(".py")]
    for i in range(2000):
        os.makedirs(f"{project}/d{i % 50}", exist_ok=True)
        shutil.copyfile(have[i % len(have)], f"{project}/d{i % 50}/m{i}.py")
    size = sum(os.path.getsize(f) for f in have) / len(have)
    _, cpu = run([PINFOLD, "deps", "scan", "--json", project])
    again = [run([PINFOLD, "deps", "scan", "--json", project]) for _ in range(5)]
    row(f"scan of 2,000 programs of {size / 1024:.0f} KiB", f"{cpu:.2f} s of a processor", "≤ 1.5 s")
    row("the same, nothing changed", f"{statistics.median(a[0] for a in again) * 1000:.0f} ms, "
        f"{statistics.median(a[1] for a in again) * 1000:.0f} of a processor", "≤ 50 ms")


def crowd():
    code = LINE + "import likelarge, sys\ndata = open(likelarge.__path__[0] + '/data.bin', 'rb')\n" \
        "while data.read(1 << 20): pass\nsys.stdin.read()\n"
    words = [PINFOLD, "run", "--no-daemon", "--time", "10m", "--deps", "auto", "--lang", "python", "-c", code]
    run(words)
    before, memory, held = disk(ENV["PINFOLD_HOME"]), cached(), []
    for _ in range(100):
        child = subprocess.Popen(words, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        held.append(child)
    most, grown = disk(ENV["PINFOLD_HOME"]), cached() - memory
    for child in held:
        child.communicate()
    row(f"100 sandboxes on one set of {MEGABYTES} MB", f"{most / 1e6:.0f} MB of disk ({(most - before) / 1e6:.0f} more than one), "
        f"page cache {grown / 1e6:+.0f} MB", "≤ 600 MB, shared")


def main():
    index = load("index")
    package(index, "likenumpy", 400, 18 << 20)
    package(index, "likepandas", 1200, 12 << 20, ["likenumpy"])
    package(index, "likelarge", 100, MEGABYTES * 1000 * 1000)
    ENV["PIP_INDEX_URL"] = serve(index, index.Index) + "simple/"
    print("| what | measured | aim |\n|---|---|---|")
    scan()
    second()
    installation()
    of_node()
    crowd()


if os.geteuid() != 0:
    sys.exit("bench-deps: only root can make a network namespace for the index")
if "PINFOLD_BENCH_INSIDE" not in os.environ:
    os.execvpe("unshare", ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", "/usr/bin/python3", "-I",
                           __file__, *sys.argv[1:]], {**os.environ, "PINFOLD_BENCH_INSIDE": "1"})
TOP = tempfile.mkdtemp(prefix="pinfold-deps-")
ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": TOP, "PINFOLD_HOME": TOP + "/home", "PINFOLD_SOCKET": TOP + "/sock"}
try:
    main()
finally:
    shutil.rmtree(TOP, ignore_errors=True)
