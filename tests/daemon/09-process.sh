#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: owner
#
# Background commands of a live sandbox through libpinfold: read from any offset, written to, signalled,
# listed; and what another user, a slow reader or a hostile command can do about it.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# client ARG...: the test's program, called as pinfold would be.
client()
{
	PINFOLD_COPY=$T/client pinfold "$@"
}

# made [KEY=VALUE...]: sets ID.
made()
{
	client create "$@"
	ID=$(cat "$OUT")
}

# spawned HOW COMMAND...: sets PID.
spawned()
{
	client spawn "$ID" "$@"
	PID=$(cat "$OUT")
}

# state_has TEXT [PID]: what a read says of it.
state_has()
{
	client read "$ID" "${2:-$PID}" 0 0
	grep -qF -e "$1" "$ERR"
}

not()
{
	! "$@"
}

reading()
{
	made
	exits 0 "a sandbox is made"
	spawned plain sh -c 'printf abc; printf DE >&2; printf fgh; exit 3'
	exits 0 "a command starts"
	check "it ends" wait_for 5 state_has 'running=0'
	check "with its status" state_has "code=3 signal=0 status=exited bytes=8 from=0 stdin=0 pty=0 times=1"
	client read "$ID" "$PID" 0 0
	check "all of it, in one order or the other" grep -qxE '(abcDEfgh|abcfghDE|DEabcfgh)' <(cat "$OUT"; echo)
	says 'offset=0 len=8 .*adds=1' "its runs add up"
	client read "$ID" "$PID" 7 0
	says 'offset=7 len=1 ' "the last byte"
	client read "$ID" "$PID" -3 0
	says 'offset=5 len=3 ' "from the end"
	local offset
	for offset in 8 9 1000000 9223372036854775807; do
		client read "$ID" "$PID" $offset 0
		exits 0 "offset $offset is no error"
		says 'offset=8 len=0 ' "but the end"
	done
	client read "$ID" "$PID" -9223372036854775808 0
	says 'offset=0 len=8 ' "before the beginning is the beginning"
	client read "$ID" 999 0 0
	refuses not_found "$ID" "no such command"
	client read sbxaaaaaaaaaaaaaaaaaaaaaaaaaa 1 0 0
	refuses not_found sbxaaaaaaaaaaaaaaaaaaaaaaaaaa "no such sandbox"
	client read nothing 1 0 0
	refuses invalid_argument nothing "no id"
	spawned plain sh -c 'i=0; while [ $i -lt 3000 ]; do printf o; printf e >&2; i=$((i+1)); done'
	client stream "$ID" "$PID" 0
	check "who changes streams all the time loses nothing" test "$(tr -d o <"$OUT" | wc -c)" = 3000
	says 'got=6000 skipped=0 total=6000' "and all of it is counted"
	spawned plain tail -f /dev/null
	local begun=$EPOCHREALTIME
	client read "$ID" "$PID" 0 700
	exits 0 "nothing came"
	says 'len=0 .*running=1' "and it runs on"
	check "it was waited for" test "$(waited_ms "$begun")" -ge 600
	client read "$ID" "$PID" 0 20000 cancel
	exits 0 "a read can be given up"
	says 'len=0 ' "without anything"
	client signal "$ID" "$PID" 9
	check "a signal ends it" wait_for 5 state_has 'signal=9 status=signaled'
	client signal "$ID" "$PID" 9
	refuses conflict "$PID" "one that has ended gets none"
	spawned plain sh -c 'trap "echo got" USR1; echo ready; while :; do :; done'
	client read "$ID" "$PID" 0 60000
	prints ready "a wait ends when something comes"
	client signal "$ID" "$PID" 10
	client read "$ID" "$PID" 6 60000
	prints got "a signal is heard"
	client signal "$ID" "$PID" 65
	refuses invalid_argument signal "no such signal"
	client signal "$ID" "$PID" -1
	refuses invalid_argument signal "nor one below"
	client signal "$ID" "$PID" 15
	pinfold logs --offset 6 "$ID" "$PID"
	prints got "logs from an offset"
	pinfold logs --offset -4 "$ID" "$PID"
	prints got "and from the end"
	pinfold logs --offset x "$ID" "$PID"
	refuses invalid_argument --offset "an offset that is none"
}

waited_ms()
{
	echo $(((${EPOCHREALTIME/./} - ${1/./}) / 1000))
}

group()
{
	spawned plain sh -c 'sleep 1000 & setsid sleep 2000 & echo ready; wait'
	client read "$ID" "$PID" 0 60000
	client signal "$ID" "$PID" 15
	check "a signal ends it" wait_for 5 state_has 'running=0'
	pinfold exec "$ID" -- sh -c 'pgrep -f "[s]leep 1000"; pgrep -f "[s]leep 2000" | wc -l'
	prints 1 "its group heard it, who left the group did not"
	pinfold exec "$ID" -- pkill sleep
}

writing()
{
	spawned stdin cat
	check "its input is open" state_has 'running=1 code=-1 signal=0 status=running bytes=0 from=0 stdin=1'
	client write "$ID" "$PID" keep <<<hello
	prints 6 "a line is written"
	client read "$ID" "$PID" 0 60000
	prints hello "and comes back"
	client write "$ID" "$PID" keep 1000000
	prints 1000000 "a megabyte"
	client write "$ID" "$PID" close <<<end
	check "the end of input ends it" wait_for 5 state_has 'status=exited bytes=1000010'
	client read "$ID" "$PID" -4 0
	prints end "nothing was lost"
	client write "$ID" "$PID" keep <<<more
	refuses_write conflict "$PID" "nobody reads any more"
	spawned plain cat
	check "without the flag it is empty" wait_for 5 state_has 'status=exited bytes=0'
	spawned stdin sh -c 'exec <&-; echo closed; tail -f /dev/null'
	client read "$ID" "$PID" 0 60000
	client write "$ID" "$PID" keep <<<more
	refuses_write conflict 'standard input' "one that closed it"
	client signal "$ID" "$PID" 9
	spawned stdin tail -f /dev/null
	local begun=$EPOCHREALTIME
	client write "$ID" "$PID" keep 200000
	refuses_write timeout 'standard input' "one that never reads"
	check "what fits into the pipe was written" test "$(head -1 "$OUT")" = 65536
	check "after some seconds" test "$(waited_ms "$begun")" -ge 4500
	client signal "$ID" "$PID" 9
	pinfold exec --detach --stdin-open "$ID" -- cat
	PID=$(cat "$OUT")
	call_files attach
	call_argv
	echo by-attach | "${CALL[@]}" attach "$ID" "$PID" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	local attached=$! # wait_for changes $!
	check "attach passes its input on" wait_for 5 state_has 'bytes=10'
	client write "$ID" "$PID" close </dev/null
	wait "$attached"
	pinfold run --stdin-open "${BEST[@]}" -- true
	refuses invalid_argument --stdin-open "only for the background"
}

# As refuses; how much was written is on standard output.
refuses_write()
{
	check "$3: status 125" test "$RC" = 125
	check "$3: code $1" grep -qE "^pinfold: $1(\.[a-z]+)?: " "$ERR"
	check "$3: names $2" grep -qF -e "$2" "$ERR"
}

terminal()
{
	spawned pty sh -c 'stty -echo; trap "stty size" WINCH; echo ready; while :; do read x && echo "<$x>"; done'
	check "a terminal" state_has 'stdin=1 pty=1'
	check "it is ready" wait_for 5 printed ready
	client resize "$ID" "$PID" 33 77
	exits 0 "its size can be changed"
	client write "$ID" "$PID" keep <<<word
	check "it was told" wait_for 5 printed '33 77'
	check "what is written is typed" wait_for 5 printed '<word>'
	client resize "$ID" "$PID" 0 77
	refuses invalid_argument rows "no size at all"
	call_files hold
	PINFOLD_COPY=$T/client call_argv
	mkfifo "$W/hold.in"
	exec {hold_in}<>"$W/hold.in"
	"${CALL[@]}" hold "$ID" "$PID" >"$OUT" 2>"$ERR" <"$W/hold.in" {LIVE_FD}>&- &
	local call=$! holds=$OUT
	check "somebody has its input" wait_for 5 grep -q = "$holds"
	OUT=$holds
	prints 'terminal=0 fifo=1 readable=0' "but not its terminal"
	client write "$ID" "$PID" keep 100000
	client read "$ID" "$PID" 0 0
	exits 0 "and the daemon goes on"
	echo >&"$hold_in"
	wait "$call"
	exec {hold_in}>&-
	rm -f "$W/hold.in"
	client signal "$ID" "$PID" 9
	spawned pty cat
	client write "$ID" "$PID" close <<<last
	check "its end of file ends the input" wait_for 5 state_has 'status=exited'
	check "after all of it" printed last
	spawned plain tail -f /dev/null
	client resize "$ID" "$PID" 10 10
	refuses conflict "$PID" "one without a terminal"
	client signal "$ID" "$PID" 9
}

printed()
{
	client read "$ID" "$PID" 0 0
	grep -aqF -e "$1" "$OUT"
}

# Much more than is kept, and a reader who is too slow: nobody waits for him, and he can tell.
flood()
{
	spawned plain sh -c 'yes 0123456789abcde | head -c 100000000'
	local flood=$PID most=$((170 << 10))
	case $PINFOLD in
	*/san-*) most=$((600 << 10)) ;; # what was freed stays for a while
	esac
	call_files stream
	PINFOLD_COPY=$T/client call_argv
	"${CALL[@]}" stream "$ID" "$flood" 700 >"$W/slow" 2>"$W/slow.err" {LIVE_FD}>&- &
	local call=$!
	check "100 MB are printed" wait_for 15 state_has 'running=0' "$flood"
	spawned plain echo quick
	client read "$ID" "$PID" 0 60000
	prints quick "others go on meanwhile"
	check "the warden holds no more than it says" test "$(warden_kib)" -lt "$most"
	wait "$call"
	check "the slow reader comes to its end" test $? = 0
	check "what he has and what he missed is all of it" /usr/bin/python3 -I -c '
import sys, os
f = dict(p.split("=") for p in open(sys.argv[1]).read().split())
assert int(f["got"]) + int(f["skipped"]) == int(f["total"]) == 100000000, f
assert int(f["skipped"]) > 50000000, f
assert os.path.getsize(sys.argv[2]) == int(f["got"]) >= 8 << 20, f
' "$W/slow.err" "$W/slow"
	client read "$ID" "$flood" 65530 0
	says 'offset=65530 len=6 ' "the head ends where it does"
	client read "$ID" "$flood" 70000 0
	says 'offset=91611392 len=1048576 ' "and what is left begins with the last 8 MiB"
	rm -f "$W/slow"
	local i
	for i in $(seq 40); do
		client spawn "$ID" plain sh -c 'yes 0123456789abcde | head -c 9000000'
	done
	check "40 of them end" wait_for 15 background_is 0
	check "and the warden still holds no more" test "$(warden_kib)" -lt "$most"
	client read "$ID" "$PID" 0 0
	prints quick "who printed little still has it"
}

# Resident memory of the warden.
warden_kib()
{
	awk '/^VmRSS:/ {print $2}' "/proc/$DAEMON/status"
}

background_is()
{
	pinfold ps --json
	[ "$(/usr/bin/python3 -I -c '
import json, sys
print([i["background"] for i in json.load(open(sys.argv[1]))["items"] if i["id"] == sys.argv[2]][0])
' "$OUT" "$ID")" = "$1" ]
}

remembered()
{
	local i first

	made
	for i in $(seq 70); do
		spawned plain echo "number $i"
		[ "$i" != 1 ] || first=$PID
		wait_for 5 state_has running=0
	done
	client list "$ID"
	prints 64 "the last 64 that ended are remembered"
	check "the oldest of them" grep -q 'command=echo number 7$' <(head -1 "$ERR")
	check "to the last" grep -q 'command=echo number 70$' <(tail -1 "$ERR")
	client read "$ID" "$first" 0 0
	refuses not_found "$ID" "those before are forgotten"
	for i in $(seq 64); do
		client spawn "$ID" plain tail -f /dev/null
	done
	client list "$ID"
	check "64 run beside them" test "$(cat "$OUT")" = 128
	client spawn "$ID" plain true
	refuses limit_exceeded "$ID" "one more"
	pinfold kill "$ID"
	[ "$MODE" != R ] || reused
}

# Numbers inside come around again: the one that runs has it, and no other.
reused()
{
	local guest number i

	made
	guest=$(guest_of "$ID")
	nsenter -t "$guest" -p -- sh -c 'echo 400 >/proc/sys/kernel/pid_max' 2>/dev/null
	if ! nsenter -t "$guest" -p -- grep -qx 400 /proc/sys/kernel/pid_max; then
		skip "a number that comes again [$MODE]" "this kernel has one pid_max for all"
		return
	fi
	# Those below 300 do not come again.
	pinfold exec "$ID" -- sh -c 'i=0; while [ $i -lt 310 ]; do /bin/true; i=$((i+1)); done'
	spawned plain echo old
	number=$PID
	wait_for 5 state_has running=0
	pinfold exec "$ID" -- sh -c 'i=0; while [ $i -lt 80 ]; do /bin/true; i=$((i+1)); done'
	for i in $(seq 60); do
		spawned plain sh -c 'echo new; exec tail -f /dev/null'
		[ "$PID" = "$number" ] && break
		client signal "$ID" "$PID" 9
	done
	check "a number comes again" test "$PID" = "$number"
	client read "$ID" "$number" 0 60000
	prints new "it is the one that runs"
	client list "$ID"
	check "and no other has it" test "$(grep -c "^pid=$number " "$ERR")" = 1
	pinfold kill "$ID"
}

# guest_of ID: its init, by the hostname.
guest_of()
{
	local pid

	for pid in $(guests); do
		[ "$(nsenter -t "$pid" -u hostname 2>/dev/null)" = "$1" ] && echo "$pid"
	done
}

own_command()
{
	client create-for sh -c 'read x; echo "got $x"; trap "echo asked; exit 5" TERM; while :; do sleep 0.05; done'
	ID=$(cat "$OUT")
	client write "$ID" 0 keep <<<word
	check "its own command, by number 0" wait_for 5 printed_own 'got word'
	client list "$ID"
	says 'running=1 .*stdin=1 .*command=sh -c read x' "is listed"
	client signal "$ID" 0 15
	check "and hears signals" wait_for 5 printed_own asked
	check "it ends" wait_for 5 state_has 'code=5 signal=0 status=exited' 0
	client read "$ID" 0 -6 0
	prints asked "what it printed can still be read"
	client signal "$ID" 0 15
	refuses conflict "$ID" "but nobody is there"
	client write "$ID" 0 keep <<<word
	refuses_write conflict "$ID" "nor reads"
	pinfold kill "$ID"
	client read "$ID" 0 0 0
	refuses not_found "$ID" "when it is forgotten, so is that"
}

printed_own()
{
	client read "$ID" 0 0 0
	grep -qF -e "$1" "$OUT"
}

about()
{
	local long

	made color=red 'weird"\key=a=b' 'empty='
	spawned plain tail -f /dev/null
	client get "$ID"
	check "what it may have" grep -qx "$ID running strict host memory=104857600 pids=128 disk=20971520 cpus=1000 nofile=1024" "$OUT"
	check "what was kept with it" test "$(grep ^metadata "$OUT")" = $'metadata color=red\nmetadata weird"\\key=a=b\nmetadata empty='
	if [ "$MODE" = R ]; then
		check "what it uses" grep -qx 'usage memory=1 cpu=1 processes=1' "$OUT"
	else
		check "what it uses is not known" grep -qx 'usage unknown' "$OUT"
	fi
	pinfold ps --json
	check "ps has the same" /usr/bin/python3 -I -c '
import json, sys
i = [i for i in json.load(open(sys.argv[1]))["items"] if i["id"] == sys.argv[2]][0]
assert i["metadata"] == {"color": "red", "weird\"\\key": "a=b", "empty": ""}, i
assert i["limits"] == {"memory": 104857600, "pids": 128, "disk": 20971520, "cpus_milli": 1000, "nofile": 1024}, i
assert i["isolation"] == "strict" and i["image"] == "host", i
assert (i["usage"] is None) == (sys.argv[3] == "U"), i
' "$OUT" "$ID" "$MODE"
	pinfold kill "$ID"
	client get "$ID"
	refuses not_found "$ID" "one that is gone"
	long=$(printf '%0257d' 1)
	client create a=1 a=2
	refuses invalid_argument --metadata "a key twice"
	client create "a=$long"
	refuses invalid_argument --metadata "a value that is too long"
	client create "${long:0:65}=1"
	refuses invalid_argument --metadata "a key that is too long"
	client create nothing
	refuses invalid_argument --metadata "no value"
	client create $'a=\xff'
	refuses invalid_argument --metadata "bytes that are no text"
	# shellcheck disable=SC2046
	client create $(seq -f 'k%g=v' 17)
	refuses invalid_argument --metadata "too many"
	# shellcheck disable=SC2046
	made $(seq -f "k%g=${long:0:256}" 16)
	client get "$ID"
	check "as much as it may be" test "$(grep -c "^metadata k[0-9]*=${long:0:256}\$" "$OUT")" = 16
	pinfold kill "$ID"
	pinfold run --detach --metadata a=b "${BEST[@]}"
	ID=$(cat "$OUT")
	client get "$ID"
	check "the command line's" grep -qx 'metadata a=b' "$OUT"
	pinfold kill "$ID"
}

# Two users in one sandbox, where there is a root inside.
users()
{
	[ "$MODE" = R ] || return 0
	pinfold run --detach --user root
	ID=$(cat "$OUT")
	pinfold exec "$ID" -- sh -c 'id -u; touch /etc/of-root; echo $HOME'
	prints $'0\n/root' "who it was made for"
	pinfold exec --user root "$ID" -- id -u
	prints 0 "by name"
	pinfold exec --user user "$ID" -- sh -c 'id -u; id -g; id -G; echo $HOME $USER; grep -E "^Cap(Inh|Prm|Eff|Amb)|^NoNewPrivs" /proc/self/status | tr -d "\t"; touch ~/mine; touch /etc/of-user 2>/dev/null || echo no'
	prints $'1000\n1000\n1000\n/home/user user\nCapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nno' "the user beside root"
	pinfold exec --time 300ms --grace 100ms --user user "$ID" -- sh -c 'trap "" TERM; while :; do sleep 0.05; done'
	exits 124 "his time is kept"
	spawned user sh -c 'echo ready; sleep 1000'
	client read "$ID" "$PID" 0 60000
	client signal "$ID" "$PID" 15
	check "he hears signals" wait_for 5 state_has 'signal=15'
	pinfold exec "$ID" -- pgrep -c sleep
	prints 0 "and nothing of it is left"
	spawned user sleep 1000
	pinfold kill "$ID"
	exits 0 "it is ended with him"
	made
	pinfold exec --user root "$ID" -- id -u
	refuses conflict "--user root" "no root where none was asked for"
	pinfold exec --user user "$ID" -- id -u
	prints 1000 "the user is always there"
	pinfold kill "$ID"
}

# user UID ARG...: the client, called by this user.
user()
{
	call_by "$1"
	shift
	client "$@"
	CALL_WRAP=()
}

# Users of root's daemon: what is another's is not there.
tenants()
{
	local one=64101 two=64102 verb

	[ "$MODE" = R ] || return 0
	chmod 0711 "$M/run"
	chmod 0666 "$M/run/daemon.sock"
	user $one create secret=1
	ID=$(cat "$OUT")
	user $one spawn "$ID" stdin sh -c 'echo private; cat'
	PID=$(cat "$OUT")
	for verb in "read $ID $PID 0 0" "read $ID 0 0 0" "list $ID" "get $ID" "signal $ID $PID 9" \
		"resize $ID $PID 1 1" "stream $ID $PID 0" "spawn $ID plain id" "hold $ID $PID"; do
		# shellcheck disable=SC2086
		user $two $verb
		refuses not_found "$ID" "another's: ${verb%% *}"
	done
	user $two write "$ID" "$PID" close <<<bad
	refuses_write not_found "$ID" "another's: write"
	check "nothing was written" test "$(cat "$OUT")" = 0
	user $one read "$ID" "$PID" 0 60000
	prints private "it was not touched"
	says 'running=1 .*bytes=8 .*stdin=1' "nor written to"
	user $one write "$ID" "$PID" close <<<good
	wait_for 5 state_has 'status=exited'
	client read "$ID" "$PID" 8 0
	prints good "the owner may, and root sees it"
	user $one create
	check "root sees whose it is" grep -q sbx "$OUT"
}

checks()
{
	daemon_mode
	CALL_ENV=()
	[ "$MODE" = R ] || CALL_ENV=(BEST=best-effort)
	find_library
	check "the client compiles" cc -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Werror \
		-I"$PROJECT_DIR/include" -o "$T/client" "$TEST_DIR/process.c" "${LINK[@]}"
	daemon_start --warm 2 --warm-python 0
	reading
	group
	writing
	terminal
	flood
	pinfold kill "$ID"
	remembered
	own_command
	about
	users
	tenants
	daemon_stop
	exits 0 "the daemon ends"
	check "and nothing is left" nothing_left
}

run_checks
