#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""make bench-ledger: what the ledger costs, and how it does with many events.

ledger.py PINFOLD [EVENTS [RUNS]] makes a chain of so many events (ten million) in a directory below $TMPDIR, lets
pinfold sign it, and measures beside sha256sum of the same bytes: the check of all of it with its memory, and how
long one run takes to be found. Then runs with the ledger off, on, and on disk before each answer, in turn: RUNS
(200) of each, one by one and from four callers. EVENTS 0 leaves out the first, RUNS 0 the second."""
import concurrent.futures
import hashlib
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PINFOLD = os.path.abspath(sys.argv[1])
EVENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 200
CALLERS = 4
SEGMENT = 64 << 20
ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"
LETTERS = str.maketrans("0123456789", "234567ghij")
HOME = tempfile.mkdtemp(prefix="pinfold-ledger-")
ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "PINFOLD_HOME": HOME + "/home", "PINFOLD_SOCKET": HOME + "/sock"}


def memory(pid):
    """Its most so far, in KiB. What wait4() tells begins with the memory of who forked it."""
    try:
        rows = [r for r in open("/proc/%d/status" % pid) if r.startswith("VmHWM")]
    except OSError:
        return 0
    return int(rows[0].split()[1]) if rows else 0


def measured(words, env=None, good=(0,), watch=False):
    """Seconds, those on a processor, and the most memory in KiB if that is watched."""
    began = time.monotonic()
    child = subprocess.Popen(words, env={**ENV, **(env or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kib = 0
    while watch and os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        kib = max(kib, memory(child.pid))
        time.sleep(0.02)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in good, words
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, kib


def pinfold(*words, env=None, good=(0,)):
    return measured([PINFOLD, *words], env, good)


def run_id(ms, digest):
    return "run" + "".join(ALPHABET[ms >> 5 * i & 31] for i in range(9, -1, -1)) + digest[:16].translate(LETTERS)


def instant(ms):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + ".%03dZ" % (ms % 1000)


def fill(directory, count):
    """Go on from the last event, as chain.c would: runs that begin and end, a thousand events a second. Some of them."""
    events = directory + "/events"
    last = open(events, "rb").read().split(b"\n")[-2]
    head = json.loads(last)
    at, before = head["at"] + 1, hashlib.sha256(b"\0" + last).hexdigest()
    ms = int(time.time() * 1000) - count
    begin = ('{"at":%d,"before":"%s","chain":"' + head["chain"] + '","data":{"argv":["sh","-c","echo hi"],"argv_sha256":"'
             + "98ea6e4f" * 8 + '","image":"host","isolation":"strict"},"kind":"run","phase":"begin",')
    end = ('{"at":%d,"before":"%s","chain":"' + head["chain"] + '","data":{"denials":[],"exit_status":0,'
           '"status":"exited","stderr":{"bytes":0,"sha256":"' + "e3b0c442" * 8 + '"},"stdout":{"bytes":3,"sha256":"'
           + "98ea6e4f" * 8 + '"},"wall_ms":15},"kind":"run","phase":"end",')
    tail = '"run":"%s","sandbox":"sbx23obmi6rdsahhghegg273etaic","time":"%s","who":{"uid":0}}'
    begin, end = begin + tail, end + tail
    first, size, runs = 0, os.path.getsize(events), []
    out = open(events, "ab", 1 << 20)
    for i in range(count):
        if size >= SEGMENT:
            out.close()
            os.rename(events, "%s.%015d" % (events, first))
            first, size, out = at, 0, open(events, "ab", 1 << 20)
        if i % 2 == 0:
            ms += 2
            stamp, run = instant(ms), run_id(ms, before)
            if i % 1000 == 0:
                runs.append(run)
        line = ((end if i % 2 else begin) % (at, before, run, stamp)).encode()
        before = hashlib.sha256(b"\0" + line).hexdigest()
        out.write(line + b"\n")
        size += len(line) + 1
        at += 1
    out.close()
    return runs


def total(directory):
    return sum(os.path.getsize(os.path.join(directory, f)) for f in os.listdir(directory) if f.startswith("events"))


def check(directory, mib):
    """In turn, and the best of three: of other programs on the machine there are always some."""
    files = sorted(os.path.join(directory, f) for f in os.listdir(directory) if f.startswith("events"))
    ways = {"sha256sum": ["sha256sum", *files], "openssl dgst -sha256": ["openssl", "dgst", "-sha256", *files],
            "pinfold verify": [PINFOLD, "verify"]}
    if not shutil.which("openssl", path=ENV["PATH"]):
        del ways["openssl dgst -sha256"]
    got = {name: [] for name in ways}
    for _ in range(3):
        for name, words in ways.items():
            got[name].append(measured(words, watch=True))
    print("| | seconds | on a processor | MiB/s | memory |\n|---|---|---|---|---|")
    for name, rows in got.items():
        wall, cpu, kib = (min(r[i] for r in rows) for i in range(3))
        print("| %s | %.2f | %.2f | %.0f | %d MiB |" % (name, wall, cpu, mib / wall, max(r[2] for r in rows) // 1024))
    wall, cpu = (min(r[i] for r in got["sha256sum"]) / min(r[i] for r in got["pinfold verify"]) for i in range(2))
    print("verify: %.2f of the speed of sha256sum; by time on a processor %.2f" % (wall, cpu))


def lookups(runs):
    nobody = ["run" + "".join(random.Random(i).choices(ALPHABET, k=26)) for i in range(20)]
    some = random.Random(2).sample(runs, min(20, len(runs)))
    rows = {"pinfold version": [pinfold("version") for _ in range(20)],
            "audit --run": [pinfold("audit", "--run", r) for r in some],
            "receipt": [pinfold("receipt", r) for r in some],
            "receipt of a run that is not there": [pinfold("receipt", r, good=(1, 125)) for r in nobody]}
    print("| one program | p50 | on a processor |\n|---|---|---|")
    for name, times in rows.items():
        print("| %s | %.1f ms | %.1f ms |" % (name, *(statistics.median(t[i] for t in times) * 1000 for i in range(2))))


def many():
    directory = HOME + "/home/ledger"
    pinfold("run", "--", "true")
    pinfold("audit", "checkpoint")
    runs = fill(directory, EVENTS)
    mib = total(directory) / (1 << 20)
    sign, _, kib = measured([PINFOLD, "audit", "checkpoint"], watch=True)
    rest = sum(os.path.getsize(directory + "/" + f) for f in ("tree", "offsets", "runs") if os.path.exists(directory + "/" + f))
    print("%d events, %.0f MiB; tree, index and signature %.1f s, %d MiB on disk, %d MiB of memory"
          % (EVENTS, mib, sign, rest >> 20, kib // 1024))
    check(directory, mib)
    lookups(runs)


class Daemon:
    """One with the ledger in one of three ways."""

    def __init__(self, name, env):
        self.name, self.sock, self.http = name, "%s/%s.sock" % (HOME, name), "%s/%s-http.sock" % (HOME, name)
        self.env = {**env, "PINFOLD_HOME": "%s/%s" % (HOME, name), "PINFOLD_SOCKET": self.sock}
        self.child = subprocess.Popen([PINFOLD, "serve", "--warm", "4", "--warm-python", "0", "--http-socket", self.http],
                                      env={**ENV, **self.env}, stderr=subprocess.DEVNULL)
        while not (os.path.exists(self.sock) and os.path.exists(self.http)):
            assert self.child.poll() is None
            time.sleep(0.05)

    def command(self):
        return lambda: pinfold("run", "--daemon", "--limits", "best-effort", "--", "true", env=self.env)

    def post(self):
        c = http.client.HTTPConnection("localhost")
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(self.http)

        def one():
            status = 503
            while status == 503:  # a machine that is too busy
                c.request("POST", "/v1/runs", '{"command":["true"],"limits":"best-effort"}',
                          {"Content-Type": "application/json"})
                answer = c.getresponse()
                body, status = answer.read(), answer.status
            assert status == 200, body

        return one


def timed(call):
    began = time.monotonic()
    call()
    return (time.monotonic() - began) * 1000


def rate(make, count):
    """Runs a second from some callers at once."""
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        calls = [make() for _ in range(CALLERS)]
        began = time.monotonic()
        for done in [pool.submit(lambda c=c: [c() for _ in range(count)]) for c in calls]:
            done.result()
        return CALLERS * count / (time.monotonic() - began)


def compare(title, daemons, way):
    one = {d.name: way(d)() for d in daemons}
    times, rates = {d.name: [] for d in daemons}, {d.name: [] for d in daemons}
    for i in range(RUNS + 20):
        for d in random.sample(daemons, len(daemons)):
            ms = timed(one[d.name])
            if i >= 20:
                times[d.name].append(ms)
    for _ in range(max(3, RUNS // 40)):
        for d in random.sample(daemons, len(daemons)):
            rates[d.name].append(rate(way(d), 20))
    p50 = {k: statistics.median(v) for k, v in times.items()}
    many_ = {k: statistics.median(v) for k, v in rates.items()}
    print("| %s, ledger | p50 | to off | runs a second, %d callers | to off |\n|---|---|---|---|---|" % (title, CALLERS))
    for d in daemons:
        print("| %s | %.2f ms | %+.1f %% | %.0f | %+.1f %% |"
              % (d.name, p50[d.name], (p50[d.name] / p50["off"] - 1) * 100, many_[d.name],
                 (many_[d.name] / many_["off"] - 1) * 100))


def warm():
    daemons = []
    try:
        for name, env in (("off", {"PINFOLD_LEDGER": "off"}), ("on", {}), ("always", {"PINFOLD_LEDGER_SYNC": "always"})):
            daemons.append(Daemon(name, env))
        compare("a warm run", daemons, lambda d: d.command)
        compare("POST /v1/runs", daemons, lambda d: d.post)
    finally:
        for d in daemons:
            d.child.terminate()
        for d in daemons:
            d.child.wait()


try:
    if EVENTS:
        many()
    if RUNS:
        warm()
finally:
    shutil.rmtree(HOME, ignore_errors=True)
