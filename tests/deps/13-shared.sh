#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: usr-overlay
#
# Two sandboxes on one layer: whatever the one does to it, the other sees what was installed, and no lock or lease
# of the one is there for the other.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# All that can be tried on a file and its directory; then it holds what it has.
SPOIL='
import fcntl, mmap, os, shutil, signal
import pear
path = pear.__file__
here = os.path.dirname(path)
def tries(f, *words):
    try:
        f(*words)
    except (OSError, ValueError):
        pass
def write():
    with open(path, "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
        m[0:1] = b"!"
        m.flush()
for f, *words in ((write,), (os.chmod, path, 0o777), (os.utime, path, (1, 1)), (os.truncate, path, 1),
                  (os.setxattr, path, "user.x", b"y"), (os.link, path, here + "/other.py"), (os.unlink, path),
                  (os.rename, here, here + ".gone"), (shutil.rmtree, here + "/__pycache__"),
                  (os.makedirs, here), (lambda: open(path, "w").write("__version__ = \"spoilt\"\n"),),
                  (lambda: open(here + "/sitecustomize.py", "w").write("print(\"spoilt\")\n"),)):
    tries(f, *words)
import lone
kept = open(lone.__file__)
tries(fcntl.flock, kept, fcntl.LOCK_EX | fcntl.LOCK_NB)
tries(fcntl.fcntl, kept, fcntl.F_SETLEASE, fcntl.F_RDLCK)
print("ready", flush=True)
signal.pause()
'
LOOK='
import fcntl, os
import lone, pear
with open(lone.__file__) as f:
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
print(pear.__version__, lone.value, oct(os.stat(pear.__file__).st_mode & 0o777), os.stat(pear.__file__).st_mtime > 1,
      sorted(n for n in os.listdir(os.path.dirname(pear.__file__)) if n.endswith(".py")), os.listxattr(pear.__file__))
'
WANT="1.5 42 0o644 True ['lone.py', 'pear.py'] []"

# prints_layer: every file of the layers, with what it has.
layer_prints()
{
	(cd "$M/home/layers" && find . -type f -printf '%p %m %s %T@\n' -exec sha256sum {} + | sort | sha256sum)
}

shared()
{
	local before with=(--package pear --package lone --lang python)

	inside "${with[@]}" -c "$LOOK"
	prints "$WANT" "a set"
	before=$(layer_prints)
	inside_start SPOILER "$@" "${with[@]}" -c "$SPOIL"
	wait_for 20 grep -q ready "$SPOILER_OUT" || not_ok "the one is ready [$MODE]"
	inside "${with[@]}" -c "$LOOK"
	prints "$WANT" "while another does what it can to it${1:+ as root}"
	kill "$SPOILER_PID"
	inside_wait SPOILER
	inside "${with[@]}" -c "$LOOK"
	prints "$WANT" "and afterwards"
	check "nothing of the layer changed" test "$(layer_prints)" = "$before"
}

checks()
{
	index || return
	shared
	[ "$MODE" = R ] && shared --user root
}

run_deps
