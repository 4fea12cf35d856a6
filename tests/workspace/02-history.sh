#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The history of a workspace: what each command leaves, however it ends, and every way back.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# write NAME WORD: one command that adds a file and a line to another.
write()
{
	sh_in "$1" "echo $2 >$2; echo $2 >>all"
}

# stands NUMBER CLAIM: what the last call printed.
stands()
{
	prints "$1" "$2: it stands at $1"
}

# is_as NAME WORDS CLAIM: exactly these commands count; looked at in a fork, which leaves no trace.
is_as()
{
	pinfold fork "$1" look
	sh_in look 'cat all 2>/dev/null; ls | grep -vx all | sort -n >/tmp/l; sort -n all 2>/dev/null | diff /tmp/l - >&2'
	prints "$(tr ' ' '\n' <<<"$2")" "$3"
	pinfold rm look
}

kinds()
{
	pinfold log --json "$1" "${@:2}"
	doc '" ".join(str(s["snapshot"]) + s["kind"][0] + ("*" if s["current"] else "-" if s["undone"] else "")
		for s in d["items"])'
}

undoing()
{
	local i

	fresh h
	for i in 2 3 4 5; do
		write h $i
	done
	is_as h "2 3 4 5" "four commands"
	pinfold undo h
	stands 4 "undo"
	is_as h "2 3 4" "the last is taken back"
	pinfold undo h 2
	stands 2 "undo 2"
	is_as h "2" "two more"
	check "the log knows what counts" test "$(kinds h)" = "2e* 1n"
	check "and with --all what does not" test "$(kinds h --all)" = "5e- 4e- 3e- 2e* 1n"
	pinfold undo h 2
	refuses invalid_argument "only 1" "beyond the beginning"
	is_as h "2" "then nothing is undone"
	pinfold undo h
	stands 1 "to the beginning"
	is_as h "" "it is empty"
	pinfold undo h
	refuses invalid_argument "only 0" "there is nothing before it"
	pinfold undo h 18446744073709551616
	check "a number without end" test "$RC" = 125
	pinfold undo h 18446744073709551615
	check "a very large number" test "$RC" = 125
	write h 6
	is_as h "6" "it goes on from where it stands"
	check "with a number of its own" test "$(kinds h)" = "6e* 1n"
}

rolling_back()
{
	fresh r
	write r 2
	write r 3
	pinfold snap r good
	stands 4 "a snapshot"
	write r 5
	write r 6
	pinfold rollback r 2
	stands 7 "rollback is a point of its own"
	is_as r "2" "by number"
	pinfold undo r
	stands 6 "undo of a rollback"
	is_as r "2 3 5 6" "all is back"
	pinfold rollback r good
	is_as r "2 3" "by label"
	write r 9
	is_as r "2 3 9" "it goes on"
	pinfold undo r 2
	stands 6 "undo over a rollback"
	is_as r "2 3 5 6" "as before it"
	pinfold undo r 3
	stands 2 "undo passes a snapshot by"
	is_as r "2" "and does not count it"
	pinfold rollback r 6
	is_as r "2 3 5 6" "to what was undone"
	pinfold undo r
	check "a label that was undone is in the log, and marked" test "$(kinds r)" = "4s- 2e* 1n"
	pinfold rollback r good
	is_as r "2 3" "to a label that was undone"
	pinfold rollback r 1
	is_as r "" "to the beginning"
	pinfold undo r
	is_as r "2 3" "and back"
	pinfold rollback r 99
	refuses not_found 99 "to nowhere"
	is_as r "2 3" "then it stays"
	pinfold log --json r --all
	doc_has 'sorted(s["snapshot"] for s in d["items"]) == list(range(1, len(d["items"]) + 1))' \
		"every number was given once"
	doc_has 'sum(s["current"] for s in d["items"]) == 1' "it stands at one of them"
}

forking()
{
	fresh o
	write o 2
	write o 3
	pinfold snap o mark
	write o 5
	pinfold fork o f
	exits 0 "fork"
	prints "" "prints nothing"
	is_as f "2 3 5" "a fork has the files"
	pinfold fork --at 2 o f2
	is_as f2 "2" "at a number"
	pinfold fork o --at mark fm
	is_as fm "2 3" "at a label, and the option in between"
	write f f6
	sh_in f 'rm 2; echo changed >3'
	is_as o "2 3 5" "the origin sees nothing of a fork"
	write o 6
	sh_in o 'rm 5'
	ws f cat 5 3
	prints $'5\nchanged' "a fork sees nothing of the origin"
	pinfold log --json f
	doc_has 'd["items"][-1]["kind"] == "fork" and d["items"][-1]["command"] == "o 5"' "its log says where from"
	pinfold undo f 4
	refuses invalid_argument "only 3" "a fork does not undo what was the origin's"
	pinfold info --json f
	doc_has 'd["shared_bytes"] > 0 and d["own_bytes"] > 0' "what is shared and what is not"
	pinfold undo o 2
	pinfold rm o
	exits 0 "the origin is removed"
	check "and collected" wait_for 40 settled
	ws f cat 5 3 all
	prints $'5\nchanged\n2\n3\n5\nf6' "its fork is whole"
	is_as fm "2 3" "so is one at a label"
	pinfold fork f ff
	pinfold rm f
	ws ff cat 5 3
	prints $'5\nchanged' "and a fork of a fork"
	pinfold info --json ff
	doc_has 'd["own_bytes"] > 0' "now it owns some of it"
	pinfold rm ff
	pinfold rm f2
	pinfold rm fm
	check "nothing is left of them" wait_for 40 no_layers_but h r
}

# no_layers_but NAME...: every layer belongs to one of them.
no_layers_but()
{
	local names

	names=$(printf "'%s'," "$@")
	settled && [ -z "$(sql "SELECT id FROM layer WHERE workspace NOT IN
		(SELECT id FROM workspace WHERE name IN (${names%,}))")" ]
}

layers_of()
{
	pinfold info --json "$1"
	doc 'd["layers"]'
}

# A command that changed nothing is in the log, and costs no layer.
no_change()
{
	local i

	fresh n
	write n 2
	for i in {1..20}; do
		ws n cat all
	done
	exits 0 "20 commands that change nothing"
	check "are no layers" test "$(layers_of n)" = 1
	check "but in the log" test "$(sql "SELECT count(*) FROM snap s, workspace w WHERE w.id = s.workspace
		AND w.name = 'n'")" = 22
	sh_in n 'echo x >/tmp/x; echo y >/run/y; echo z >/dev/shm/z'
	check "nor is what is written to /tmp, /run and /dev/shm" test "$(layers_of n)" = 1
	sh_in n 'ls /tmp /dev/shm'
	check "which is gone" not grep -q '^[xyz]$' "$OUT"
	pinfold undo n 21
	is_as n "2" "and undo counts them"
	pinfold rm n
}

# last STATUS EXIT NAME: how the last command is in the log.
last()
{
	pinfold log --json e
	doc_is "[\"$1\", $2]" '[d["items"][0]["status"], d["items"][0]["exit_status"]]' "$3 in the log"
}

# However a command ends, what it did is kept and can be undone; what never ran is not there.
endings()
{
	local before

	fresh e
	sh_in e 'echo 1 >fails; exit 9'
	last exited 9 "a failure"
	pinfold exec --time 300ms --grace 100ms e -- sh -c 'echo 1 >late; trap "" TERM; while :; do :; done'
	exits 124 "a timeout"
	last timeout 124 "a timeout"
	pinfold exec --memory 32M e -- sh -c 'echo 1 >large; exec python3 -c "import signal
x = bytearray(200 << 20); signal.pause()"'
	exits 137 "out of memory"
	last oom 137 "out of memory"
	pinfold exec --cpu-time 200ms e -- sh -c 'echo 1 >busy; while :; do :; done'
	last killed 137 "out of processor time"
	sh_in e 'echo 1 >signal; kill -9 $$'
	last signaled 137 "a signal"
	ws e no-such
	last failed 127 "a command that is not there"
	ws e /etc/passwd
	last failed 126 "one that cannot be executed"
	ws e ls
	prints $'busy\nfails\nlarge\nlate\nsignal' "what they did is kept"
	before=$(kinds e --all)
	pinfold exec --memory 1 e -- true
	check "what never ran" test "$RC" = 125
	check "is not in the log" test "$(kinds e --all)" = "$before"
	pinfold undo e 8
	ws e ls
	prints "" "all of it can be undone"
	pinfold undo e
	pinfold exec e -- sh -c 'echo x >f; setsid sh -c "while :; do echo y >>f; done" >/dev/null 2>&1 &'
	sh_in e 'stat -c %s f >one; wc -c <f | diff - one && rm one'
	exits 0 "what it left in the background is ended before it is kept"
}

interrupted()
{
	fresh i
	write i 2
	call_start RUN exec i -- sh -c 'echo 3 >3; echo 3 >>all; echo ready; exec tail -f /dev/null'
	ready RUN
	kill -INT "$RUN_PID"
	inside_wait RUN
	exits 130 "Ctrl-C"
	is_as i "2 3" "what was done until then is kept"
	pinfold log --json i
	doc_is killed 'd["items"][0]["status"]' "and in the log"
	pinfold undo i
	is_as i "2" "and can be undone"
	on_terminal 'expect:ready' 'send:\x03' -- exec i -- sh -c 'echo ready; exec tail -f /dev/null'
	exits 130 "Ctrl-C on a terminal"
	ws i true
	exits 0 "it is free again"
}

killed()
{
	local i before

	fresh k
	write k 2
	before=$(kinds k --all)
	for i in 1 2 3; do
		call_start RUN exec k -- sh -c 'echo 3 >3; rm 2; echo 3 >>all; echo ready; exec tail -f /dev/null'
		ready RUN
		kill -9 "$RUN_PID"
		inside_wait RUN
		own_kill
		check "kill -9: the log is as before" test "$(kinds k --all)" = "$before"
	done
	is_as k "2" "so are the files"
	write k 3
	is_as k "2 3" "and the next command works"
	check "what they left is removed" wait_for 40 settled
	pinfold info --json k
	doc_is idle 'd["status"]' "nobody holds it"
}

busy()
{
	local verb

	fresh b
	write b 2
	held RUN b
	for verb in "exec b -- true" "undo b" "rollback b 1" "rm b"; do
		# shellcheck disable=SC2086
		pinfold $verb
		refuses busy b "while a command runs: ${verb}"
	done
	pinfold exec --json b -- true
	exits 125 "with --json"
	json_is busy 'd["error"]["code"]' "with --json"
	pinfold ls --json
	doc_has '[w["status"] for w in d["items"] if w["name"] == "b"] == ["busy"]' "ls says so"
	pinfold log --json b
	doc_has 'len(d["items"]) == 2' "the log can be read"
	pinfold fork b b2
	exits 0 "a fork can be made"
	ws b2 ls
	prints $'2\nall' "of what is there so far"
	pinfold exec --share b -- sh -c 'echo beside >beside; ls'
	prints $'2\nall\nbeside' "a second command that asks to share runs beside it"
	pinfold undo b
	refuses busy b "the first is still alone with the history"
	kill "$RUN_PID"
	inside_wait RUN
	ws b cat held beside
	prints $'held\nbeside' "then both are there"
	pinfold rm b2
}

shared()
{
	fresh s
	write s 2
	# Both ends are ours, so that nobody waits to open them.
	exec {GO1}<>"$W/go1" {GO2}<>"$W/go2"
	call_start ONE exec --stdin "$W/go1" --share s -- sh -c \
		'echo 1 >one; echo 1 >both; rm 2; echo ready; read x; cat all two 2>/dev/null'
	call_start TWO exec --stdin "$W/go2" s --share -- sh -c 'echo 2 >two; echo 2 >both; echo ready; read x'
	ready ONE
	ready TWO
	pinfold exec s -- true
	refuses busy s "beside those who share, one who does not"
	pinfold undo s
	refuses busy s "nor is anything undone"
	echo >&"$GO1"
	inside_wait ONE
	prints $'ready\n2' "one does not see the other"
	echo >&"$GO2"
	inside_wait TWO
	exec {GO1}>&- {GO2}>&-
	ws s cat one two both
	prints $'1\n2\n2' "both changes are there, and who ended last is on top"
	sh_in s 'ls'
	prints $'all\nboth\none\ntwo' "also what one removed"
	pinfold undo s 3
	ws s cat both
	prints 1 "they can be undone one by one"
}

crowd()
{
	local i pids=()

	fresh c
	for i in {1..8}; do
		call_argv
		"${CALL[@]}" exec --share c -- sh -c "echo $i >f$i; echo $i >last" >/dev/null 2>"$W/crowd.$i" {LIVE_FD}>&- &
		pids+=("$!")
	done
	for i in {1..8}; do
		wait "${pids[i - 1]}" || not_ok "number $i of 8 who share [$MODE]: $(cat "$W/crowd.$i")"
	done
	sh_in c 'cat f? | tr "\n" " "; cat last'
	check "8 at once: all is there" grep -qE '^1 2 3 4 5 6 7 8 [1-8]$' "$OUT"
	check "with a number each" test "$(kinds c)" = "10e* 9e 8e 7e 6e 5e 4e 3e 2e 1n"
	for i in {1..6}; do
		call_argv
		"${CALL[@]}" new same >/dev/null 2>&1 {LIVE_FD}>&- &
		pids[i]=$!
	done
	local made=0
	for i in {1..6}; do
		wait "${pids[i]}" && made=$((made + 1))
	done
	check "of six who make the same, one does" test "$made" = 1
	check "settling is done" wait_for 40 settled
}

# F06: many children of one snapshot. PINFOLD_TEST_FORKS says how many.
many()
{
	local i n=${PINFOLD_TEST_FORKS:-30} wrong=0 size

	fresh o
	sh_in o 'mkdir d; seq 1000 >d/a; ln d/a b; head -c 1M /dev/urandom >big; sha256sum b big d/a >sums'
	size=$(du -sk "$M/home/layers" | cut -f1)
	for i in $(seq "$n"); do
		pinfold fork o "c$i"
		[ "$RC" = 0 ] || wrong=$((wrong + 1))
	done
	check "$n children are made" test "$wrong" = 0
	check "and take no room" test "$(du -sk "$M/home/layers" | cut -f1)" -le $((size + 100))
	sh_in c1 'echo mine >d/a; rm big; echo new >new'
	sh_in "c$n" 'echo "mine, too" >d/a'
	for i in 2 $((n / 2)) $((n - 1)); do
		sh_in "c$i" 'sha256sum --quiet -c sums && test ! -e new'
		[ "$RC" = 0 ] || wrong=$((wrong + 1))
	done
	check "none sees what a sibling wrote" test "$wrong" = 0
	ws c1 cat d/a new
	prints $'mine\nnew' "a child has what it changed"
	pinfold rm o
	for i in $(seq "$n"); do
		[ "$i" = 3 ] || pinfold rm "c$i"
	done
	pinfold gc --undone
	sh_in c3 'sha256sum --quiet -c sums'
	exits 0 "without the parent and all siblings all is there"
	pinfold rm c3
	check "with the last child its files go" wait_for 40 settled
}

checks()
{
	mkfifo "$W/go1" "$W/go2"
	own "$W"
	undoing
	rolling_back
	forking
	many
	no_change
	endings
	interrupted
	killed
	busy
	shared
	crowd
}

run_checks
