#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The daemon: who finds it runs there, what comes out is the same, and it ends as it should.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# same OPTION... -- COMMAND...: the documents of a run in the daemon and of one without are the same
# in everything but ids, times and amounts.
same()
{
	local name="$*" local_out

	inside_json --no-daemon "${BEST[@]}" "$@"
	local_out=$OUT
	local local_rc=$RC
	inside_json --daemon "${BEST[@]}" "$@"
	check "the same status: $name" test "$RC" = "$local_rc"
	check "the same document: $name" /usr/bin/python3 -I -c '
import json, sys
a, b = (json.load(open(p, encoding="utf-8")) for p in sys.argv[1:])
def strip(d):
    for key in ("id", "sandbox", "start", "receipt"):
        assert d.pop(key) is not None
    usage = d.pop("usage")
    assert sorted(usage) == sorted(["wall_ms", "cpu_ms", "memory_peak_bytes", "processes_peak", "disk_bytes"])
    if d["stdout"]["artifact"]:
        d["stdout"]["artifact"] = True
    return d
a, b = strip(a), strip(b)
for key in sorted(set(a) | set(b)):
    assert a.get(key) == b.get(key), (key, a.get(key), b.get(key))
' "$local_out" "$OUT"
}

documents()
{
	mkdir -p "$W/tree"
	echo one >"$W/tree/file"
	own "$W/tree"
	same -- sh -c 'echo out; echo err >&2; exit 7'
	same -- sh -c 'kill -9 $$'
	same --time 200ms --grace 100ms -- sh -c 'trap "" TERM; while :; do :; done'
	same --memory 64M -- python3 -c 'x = bytearray(300 << 20); import signal; signal.pause()'
	same --cpu-time 200ms -- sh -c 'while :; do :; done'
	same --pids 4 -- sh -c 'for i in 1 2 3 4 5 6; do tail -f /dev/null & done; kill $(jobs -p); true'
	same --disk 1M -- sh -c 'head -c 2000000 /dev/zero >f; true'
	same -- sh -c 'echo x >a; mkdir d; echo y >d/b; ln -s a l'
	same --dir "$W/tree" --workdir /work -- sh -c 'cat file; echo two >>file; rm -f gone; echo n >new'
	same --lang python -c 'import sys; print(sys.argv, open("/proc/self/comm").read())'
	same --lang bash -c ''
	same --env A=b --workdir /tmp -- sh -c 'pwd; env | sort'
	same -- nosuch-program
	same -- /etc
	same --workdir /nowhere -- true
	same -- python3 -c 'import socket; s = socket.socket(); s.settimeout(1); s.connect(("203.0.113.5", 443))'
	same --output 100 -- sh -c 'seq 1 1000'
}

uses_it()
{
	inside_json "${BEST[@]}" -- true
	json_is warm 'd["start"]' "a run finds the daemon by itself"
	inside_json --no-daemon -- true
	json_is cold 'd["start"]' "or not, when told so"
	inside_json "${BEST[@]}" --memory 100M -- true
	json_is cold 'd["start"]' "other limits get a sandbox of their own"
	inside "${BEST[@]}" --daemon --pty -- sh -c 'test -t 0 && echo terminal $(stty size)'
	prints $'terminal 24 80\r' "a terminal"
	echo fed >"$W/input"
	own "$W/input"
	inside "${BEST[@]}" --daemon --stdin "$W/input" -- cat
	prints fed "standard input"
	inside "${BEST[@]}" --daemon -- sh -c 'head -c 3000000 /dev/zero | tr "\0" a'
	check "all of its output" test "$(stat -c %s "$OUT")" = 3000000
	inside --daemon --isolation landlock -- true
	refuses invalid_argument --isolation "--daemon with a level that it does not have"
	inside --daemon --no-daemon -- true
	refuses invalid_argument --daemon "both options"
}

# Each waiting sandbox is used once, and nobody finds what another left.
single_use()
{
	local hosts="" i

	for i in 1 2 3 4 5 6; do
		inside "${BEST[@]}" --daemon -- sh -c 'hostname; ls -A /tmp /dev/shm /home/user /run | tr -d "\n"
			ipcs -m | grep -c user; echo left >/tmp/x; echo left >~/x; echo left >/run/x; echo left >/dev/shm/x
			ipcmk -M 4096 >/dev/null 2>&1; echo'
		hosts+="$(head -1 "$OUT") "
		check "no file of another, run $i" test -z "$(sed 1d "$OUT" | tr -d '\n' | grep -a x:)"
		check "nothing at all is there, run $i" grep -qx '/dev/shm:/home/user:/run:/tmp:0*' \
			<(sed 1d "$OUT" | tr -d '\n'; echo)
	done
	check "every one is another" test "$(tr ' ' '\n' <<<"$hosts" | sed '/^$/d' | sort -u | wc -l)" = 6
}

# Front has nothing of a run, also when it was started again by a warden in the middle of one.
front_holds_nothing()
{
	local front

	inside_start MID "${BEST[@]}" --daemon -- sh -c 'echo ready; tail -f /dev/null'
	wait_for 5 grep -q ready "$MID_OUT"
	front=$(front_pid)
	kill -9 "$front"
	check "front comes back" wait_for 5 another_front "$front"
	front=$(front_pid)
	check "it has its sockets and no other descriptor" test -z "$(readlink "/proc/$front/fd/"* |
		grep -vE '^(socket:|anon_inode:\[eventpoll\]|/dev/null|pipe:|'"${TMPDIR:-/tmp}"'/pinfold-cli.*(out|err)$)')"
	check "nor more than a few" test "$(ls "/proc/$front/fd" | wc -l)" -le 8
	kill "$MID_PID"
	inside_wait MID
	inside "${BEST[@]}" --daemon -- sh -c 'for i in $(seq 300); do mount -t tmpfs x /tmp 2>/dev/null; done; true'
	exits 0 "many refused calls"
	front=$(front_ticks)
	/usr/bin/python3 -I -c "import time; time.sleep(0.5)"
	check "front rests" test $(($(front_ticks) - front)) -le 5
}

front_ticks()
{
	awk '{print $14 + $15}' "/proc/$(front_pid)/stat"
}

another_front()
{
	local now

	now=$(front_pid) && [ "$now" != "$1" ]
}

# A caller who stops reading for a while still gets all of it.
slow_caller()
{
	inside_start SLOW --json "${BEST[@]}" --daemon -- sh -c 'echo go; for i in $(seq 400); do
		mount -t tmpfs x /tmp 2>/dev/null; done; exit 4'
	kill -STOP "$SLOW_PID"
	/usr/bin/python3 -I -c "import time; time.sleep(1)"
	kill -CONT "$SLOW_PID"
	inside_wait SLOW
	exits 4 "a caller who did not read for a while"
	json_is 400 'sum(x["count"] for x in d["denials"])' "and is told everything"
}

# What a run used is read from its control groups, a tenth of a short one: where somebody asks, or it
# went wrong.
accounts()
{
	local tracer

	[ "$MODE" = R ] || return 0
	needs strace "accounts are read for who asks" || return
	strace -qq -e trace=openat -o "$EVIDENCE/calls" -p "$DAEMON" 2>"$EVIDENCE/strace.err" {LIVE_FD}>&- &
	tracer=$!
	BACKGROUND+=("$tracer")
	if ! wait_for 10 is_traced "$DAEMON"; then
		skip "accounts are read for who asks [$MODE]" "no process may be traced here"
		return
	fi
	inside --daemon -- true
	inside --daemon --lang bash -c 'echo fine'
	wait_for 10 waiting_is $WARM # what is done behind a run has been done
	check "no accounts of runs that ended well" test "$(accounts_read)" = 0
	inside_json --daemon -- true
	wait_for 10 waiting_is $WARM
	check "but where its document is wanted" test "$(accounts_read)" = 1
	inside --daemon -- false
	wait_for 10 waiting_is $WARM
	check "or it failed" test "$(accounts_read)" = 2
	kill "$tracer"
	wait "$tracer" 2>/dev/null
}

is_traced()
{
	! grep -q '^TracerPid:.0$' "/proc/$1/status"
}

accounts_read()
{
	grep -cE '/memory\.(peak|max_usage_in_bytes)"' "$EVIDENCE/calls"
}

signals()
{
	inside_start ONE "${BEST[@]}" --daemon -- sh -c 'echo ready; tail -f /dev/null'
	check "it runs" wait_for 5 grep -q ready "$ONE_OUT"
	kill -INT "$ONE_PID"
	inside_wait ONE
	exits 130 "Ctrl-C ends it"
	inside_start TWO "${BEST[@]}" --daemon -- sh -c 'echo ready; tail -f /dev/null'
	wait_for 5 grep -q ready "$TWO_OUT"
	kill -KILL "$TWO_PID"
	inside_wait TWO
	forget_report '^signal 9' # that was us
	check "a caller who dies takes his sandbox with him" wait_for 30 waiting_is "$WARM"
}

ends()
{
	pinfold serve
	refuses conflict "a daemon serves" "a second daemon at the same place"
	inside_start LAST "${BEST[@]}" --daemon -- sh -c 'echo ready; sleep 1; echo done'
	wait_for 5 grep -q ready "$LAST_OUT"
	daemon_stop
	exits 0 "SIGTERM ends it"
	inside_wait LAST
	exits 0 "a run that was there may end"
	prints $'ready\ndone' "and its output comes"
	inside_json --daemon -- true
	check "then there is none" test "$RC" = 125
	check "and that is said" grep -q 'pinfold serve' "$ERR"
	check "nothing is left" nothing_left
	check "no socket either" test ! -e "$M/run/daemon.sock"
}

busy()
{
	local i

	daemon_start --warm 1 --warm-python 0 --max 2 --queue 0
	for i in A B; do
		inside_start "$i" "${BEST[@]}" --daemon -- sh -c 'echo ready; tail -f /dev/null'
	done
	wait_for 5 grep -q ready "$A_OUT"
	wait_for 5 grep -q ready "$B_OUT"
	inside "${BEST[@]}" --daemon -- true
	refuses busy sandboxes "one run too many"
	kill "$A_PID" "$B_PID"
	inside_wait A
	inside_wait B
	inside "${BEST[@]}" --daemon -- true
	exits 0 "and there is room again"
	daemon_stop
}

# What systemd does: the socket is passed, readiness is told.
systemd()
{
	local script='
import os, socket, subprocess, sys
path, program = sys.argv[1:3]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(path)
listener.listen()
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(path + ".notify")
notify.settimeout(60)
def child():
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)
env = dict(os.environ, NOTIFY_SOCKET=path + ".notify", LISTEN_FDS="1", PINFOLD_SOCKET=path)
daemon = subprocess.Popen(["sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "sh", program, "serve", "--warm", "1"],
                          env=env, preexec_fn=child, close_fds=False)
print(notify.recv(100).decode())
print(subprocess.run([program, "run", "--daemon", "--limits", "best-effort", "--", "echo", "ran"], env=env,
                     capture_output=True, text=True).stdout, end="")
daemon.terminate()
print(notify.recv(100).decode(), daemon.wait(20))
print(os.path.exists(path))
'
	call_files systemd
	CALL_WRAP=(/usr/bin/python3 -I -c "$script" "$M/run/activated.sock")
	call_argv
	CALL_WRAP=()
	"${CALL[@]}" >"$OUT" 2>"$ERR"
	RC=$?
	prints $'READY=1\nran\nSTOPPING=1 0\nTrue' "socket activation and readiness"
	rm -f "$M/run/activated.sock" "$M/run/activated.sock.notify"
}

checks()
{
	WARM=2
	daemon_mode
	daemon_start --warm $WARM --warm-python 0
	check "sandboxes wait" wait_for 10 waiting_is $WARM
	check "who talks to callers holds no right" grep -qx 'CapPrm:.0*' "/proc/$(front_pid)/status"
	uses_it
	documents
	single_use
	front_holds_nothing
	slow_caller
	accounts
	signals
	ends
	busy
	systemd
}

run_checks
