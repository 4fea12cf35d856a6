#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pip installs from an index; here one that the sandbox itself serves on its loopback.
. "$(dirname "$0")/../lib/cli.sh"

# A wheel is a zip file; the index is a directory that is listed as HTML.
program='
import base64, hashlib, http.server, os, subprocess, sys, threading, zipfile
info = "tiny_demo-1.0.dist-info/"
files = {"tiny_demo.py": "answer = 42\n",
         info + "METADATA": "Metadata-Version: 2.1\nName: tiny-demo\nVersion: 1.0\n",
         info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
def row(name, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return "%s,sha256=%s,%d\n" % (name, digest.rstrip("="), len(text))
files[info + "RECORD"] = "".join(map(row, files, files.values())) + info + "RECORD,,\n"
os.makedirs("index/tiny-demo")
with zipfile.ZipFile("index/tiny-demo/tiny_demo-1.0-py3-none-any.whl", "w") as z:
    for name, text in files.items(): z.writestr(name, text)
class Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *a): super().__init__(*a, directory="index")
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
def python(*args):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": "t"})
r = python("-m", "pip", "install", "--index-url", "http://127.0.0.1:%d/" % server.server_port,
           "--break-system-packages", "--disable-pip-version-check", *sys.argv[1:], "tiny-demo")
if r.returncode: sys.exit(r.stdout + r.stderr)
print(python("-c", "import tiny_demo; print(tiny_demo.answer, tiny_demo.__file__)").stdout)'

checks()
{
	if ! /usr/bin/python3 -I -m pip --version >/dev/null 2>&1; then
		skip "pip [$MODE]" "pip is not installed"
		return
	fi
	inside_json --lang python -c "$program" -- --user
	exits 0 "pip install --user from an index on the loopback"
	json_has 'out.startswith(b"42 /home/user/.local/")' "the module can be imported"
	json_has 'any(f.endswith("tiny_demo.py") for f in files)' "and is in files[]"
	json_is '[]' 'd["denials"]' "nothing was refused"
	inside_json --lang python -c "$program" -- --target t
	json_has 'out.startswith(b"42 ")' "pip install --target"
	inside_json --user root --lang python -c "$program"
	if [ "$MODE" = R ]; then
		json_has 'out.startswith(b"42 /usr/local/")' "as root inside it goes to /usr/local"
		check "and not to the host's" test -z \
			"$(find /usr/local/lib -name 'tiny_demo*' 2>/dev/null)"
	fi
}

run_checks
