#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sandboxes that live in the daemon: made, entered, listed, paused, followed, ended.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# live [OPTION... -- COMMAND...]: sets ID.
live()
{
	pinfold run --detach "${BEST[@]}" "$@"
	ID=$(cat "$OUT")
}

# ps_is EXPECTED FIELD [ID]: what the list says of it.
ps_is()
{
	pinfold ps --json
	[ "$(/usr/bin/python3 -I -c '
import json, sys
for item in json.load(open(sys.argv[1]))["items"]:
    if item["id"] == sys.argv[2]:
        print(item[sys.argv[3]])
' "$OUT" "${3:-$ID}" "$2")" = "$1" ]
}

is_listed()
{
	pinfold ps
	grep -q "$1" "$OUT"
}

commands()
{
	live
	exits 0 "one is made"
	check "its id is printed" grep -qxE 'sbx[a-z2-7]{26}' "$OUT"
	check "it is listed" ps_is running status
	check "as one that lives by itself" ps_is True detached
	pinfold exec "$ID" -- sh -c 'echo kept >file; echo out; echo err >&2; exit 7'
	exits 7 "a command's status"
	prints out "its output"
	says '^err$' "its errors"
	pinfold exec "$ID" -- sh -c 'cat ~/file; hostname'
	prints "kept"$'\n'"$ID" "the next finds its files"
	live --env A=made --env B=made
	pinfold exec --env B=own "$ID" -- sh -c 'echo $A $B'
	prints "made own" "variables that it was made with, and a command's own"
	pinfold kill "$ID"
	live
	pinfold exec "$ID" -- sh -c 'echo kept >file'
	pinfold exec "$ID" -- nosuch
	exits 127 "a command that is not there"
	pinfold exec "$ID" --workdir /tmp --env A=b --lang python -c 'import os; print(os.getcwd(), os.environ["A"])'
	prints "/tmp b" "a program with options"
	echo 'print("file", 1)' >"$W/p.py"
	own "$W/p.py"
	pinfold exec "$ID" --lang python "$W/p.py"
	prints "file 1" "a program file"
	pinfold exec "$ID" --lang python "$W/p.py"
	prints "file 1" "and again, by the same name"
	echo fed >"$W/input"
	own "$W/input"
	pinfold exec --stdin "$W/input" "$ID" -- cat
	prints fed "standard input"
	pinfold exec --pty "$ID" -- sh -c 'test -t 0 && echo terminal'
	prints $'terminal\r' "a terminal"
	if [ "$MODE" = R ]; then
		local first=$ID

		live --user root
		pinfold exec "$ID" -- sh -c 'id -u; echo $HOME $USER; env | grep -c "^HOME="'
		prints $'0\n/root root\n1' "uid 0 has the environment of uid 0"
		pinfold kill "$ID"
		ID=$first
	fi
	pinfold exec "$ID" -- sh -c 'kill -9 $$'
	exits 137 "a signal"
	pinfold exec --time 300ms --grace 100ms "$ID" -- sh -c 'trap "" TERM; while :; do :; done'
	exits 124 "its own time"
	# Not as a pipeline: its other end is a shell, too, for a moment.
	pinfold exec "$ID" -- sh -c 'ps -e >/tmp/ps; grep -c "[s]h$" /tmp/ps'
	check "nothing of it is left inside" test "$(cat "$OUT")" -le 1
	pinfold exec --json "$ID" -- sh -c 'exit 3'
	json_is "$ID" 'd["sandbox"]' "the document names it"
	json_is live 'd["start"]' "and says how it started"
	json_is 3 'd["exit_code"]' "its status"
}

# What a command may is the same, whichever way it came in.
same_rules()
{
	local show='grep -E "^(Uid|Gid|Groups|Cap...|NoNewPrivs|Seccomp|Seccomp_filters):" /proc/self/status
		ls /proc/self/fd | wc -l; cat /proc/self/limits /proc/self/mountinfo | sed "s/^[0-9 :]*//; s/[ug]id=[0-9]*//g" | sort
		cat /proc/self/oom_score_adj; umask; env | sort; pwd; cat /proc/self/attr/current 2>/dev/null
		unshare -U true 2>&1; mount -t tmpfs x /tmp 2>&1; cat /proc/1/environ 2>&1; kill -9 1; ls -la /proc/1/fd 2>&1; echo end'

	inside --daemon "${BEST[@]}" --memory 200M -- sh -c "$show"
	cp "$OUT" "$W/run.rules"
	live --memory 200M
	pinfold exec "$ID" -- sh -c "$show"
	check "a command in a live sandbox has the rules of a run" diff "$W/run.rules" "$OUT"
	pinfold exec --detach "$ID" -- sh -c "$show"
	local pid
	pid=$(cat "$OUT")
	wait_for 5 logs_end "$ID" "$pid"
	pinfold logs "$ID" "$pid"
	check "so has one in the background" diff "$W/run.rules" "$OUT"
	pinfold exec "$ID" -- sh -c 'kill -9 -1; true'
	pinfold exec "$ID" -- echo on
	prints on "its init outlives what is inside"
	pinfold kill "$ID"
}

# Whoever takes all memory is killed, or what the kernel takes for it; the sandbox and its init are not.
memory()
{
	local hog='import mmap
m = mmap.mmap(-1, 200 << 20)
while True:
    for i in range(0, len(m), 4096):
        m[i] = 1'

	live --memory 64M
	pinfold exec "$ID" -- sh -c 'echo kept >file'
	pinfold exec --json "$ID" -- python3 -c "$hog"
	exits 137 "out of memory: the command ends"
	json_is oom 'd["status"]' "and says why"
	json_is memory 'd["limit"]["kind"]' "which limit"
	pinfold exec "$ID" -- sh -c 'echo 0 >/proc/self/oom_score_adj; exec python3 -c "$0"' "$hog"
	exits 137 "also of one that asks to be spared"
	pinfold exec "$ID" -- sh -c 'for i in 1 2 3 4; do python3 -c "$0" & done; wait; echo all' "$hog"
	prints all "four at once"
	pinfold exec "$ID" -- cat file
	prints kept "the sandbox and its files are still there"
	pinfold exec --detach "$ID" -- python3 -c "$hog"
	local pid
	pid=$(cat "$OUT")
	pinfold attach "$ID" "$pid"
	exits 137 "one in the background"
	pinfold exec "$ID" -- cat file
	prints kept "and still"
	pinfold kill "$ID"
	live --memory 64M -- python3 -c "$hog"
	pinfold attach "$ID"
	exits 137 "one whose own command it is"
	check "ends with it, and says so" ps_is oom status
	pinfold kill "$ID"
}

logs_end()
{
	pinfold logs "$1" "$2"
	grep -qx end "$OUT"
}

# One machine to whoever works in it: what one command started another can find, talk to and end.
together()
{
	local pid

	live -- tail -f /dev/null
	pinfold exec "$ID" -- pkill -x tail # and itself with the sandbox
	check "a command ends the sandbox's own" wait_for 5 not ps_is running status
	live
	pinfold exec --detach "$ID" -- /usr/bin/python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("\0meeting")
s.listen()
open("ready", "w")
s.accept()[0].send(b"hello")
time.sleep(100)'
	check "one listens" wait_for 5 meeting_begins
	pinfold exec "$ID" -- /usr/bin/python3 -c 'import socket
s = socket.socket(socket.AF_UNIX)
s.connect("\0meeting")
print(s.recv(9).decode())'
	prints hello "another talks to it"
	pinfold exec "$ID" -- sh -c 'tail -f /dev/null >tail.out 2>&1 & echo $!'
	pid=$(cat "$OUT")
	pinfold exec "$ID" -- sh -c "kill $pid && pkill -x python3 && echo ended"
	prints ended "a third ends what both left"
	pinfold exec "$ID" -- sh -c 'kill -9 1; kill -9 -1; echo alive'
	pinfold exec "$ID" -- echo "still there"
	prints "still there" "its init cannot be ended"
	check "who starts commands is not counted" usage_processes_are 0
	pinfold kill "$ID"
}

meeting_begins()
{
	pinfold exec "$ID" -- test -e ready
	[ "$RC" = 0 ]
}

# Where a control group counts them.
usage_processes_are()
{
	pinfold ps --json
	/usr/bin/python3 -I -c '
import json, sys
item = [i for i in json.load(open(sys.argv[1]))["items"] if i["id"] == sys.argv[2]][0]
sys.exit(item["usage"] is not None and item["usage"]["processes"] != int(sys.argv[3]))
' "$OUT" "$ID" "$1"
}

# Who is inside, also when he gave himself a name made to be misread.
processes()
{
	live
	pinfold exec --detach "$ID" -- python3 -c 'import time
open("/proc/self/comm", "w").write(") R 1 (x\n")
time.sleep(100)'
	pinfold exec --detach "$ID" -- bash -c 'exec -a "$(printf "a\033[31mb\n\"c")" tail -f /dev/null'
	pinfold exec --detach "$ID" -- bash -c 'tail -f /dev/null & tail -f /dev/null & wait'
	check "all are there" wait_for 5 processes_are 6
	check "as the kernel has them" /usr/bin/python3 -I -c '
import json, sys
items = json.load(open(sys.argv[1], encoding="utf-8"))["items"]
by = {i["pid"]: i for i in items}
assert by[1]["command"] == "[pinfold]" and not by[1]["asked_for"], by[1]
assert sum(i["asked_for"] for i in items) == 3
assert sum(i["parent"] == 1 for i in items) == 3
assert all(i["state"] in "RSD" and i["threads"] == 1 + (i["pid"] == 1) for i in items)
assert min(i["memory_bytes"] for i in items if i["asked_for"]) > 1 << 20
' "$OUT"
	pinfold ps "$ID"
	check "no name reaches the terminal as it is" not grep -q $'\033' "$OUT"
	pinfold pause "$ID"
	pinfold ps "$ID"
	refuses conflict "$ID" "nobody answers in a paused one"
	pinfold kill "$ID"
	pinfold ps "$ID"
	refuses not_found "$ID" "nor in one that is gone"
}

processes_are()
{
	pinfold ps --json "$ID"
	[ "$(grep -o '"pid"' "$OUT" | wc -l)" = "$1" ]
}

many_at_once()
{
	local i pids=()

	live
	for i in $(seq 20); do
		call_argv
		"${CALL[@]}" exec "$ID" -- sh -c "echo $i; exit $i" >"$W/many.$i" 2>/dev/null {LIVE_FD}>&- &
		pids+=("$!")
	done
	for i in $(seq 20); do
		wait "${pids[i - 1]}"
		[ $? = "$i" ] && [ "$(cat "$W/many.$i")" = "$i" ] || { not_ok "command $i of 20 at once [$MODE]"; return; }
	done
	ok "20 commands at once, each with its own output and status [$MODE]"
	pinfold kill "$ID"
	exits 0 "it is ended"
	check "and forgotten" not is_listed "$ID"
	pinfold exec "$ID" -- true
	refuses not_found "$ID" "nothing can run there"
}

not()
{
	! "$@"
}

caller_leaves()
{
	live
	call_files exec
	call_argv -p "$W/exec.pid"
	"${CALL[@]}" exec "$ID" -- sh -c 'echo ready; exec tail -f /dev/null' >"$OUT" 2>&1 {LIVE_FD}>&- &
	wait_for 5 grep -q ready "$OUT"
	wait_for 5 test -s "$W/exec.pid"
	kill -9 "$(cat "$W/exec.pid")"
	own_kill
	check "a command ends with its caller" wait_for 5 inside_is_quiet
	pinfold kill "$ID"
}

# The harness reports a call that SIGKILL ended: that was us.
own_kill()
{
	wait_for 5 grep -q '^signal 9' "$EVIDENCE/report"
	forget_report '^signal 9'
}

inside_is_quiet()
{
	pinfold exec "$ID" -- pgrep tail
	[ "$RC" = 1 ]
}

detached()
{
	live -- sh -c 'for i in 1 2 3; do echo line $i; done; echo err >&2; exit 5'
	exits 0 "a detached run"
	check "it is over" wait_for 5 ps_is exited status
	check "with its status" ps_is 5 exit_code
	pinfold logs "$ID"
	exits 0 "its output is kept"
	prints $'line 1\nline 2\nline 3' "all of it"
	says '^err$' "its errors, too"
	pinfold attach "$ID"
	exits 5 "attach has its status"
	pinfold logs --json "$ID"
	json_is $'line 1\nline 2\nline 3' 'd["stdout"]["text"].rstrip()' "as a document"
	pinfold exec "$ID" -- true
	refuses conflict "$ID" "no command enters one that has ended"
	pinfold kill "$ID"
	exits 0 "it is forgotten"
	check "for good" not is_listed "$ID"
	live -- sh -c 'echo begin; read x </dev/null; tail -f /dev/null & wait'
	wait_for 5 logs_begin
	pinfold logs "$ID" --offset -3 --json
	json_is in 'd["stdout"]["text"].strip()' "options behind the id"
	pinfold logs "$ID" --jsn
	refuses invalid_argument --jsn "and one that is none"
	pinfold logs --json "$ID"
	json_has '[d["status"], d["exit_code"], d["signal"]] == ["running", None, None]' "no end while it runs"
	pinfold kill "$ID" -s USR1
	exits 0 "a signal for all of it"
	check "ends it" wait_for 5 ps_is signaled status
	live -- nosuch
	exits 127 "a command that is not there"
	live --no-daemon -- true
	refuses invalid_argument --no-daemon "not without a daemon"
	live -- sh -c 'echo begin; yes | head -c 12000000; echo end'
	wait_for 10 ps_is exited status
	pinfold logs "$ID"
	check "the first 64 KiB and the last 8 MiB are kept" test "$(stat -c %s "$OUT")" = $((65536 + (8 << 20)))
	check "with its beginning" test "$(head -1 "$OUT")" = begin
	check "with its end" test "$(tail -1 "$OUT")" = end
	says 'bytes of output were not kept' "what is missing is said"
	live -- sh -c 'for i in $(seq 40); do echo $i; done; tail -f /dev/null'
	call_files logs
	call_argv -p "$W/logs.pid"
	"${CALL[@]}" logs --follow "$ID" >"$W/followed" 2>"$ERR" {LIVE_FD}>&- &
	local call=$!
	check "a follower has all of it" wait_for 5 grep -qx 40 "$W/followed"
	wait_for 5 test -s "$W/logs.pid"
	kill "$(cat "$W/logs.pid")" # bash has its background ignore SIGINT
	wait "$call"
	check "it leaves when told to" ps_is running status
	pinfold kill "$ID"
}

logs_begin()
{
	pinfold logs "$ID"
	grep -q begin "$OUT"
}

terminals()
{
	live --pty -- sh -c 'read x; echo "got $x"; tail -f /dev/null'
	on_terminal send:'word\r' expect:'got word' send:'\x1d' -- attach "$ID"
	check "keys reach a detached terminal" grep -q 'got word' "$OUT"
	check "Ctrl-] leaves it running" ps_is running status
	on_terminal expect:'\$' send:'echo in-$HOSTNAME\r' expect:"in-$ID" send:'exit\r' -- shell "$ID"
	check "a shell in it" grep -q "in-$ID" "$OUT"
	pinfold kill "$ID"
}

time_to_live()
{
	live --time 5s
	pinfold extend "$ID" 60s
	exits 0 "its time can be extended"
	/usr/bin/python3 -I -c "import time; time.sleep(5.2)"
	check "it lives on" ps_is running status
	pinfold exec "$ID" -- true
	exits 0 "and is of use"
	call_files exec
	call_argv
	"${CALL[@]}" exec "$ID" -- sh -c 'echo ready; exec tail -f /dev/null' >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	LAST_CALL=$! LAST_OUT=$OUT LAST_ERR=$ERR
	wait_for 10 grep -q ready "$LAST_OUT"
	pinfold extend "$ID" 300ms
	inside_wait LAST
	exits 124 "when it is over, so is all in it"
	says "limit time: the sandbox's own time was over" "and it is said whose time"
	check "and it is gone" wait_for 5 not is_listed "$ID"
	live --time 60s
	kill -STOP $(guests) # no command begins
	call_files exec
	call_argv
	"${CALL[@]}" exec "$ID" -- true >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	LAST_CALL=$! LAST_OUT=$OUT LAST_ERR=$ERR
	pinfold extend "$ID" 700ms
	inside_wait LAST
	kill -CONT $(guests)
	exits 125 "a command that had not begun by then"
	says '^pinfold: (conflict|not_found)[.a-z]*: .*sandbox sbx' "is told that the sandbox is gone"
	live --time 300ms --grace 200ms -- sh -c 'trap "echo asked; exit 9" TERM; while :; do :; done'
	check "a command of its own is asked to end first" wait_for 5 ps_is timeout status
	pinfold logs "$ID"
	prints asked "and heard that"
	pinfold extend "$ID" 0
	refuses invalid_argument DURATION "no time at all"
}

# What was printed is forgotten in the order in which commands ended, not in which they began.
leavings()
{
	local long i

	live --stdin-open -- sh -c 'read x; echo kept'
	long=$ID
	for i in $(seq 65); do
		pinfold run "${BEST[@]}" --detach -- true
	done
	ID=$(cat "$OUT")
	check "the last of many has ended" wait_for 10 ps_is exited status
	printf 'go\n' | pinfold attach "$long"
	ID=$long
	check "so has the first" wait_for 10 ps_is exited status
	pinfold logs "$long"
	prints kept "what ended last is kept, however old it is"
}

# Who has no group is looked after by us: not where nobody is, but again when somebody comes.
empty_ones()
{
	[ "$MODE" = U ] || return 0
	live --memory 64M
	check "nobody inside: the warden sleeps" wait_for 10 sleeps "$DAEMON"
	pinfold exec "$ID" -- /usr/bin/python3 -c 'x = b"x" * (200 << 20); input()'
	exits 137 "and still holds the limits of who comes then"
}

# Between two looks it was not woken.
sleeps()
{
	local before

	before=$(awk '/^voluntary_ctxt_switches/ {print $2}' "/proc/$1/status")
	/usr/bin/python3 -I -c "import time; time.sleep(0.2)"
	[ "$(awk '/^voluntary_ctxt_switches/ {print $2}' "/proc/$1/status")" -le $((before + 2)) ]
}

pausing()
{
	live
	pinfold exec --detach "$ID" -- sh -c 'while :; do echo x >>/tmp/n; done'
	wait_for 5 counts
	pinfold pause "$ID"
	exits 0 "it is paused"
	check "and listed so" ps_is paused status
	pinfold exec "$ID" -- true
	refuses conflict "$ID" "no command enters"
	local before
	before=$(cpu_of_daemon_sandbox)
	/usr/bin/python3 -I -c "import time; time.sleep(0.3)"
	check "it uses no processor" test "$(cpu_of_daemon_sandbox)" = "$before"
	pinfold resume "$ID"
	exits 0 "it goes on"
	check "and uses some" wait_for 5 uses_more "$before"
	pinfold pause "$ID"
	pinfold kill "$ID"
	exits 0 "a paused one can be ended"
	inside_start RUNS "${BEST[@]}" --daemon -- sh -c 'echo ready; tail -f /dev/null'
	wait_for 5 grep -q ready "$RUNS_OUT"
	pinfold ps --json
	ID=$(/usr/bin/python3 -I -c 'import json,sys; print(json.load(open(sys.argv[1]))["items"][-1]["id"])' "$OUT")
	check "a run that somebody waits for is listed, too" ps_is False detached
	pinfold exec "$ID" -- true
	refuses conflict "$ID" "it belongs to its caller"
	pinfold logs "$ID"
	refuses conflict "$ID" "so does its output"
	pinfold kill "$ID"
	exits 0 "it can be killed"
	inside_wait RUNS
	exits 137 "its caller is told"
}

counts()
{
	pinfold exec "$ID" -- test -s /tmp/n
	[ "$RC" = 0 ]
}

# Ticks that the processes of all sandboxes of the daemon have used.
cpu_of_daemon_sandbox()
{
	local guest pid sum=0

	for guest in $(guests); do
		for pid in $(children_of "$guest"); do
			sum=$((sum + $(awk '{print $14 + $15}' "/proc/$pid/stat" 2>/dev/null || echo 0)))
		done
	done
	echo $sum
}

uses_more()
{
	[ "$(cpu_of_daemon_sandbox)" -gt "$1" ]
}

alerts()
{
	live --on-alert kill -- sh -c 'mount -t tmpfs x /mnt; exec tail -f /dev/null'
	check "an alert ends it" wait_for 5 ps_is killed status
	check "and is counted" ps_is 1 alerts
	pinfold kill "$ID"
	live --on-alert pause -- sh -c 'unshare -r true; echo went on; exec tail -f /dev/null'
	check "another is paused" wait_for 5 ps_is paused status
	pinfold logs "$ID"
	prints "" "before its call returns"
	pinfold resume "$ID"
	check "until it is let go on" wait_for 5 logs_have "$ID" "went on"
	check "as it is listed" ps_is running status
	pinfold kill "$ID"
	live --on-alert kill
	pinfold exec "$ID" -- sh -c 'printf "\033]52;c;eA==\a"; exec tail -f /dev/null'
	exits 137 "what a command in it prints ends it, too"
	pinfold exec "$ID" -- true
	refuses not_found "$ID" "it is gone"
	live
	pinfold exec --on-alert kill "$ID" -- sh -c 'mount -t tmpfs x /mnt; exec tail -f /dev/null'
	exits 137 "an alert of a command ends it"
	pinfold exec "$ID" -- true
	exits 0 "and not the sandbox, which did not ask for that"
	pinfold kill "$ID"
}

logs_have()
{
	pinfold logs "$1"
	grep -qx "$2" "$OUT"
}

bad_words()
{
	pinfold run --detach --isolation landlock -- true
	refuses unsupported --isolation "another level is not given silently"
	pinfold run --detach --output 10 -- true
	refuses invalid_argument --output "an option that would mean nothing"
	pinfold exec
	refuses invalid_argument ID "exec without an id"
	pinfold kill nothing
	refuses invalid_argument ID "what is not an id"
	pinfold kill sbxaaaaaaaaaaaaaaaaaaaaaaaaaa
	refuses not_found sbxaaaaaaaaaaaaaaaaaaaaaaaaaa "one that is not there"
	pinfold kill --signal NOSUCH sbxaaaaaaaaaaaaaaaaaaaaaaaaaa
	refuses invalid_argument --signal "a signal that is not"
	pinfold logs sbxaaaaaaaaaaaaaaaaaaaaaaaaaa x
	refuses invalid_argument PID "a pid that is not"
	pinfold exec sbxaaaaaaaaaaaaaaaaaaaaaaaaaa
	refuses invalid_argument COMMAND "no command"
}

# user UID ARG...: pinfold, called by this user.
user()
{
	call_by "$1"
	shift
	pinfold "$@"
	CALL_WRAP=()
}

# Users of root's daemon: what is another's is not there.
tenants()
{
	local one=64101 two=64102 theirs verb

	[ "$MODE" = R ] || return 0
	daemon_start --warm 1 --warm-python 0
	chmod 0711 "$M/run"
	chmod 0666 "$M/run/daemon.sock"
	user $one run --detach -- tail -f /dev/null
	theirs=$(cat "$OUT")
	user $two run --detach
	ID=$(cat "$OUT")
	user $two ps
	check "a user sees his own" grep -q "$ID" "$OUT"
	check "and nobody else's" not grep -q "$theirs" "$OUT"
	for verb in "exec $theirs -- id" "logs $theirs" "attach $theirs" "kill $theirs" \
		"kill --signal TERM $theirs" "pause $theirs" "resume $theirs" "extend $theirs 1h"; do
		# shellcheck disable=SC2086
		user $two $verb
		refuses not_found "$theirs" "another's: ${verb%% *}"
	done
	pinfold ps
	check "root sees both" grep -q "$theirs" "$OUT"
	check "it was not touched" grep -q "$theirs  running" "$OUT"
	pinfold exec "$theirs" -- echo root
	prints root "and may enter"
	user $two exec "$ID" -- sh -c "kill -9 -1; ls /proc | grep -c '^[0-9]'"
	user $one exec "$theirs" -- pgrep -c tail
	prints 1 "one cannot signal another's processes"
	user $one kill "$theirs"
	exits 0 "the owner may"
	daemon_stop
	check "and nothing is left" nothing_left
}

# kill -9 of the warden takes them all along, and the next start removes what is left.
warden_dies()
{
	live
	pinfold exec --detach "$ID" -- tail -f /dev/null
	live -- tail -f /dev/null
	local all
	all=$(guests)
	check "there are some" test "$(wc -w <<<"$all")" -ge 2
	kill -9 "$DAEMON"
	wait "$DAEMON_CALL" 2>/dev/null
	own_kill
	check "they die with the warden" wait_for 5 all_gone $all
	pinfold ps
	refuses not_found daemon "then there is no daemon to ask"
	daemon_start --warm 2 --warm-python 0
	pinfold ps --json
	prints '{"items":[],"next":null}' "a new daemon knows none"
	check "nothing is left" nothing_left
}

all_gone()
{
	local pid

	for pid; do
		[ ! -e "/proc/$pid" ] || return 1
	done
}

checks()
{
	daemon_mode
	pinfold ps
	refuses '(not_found|internal)' daemon "without a daemon"
	daemon_start --warm 2 --warm-python 0
	empty_ones
	commands
	pinfold kill "$ID"
	same_rules
	memory
	together
	processes
	many_at_once
	caller_leaves
	detached
	terminals
	time_to_live
	leavings
	pausing
	alerts
	bad_words
	warden_dies
	live
	live -- tail -f /dev/null
	daemon_stop
	exits 0 "it ends with live sandboxes, too"
	check "and nothing is left" nothing_left
	tenants
}

run_checks
