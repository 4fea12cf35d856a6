#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A snapshot while a command is running, which stands still for a moment: root's by its control group, a
# user's by signals.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# started: the command in the background has got as far as it should.
started()
{
	grep -q started "$RUN_OUT"
}

run_in_background()
{
	call_files exec w
	RUN_OUT=$OUT
	call_argv
	"${CALL[@]}" exec w -- sh -c "$1" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	RUN_CALL=$!
	wait_for 10 started
}

stands_still()
{
	pinfold snap w mid
	exits 0 "a snapshot while a command is running"
	says 'it stood still for' "and it says so"
	pinfold snap --json w
	check "as a document, too" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["stopped_ms"] > 0 and d["kind"] == "snap" and not d["current"], d' "$OUT"
	pinfold snap w mid
	refuses conflict mid "its label is taken"
	wait "$RUN_CALL"
	check "the command ended well" test "$?" = 0
	pinfold exec w -- sh -c 'cat a all | md5sum; ls d'
	cp "$OUT" "$W/after"
	check "its own changes are all there" grep -q y "$W/after"
	pinfold rollback w mid
	pinfold exec w -- sh -c 'cat a; test -e d/y && echo there; wc -l <all; tail -n 1 all'
	check "the snapshot has what was there" grep -q '^2$' "$OUT"
	# A line is appended and its number written beside it: at one instant they cannot differ by more
	# than the line that is being written.
	check "and is one instant" python3 -c '
import sys
words = open(sys.argv[1]).read().split()
count, last = int(words[-2]), int(words[-1])
assert words[1] == "there" and 0 <= count - last <= 1, words' "$OUT"
	pinfold undo w 4
	pinfold exec w -- sh -c 'cat a; ls'
	prints $'1\na' "undo goes back to before the command"
}

# E11: a file that is written through a mapping, first on its first page and then on its last: at any instant
# the last is behind by at most one.
mapped()
{
	local i

	pinfold new m
	CALL_SECONDS=300
	call_start MAPPER exec --time 5m m -- python3 -c '
import mmap, os, struct
f = os.open("map", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 8 << 20)
m = mmap.mmap(f, 8 << 20)
last = (8 << 20) - 8
n = 0
while True:
    n += 1
    m[0:8] = struct.pack("<Q", n)
    m[last:last + 8] = struct.pack("<Q", n)
    if n == 100:
        print("ready", flush=True)'
	ready MAPPER
	for i in 1 2 3; do
		pinfold snap m "at$i"
		pinfold fork --at "at$i" m "m$i"
	done
	kill "$MAPPER_PID"
	inside_wait MAPPER
	CALL_SECONDS=240
	for i in 1 2 3; do
		pinfold exec "m$i" -- python3 -c '
import struct
d = open("map", "rb").read()
a, b = struct.unpack("<Q", d[:8])[0], struct.unpack("<Q", d[-8:])[0]
print("one instant" if a - b in (0, 1) and b > 0 else (a, b))'
		prints "one instant" "a file that is written through a mapping, $i"
		pinfold rm "m$i"
	done
	pinfold rm m
}

# A counter that goes through two processes, one of them with threads; beside them one that starts others
# without end, one that had stopped itself before, and one that would see if its child stopped.
FAMILY='import os, signal, threading
files = [os.open(f"n{i}", os.O_RDWR | os.O_CREAT) for i in range(2)]
(a, b), (c, d) = os.pipe(), os.pipe()
if os.fork() == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    open("went-on", "w").close()
    os._exit(0)
if os.fork() == 0:
    while True:
        if os.fork() == 0:
            os._exit(0)
        os.wait()
if os.fork() == 0:
    child = os.fork()
    if child == 0:
        while True:
            signal.pause()
    os.waitpid(child, os.WUNTRACED)
    open("saw-it", "w").close()
    os._exit(0)
if os.fork() == 0:
    n = 0
    while os.read(a, 1):
        n += 1
        os.pwrite(files[1], b"%012d" % n, 0)
        os.write(d, b"x")
def count():
    n = 0
    while True:
        n += 1
        os.pwrite(files[0], b"%012d" % n, 0)
        os.write(b, b"x")
        os.read(c, 1)
        if n == 100:
            print("ready", flush=True)
threading.Thread(target=count).start()'

several()
{
	local i

	fresh m
	# A minute is little where each snapshot waits for a disk that others write to: pinfold would be
	# killed itself, and nothing is kept then.
	CALL_SECONDS=300
	call_start BUSY exec --time 5m m -- python3 -c "$FAMILY"
	ready BUSY
	for i in 1 2 3; do
		pinfold snap m "at$i"
		exits 0 "a snapshot of several processes, $i"
	done
	for i in 1 2 3; do
		pinfold cp --at "at$i" m:n0 - && cp "$OUT" "$W/n0" && pinfold cp --at "at$i" m:n1 - && cp "$OUT" "$W/n1"
		check "of one instant, $i" python3 -c '
import sys
a, b = (int(open(n).read()) for n in sys.argv[1:])
assert a - b in (0, 1) and b > 0, (a, b)' "$W/n0" "$W/n1"
	done
	pinfold snap m last
	kill "$BUSY_PID"
	inside_wait BUSY
	CALL_SECONDS=240
	exits 143 "SIGTERM ends it"
	pinfold cp --at last m:saw-it -
	refuses not_found saw-it "no parent saw its child stop"
	pinfold cp m:n0 -
	check "and they went on" test "$(cat "$OUT")" -gt "$(cat "$W/n0")"
	pinfold exec m -- ls went-on
	prints "" "but for who had stopped before"
	pinfold rm m
}

# Set-id bits go when a command has ended; a snapshot in between is taken before that.
takes_no_setid()
{
	pinfold new s
	call_files exec s
	RUN_OUT=$OUT
	call_argv
	"${CALL[@]}" exec s --user root -- sh -c 'cp /usr/bin/id i; chown 1000 i; chmod 6755 i; mkfifo p
		chmod 6644 p; stat -c %a i; echo started; exec tail -f /dev/null' >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	RUN_CALL=$!
	wait_for 10 started
	check "a command has a set-id file" grep -q '^6755$' "$RUN_OUT"
	pinfold snap s mid
	exits 0 "a snapshot beside a set-id file"
	check "no file of a layer has the bits" test -z "$(layers_of_setid)"
	kill "$RUN_CALL" 2>/dev/null
	wait "$RUN_CALL"
	pinfold rollback s mid
	pinfold exec s -- sh -c 'stat -c %a i p'
	prints $'755\n644' "nor what goes on from it"
}

# Of frozen layers; the one that is being written to has them until its command ends.
layers_of_setid()
{
	local layer

	for layer in $(sql 'SELECT id FROM layer WHERE state = 1'); do
		find "$M/home/layers/$layer" -perm /6000 ! -type d
	done
}

checks()
{
	pinfold new w
	pinfold exec w -- sh -c 'echo 1 >a'
	run_in_background 'echo 2 >a; mkdir d; echo x >d/y; i=0; echo started
		while [ ! -e /tmp/stop ] && [ $i -lt 20000 ]; do i=$((i + 1)); echo $i >>all; done'
	stands_still
	mapped
	several
	[ "$MODE" = U ] || takes_no_setid
}

run_checks
