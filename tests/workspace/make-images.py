#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""make-images.py DIR: root file systems out of programs of this host, in every form that images come
in, some of them changed on the way, and some that mean harm."""
import copy
import gzip
import hashlib
import io
import json
import lzma
import os
import subprocess
import sys
import sysconfig
import tarfile

OUT = sys.argv[1]
PROGRAMS = "sh cat ls id readlink stat rm mkdir touch ln head tail sleep env".split()
FOUND = "/usr/bin:/bin"


def entry(name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = fields.pop("mode", 0o644)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def directory(name, **fields):
    return entry(name, type=tarfile.DIRTYPE, mode=fields.pop("mode", 0o755), **fields)


def link(name, target):
    return entry(name, type=tarfile.SYMTYPE, linkname=target)


def tar_bytes(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in entries:
            tar.addfile(copy.copy(info), io.BytesIO(data))
    return out.getvalue()


def write(name, data):
    path = os.path.join(OUT, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def where(program):
    return next(p for p in (os.path.join(d, program) for d in FOUND.split(":")) if os.path.exists(p))


def libraries(path):
    """What it is linked with, and its loader."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return {word for word in text.split() if word.startswith("/")}


def parents(names):
    """Directories on the way to these."""
    found = set()
    for name in names:
        while "/" in name:
            name = name.rpartition("/")[0]
            found.add(name)
    return [directory(d) for d in sorted(found)]


def programs(paths):
    """(name, path on the host) of programs and of all that they load."""
    files = dict(paths)
    for path in list(files.values()):
        for library in libraries(path):
            files[library.lstrip("/")] = library
    return files


BASE = programs({"bin/" + p: where(p) for p in PROGRAMS})
LOADED = [entry(name, read(os.path.realpath(path)), mode=0o755) for name, path in sorted(BASE.items())]
ETC = [directory("etc"),
       entry("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnode::1000:1000::/home/node:/bin/sh\nuser:x:500:500::/:/bin/sh"),
       entry("etc/group", b"root:x:0:\nstaff:x:50:\n"), entry("etc/hosts", b"6.6.6.6 theirs\n"),
       entry("etc/os-release", b"ID=tiny\n"), entry("etc/nsswitch.conf", b"passwd: files\n")]
ROOT = parents(BASE) + LOADED + ETC + [
    directory("proc"), directory("tmp", mode=0o1777), directory("usr"), directory("usr/share"),
    entry("usr/share/note", b"of the image\n"), entry("mail", b"x", gid=50), directory("srv", mode=0o700)]
TOP = [entry(".wh.mail"), directory("usr"), directory("usr/share"), entry("usr/share/note", b"of the second layer\n"),
       directory("opt"), directory("opt/bin"), entry("opt/bin/hello", b"#!/bin/sh\necho hello\n", mode=0o755)]


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def config_of(layers, **more):
    return json.dumps({"architecture": "amd64", "os": "linux",
                       "config": {"Env": ["PATH=/opt/bin:/bin", "SECRET=of the image"], "Cmd": ["/bin/sh", "-c", "id"],
                                  "WorkingDir": "/srv", **more},
                       "rootfs": {"type": "layers", "diff_ids": [digest(l) for l in layers]}}).encode()


def docker(name, layers, config=None, change=lambda files: None, pack=lambda i, data: data):
    """As older dockers save: names of layers say nothing."""
    config = config or config_of(layers)
    note = hashlib.sha256(config).hexdigest() + ".json"
    files = {"%064x/layer.tar" % i: pack(i, data) for i, data in enumerate(layers)}
    names = list(files)
    files[note] = config
    files["manifest.json"] = json.dumps([{"Config": note, "RepoTags": ["tiny:1"], "Layers": names}]).encode()
    change(files)
    write(name, tar_bytes([entry(n, d) for n, d in files.items()]))


def oci_files(layers, config=None, both=False):
    packed = [gzip.compress(l, 1) for l in layers]
    config = config or config_of(layers)
    manifest = json.dumps({"schemaVersion": 2, "config": {"digest": digest(config)},
                           "layers": [{"digest": digest(p)} for p in packed]}).encode()
    files = {"blobs/" + digest(d).replace(":", "/"): d for d in packed + [config, manifest]}
    other = {"digest": "sha256:" + "0" * 64, "platform": {"architecture": "mips"}}
    files["index.json"] = json.dumps({"manifests": [other, {"digest": digest(manifest)}]}).encode()
    files["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    if both:
        files["manifest.json"] = json.dumps([{"Config": "blobs/" + digest(config).replace(":", "/"),
                                              "Layers": ["blobs/" + digest(p).replace(":", "/") for p in packed]}]).encode()
    return files, digest(manifest)


def oci(name, files, first=()):
    write(name, tar_bytes(list(first) + [entry(n, d) for n, d in files.items()]))


root, top = tar_bytes(ROOT), tar_bytes(TOP)
write("root.tar", root)
write("root.tar.gz", gzip.compress(root, 1))
write("root.tar.xz", lzma.compress(root, preset=0))
with tarfile.open(fileobj=io.BytesIO(root)) as tar:
    for member in tar.getmembers():
        tar.extract(member, os.path.join(OUT, "tree"), **({"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}))

docker("docker.tar", [root, top])
docker("docker-packed.tar", [root, top], pack=lambda i, d: gzip.compress(d, 1) if i else d)
files, manifest = oci_files([root, top])
oci("oci.tar", files)
oci("oci-dot.tar", {"./" + n: d for n, d in files.items()}, [directory("./")])
for n, d in files.items():
    write("layout/" + n, d)
write("manifest-digest", manifest.encode())
oci("both.tar", oci_files([root, top], both=True)[0])


# Something else than the digests say.
def swap(change, what):
    def act(f):
        name = next(n for n in f if what(n, f[n]))
        f[name] = change(f[name])
    return act


evil = tar_bytes(TOP + [entry("opt/bin/evil", b"#!/bin/sh\n", mode=0o755)])
for kind, what, new in (("layer", lambda n, d: d[:2] == b"\x1f\x8b", lambda d: gzip.compress(evil, 1)),
                        ("config", lambda n, d: b'"rootfs"' in d[:100000] and n.startswith("blobs"), lambda d: d.replace(b"/srv", b"/tmp")),
                        ("manifest", lambda n, d: b"schemaVersion" in d[:100], lambda d: d + b" ")):
    changed = dict(files)
    swap(new, what)(changed)
    oci("oci-changed-%s.tar" % kind, changed)
    if kind == "layer":
        for n, d in changed.items():
            write("layout-changed/" + n, d)
behind = dict(files)
swap(lambda d: d + b"more behind its end", lambda n, d: d[:2] == b"\x1f\x8b")(behind)
oci("oci-changed-behind.tar", behind)
docker("docker-changed-layer.tar", [root, top], change=swap(lambda d: evil, lambda n, d: n == "%064x/layer.tar" % 1))
docker("docker-changed-packed.tar", [root, top], change=swap(lambda d: gzip.compress(evil, 1), lambda n, d: n == "%064x/layer.tar" % 1))
docker("docker-changed-config.tar", [root, top], change=swap(lambda d: d + b"\n", lambda n, d: n.endswith(".json") and n[0] != "m"))
docker("docker-other-layers.tar", [root, top], config_of([root]))
weak = json.loads(files["index.json"])
weak["manifests"] = [{"digest": "sha512:" + "0" * 128}]
oci("oci-sha512.tar", {**files, "index.json": json.dumps(weak).encode()})
gone = dict(files)
gone.pop(next(n for n in gone if gone[n][:2] == b"\x1f\x8b"))
oci("oci-missing.tar", gone)

# Links and other things where we mount. What they lead to is there, on the host and in here.
PLAIN = parents(BASE) + LOADED
write("links.tar", tar_bytes(PLAIN + [
    link("proc", "/etc"), link("dev", "../../../../tmp"), link("sys", "bin"), link("tmp", "/home"),
    link("run", "/proc/1/root"), link("home", "/"), link("var", "/dev"), directory("etc"),
    link("etc/passwd", "../people"), entry("people", b"root:x:0:0::/:/bin/sh\nold:x:7:7::/:/bin/sh\n"),
    link("etc/hosts", "/etc/shadow"), link("etc/resolv.conf", "../../../../../etc/passwd"),
    directory("etc/hostname"), entry("etc/hostname/x", b"x"), entry("etc/group", type=tarfile.FIFOTYPE)]))
write("files.tar", tar_bytes(PLAIN + [
    entry("proc", b"x"), entry("dev", b"x"), entry("sys", type=tarfile.FIFOTYPE), entry("tmp", b"x"), entry("run", b"x"),
    directory("home"), link("home/user", "/etc"), entry("var", b"x"), link("etc", "../../../../../../etc"),
    entry("bin/suid", read(where("id")), mode=0o6755), entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3),
    entry("disk", type=tarfile.BLKTYPE, devmajor=8, devminor=0)]))
write("lists.tar", tar_bytes(PLAIN + [
    directory("etc"), directory("etc/passwd"), entry("etc/passwd/x", b"x"), link("etc/group", "/proc/self/environ")]))
write("dotdot.tar", tar_bytes(PLAIN + [entry("../out", b"x")]))
write("empty.tar", tar_bytes([]))
write("little.tar", tar_bytes([entry("x", b"x")]))


def python():
    """A Python that is not where the host has one, with the part of its library that it starts with."""
    std = sysconfig.get_path("stdlib")
    version = os.path.basename(std)
    program = os.path.realpath(sys.executable)
    wanted = ("encodings", "collections", "importlib", "re", "json", "lib-dynload")
    names = {"opt/py/bin/python3": program}
    for at, dirs, found in os.walk(std):
        below = os.path.relpath(at, std)
        dirs[:] = [d for d in dirs if (d in wanted if below == "." else d != "__pycache__")]
        for f in found:
            names[os.path.normpath("opt/py/lib/%s/%s/%s" % (version, below, f))] = os.path.join(at, f)
    every = programs({"opt/py/bin/python3": program, **{n: p for n, p in names.items() if n.endswith(".so")}})
    names.update(every)
    names = {n: p for n, p in names.items() if n not in BASE}
    layer = tar_bytes(parents(names) + [entry(n, read(os.path.realpath(p)), mode=0o755) for n, p in sorted(names.items())])
    config = config_of([root, layer], Env=["PATH=/opt/py/bin:/bin"])
    oci("python.tar", oci_files([root, layer], config)[0])


python()
