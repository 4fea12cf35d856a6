#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scope.sh WHERE [part...]: an ordinary user whose systemd makes scopes for his sandboxes. Called
# once for each place that a user's processes can be in; WHERE is for the names of the checks.
. "$(dirname "$0")/vm.bash"

WHERE=${1:-somewhere}
[ $# -gt 1 ] || set -- "$WHERE" host plain_run directory settings limits killed stopped several \
	as_root_inside no_manager
T=$(mktemp -d)
export PINFOLD_HOME=$T/home

scopes()
{
	systemctl --user list-units --all --no-legend --plain 'pinfold-*'
}

no_scopes()
{
	no_groups && [ -z "$(scopes)" ]
}

# The scope and its directory are gone a moment after the run, when systemd has heard of it.
left_nothing()
{
	wait_for 2 no_scopes
	is "$(scopes)$(sandbox_groups)" "" "$WHERE: $1: no scope is left"
}

host()
{
	local text

	text=$(pinfold doctor)
	is $? 0 "$WHERE: doctor is content"
	like "$text" 'ok +control groups +v2, in a scope' "$WHERE: doctor: groups"
	like "$text" 'ok +strict +holds' "$WHERE: doctor: strict"
	like "$text" 'ok +all limits' "$WHERE: doctor: limits"
	diag "in $(cat /proc/self/cgroup)" "$text"
}

plain_run()
{
	local what

	run --limits strict -- sh -c 'id -u; cat /proc/self/cgroup; exit 7'
	ended exited 7 "$WHERE: a command runs"
	like "$DOC" '"text":"1000\\n0::/\\n"' "$WHERE: its group is the top inside"
	for what in memory pids cpus; do
		is "$(held_by $what)" cgroup "$WHERE: $what is held by the group"
	done
	between "$(whole memory_peak_bytes)" 65536 100000000 "$WHERE: peak of memory was read"
	run -- true
	is "$NOTES" "" "$WHERE: nothing to complain about"
	timed "$WHERE"
	left_nothing "a run"
}

settings()
{
	local pid dir

	pinfold run --memory 64M --pids 10 --cpus 0.5 -- sleep "$MARK" </dev/null >"$T/out" 2>&1 &
	pid=$!
	wait_for 20 marked
	dir=$(sandbox_groups)/box
	is "$(settings_of "$dir")" "67108864 0 1 11 50000 100000 " "$WHERE: the group's limits"
	# systemd sets its own again then.
	systemctl --user daemon-reload
	is "$(settings_of "$dir")" "67108864 0 1 11 50000 100000 " "$WHERE: and systemd leaves them"
	marked
	is $? 0 "$WHERE: it still runs"
	kill -TERM "$pid"
	wait "$pid"
	left_nothing "a stopped run"
}

# The layer is on tmpfs, which has user attributes since Linux 6.6.
directory()
{
	mkdir -p "$T/dir/sub"
	echo old | tee "$T/dir/file" >"$T/dir/sub/below"
	run --dir "$T/dir" --workdir /work -- sh -c 'echo new >file; rm sub/below; echo in >sub/new'
	ended exited 0 "$WHERE: --dir"
	is "$(cat "$T/dir/file") $(ls "$T/dir/sub")" "old below" "$WHERE: --dir: is as it was"
	pinfold run --dir "$T/dir" --workdir /work -- rm -r sub </dev/null 2>"$T/err"
	like "$? $(cat "$T/err")" '^1 .*before Linux 6.6' "$WHERE: --dir: what it cannot do is told"
}

settings_of()
{
	cat "$1"/{memory.max,memory.swap.max,memory.oom.group,pids.max,cpu.max} | tr '\n' ' '
}

limits()
{
	local used wall

	run --memory 32M -- awk "$BOMB"
	ended oom 137 "$WHERE: memory bomb"
	is "$(limit)" "memory 33554432" "$WHERE: memory bomb: limit"
	between "$(whole memory_peak_bytes)" 16000000 33554432 "$WHERE: memory bomb: peak"
	left_nothing "memory bomb"
	run --memory 32M -- python3 -c "$MEMFD"
	ended oom 137 "$WHERE: memfd bomb"
	is "$(limit)" "memory 33554432" "$WHERE: memfd bomb: limit"
	run --memory 32M -- sh -c "dd if=/dev/zero of=/dev/shm/x bs=64k count=200; awk '$BOMB'"
	ended oom 137 "$WHERE: memory bomb beside files"
	run --pids 8 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 2 & done; wait'
	is "$(limit)" "pids 8" "$WHERE: fork bomb: limit"
	like "$DOC" "Cannot fork" "$WHERE: fork bomb: fork fails"
	run --cpus 0.2 --time 4s --grace 100ms -- sh -c 'while :; do :; done'
	ended timeout 124 "$WHERE: time limit"
	is "$(limit)" "time 4000" "$WHERE: time limit: limit"
	used=$(whole cpu_ms) wall=$(whole wall_ms)
	between "$((used * 100 / (wall + 1)))" 10 30 "$WHERE: a fifth of a processor, in percent"
	run --cpu-time 700ms -- sh -c 'while :; do :; done'
	ended killed 137 "$WHERE: CPU time"
	is "$(limit)" "cpu_time 700" "$WHERE: CPU time: limit"
	left_nothing "limits"
}

killed()
{
	local pid

	pinfold run -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_for 20 marked
	is "$(scopes | wc -l)" 1 "$WHERE: kill -9: it is in a scope"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	wait_for 2 no_processes
	is "$(sandbox_processes)" "" "$WHERE: kill -9: no process after 2 s"
	left_nothing "kill -9"
	kill_at_random 10 "$WHERE"
	run -- true
	left_nothing "killed at random, and the next run"
	written_down
}

# What a dead run wrote down is stopped, whatever it is that is still in it.
written_down()
{
	local pid live=$XDG_RUNTIME_DIR/pinfold/live

	systemd-run --quiet --user --scope --unit=pinfold-sbxleft sleep "$MARK" </dev/null &
	pid=$!
	wait_for 20 systemctl --user --quiet is-active pinfold-sbxleft.scope
	echo "scope pinfold-sbxleft.scope" >"$live/7"
	run -- true
	wait "$pid" 2>/dev/null
	left_nothing "written down, and the next run"
	is "$(ls "$live")" "" "$WHERE: nothing is written down any more"
}

# systemd's stop ends what can do nothing by itself.
stopped()
{
	local pid

	pinfold run -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_for 20 marked
	stop_sandbox
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	run -- true
	left_nothing "stopped, then kill -9, and the next run"
	is "$(sandbox_processes)" "" "$WHERE: stopped, then kill -9: the next run ends it"
}

several()
{
	local i status=0 pids=()

	for i in 1 2 3 4; do
		pinfold run --limits strict -- sh -c "exit $i" </dev/null >/dev/null 2>"$T/several.$i" &
		pids+=($!)
	done
	for i in 1 2 3 4; do
		wait "${pids[i - 1]}"
		status="$status $?"
	done
	is "$status" "0 1 2 3 4" "$WHERE: four at once"
	[ "$status" = "0 1 2 3 4" ] || diag "$(cat "$T"/several.*)"
	left_nothing "four at once"
}

as_root_inside()
{
	run --limits strict --user root -- sh -c 'touch /root/new && chown 12:34 /root/new'
	ended exited 0 "$WHERE: --user root with subordinate ids"
	is "$(held_by memory)" cgroup "$WHERE: --user root: held by the group"
	left_nothing "--user root"
}

# A manager that hears and never speaks; pinfold gives up on it, and says what that means.
no_manager()
{
	local pid mute=$T/mute

	mkdir -p "$mute/systemd"
	python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
while True:
    os.read(0, 1) or sys.exit()' "$mute/systemd/private" < <(exec sleep 1000) &
	pid=$!
	wait_for 10 test -S "$mute/systemd/private"
	XDG_RUNTIME_DIR=$mute run -- true
	ended exited 0 "$WHERE: mute manager: runs"
	is "$(held_by memory) $(held_by pids) $(held_by cpus)" "polled rlimit absent" \
		"$WHERE: mute manager: what holds"
	XDG_RUNTIME_DIR=$mute run --memory 32M -- awk "$BOMB"
	ended oom 137 "$WHERE: mute manager: memory bomb"
	XDG_RUNTIME_DIR=$mute run --pids 8 -- bash -c 'for i in {1..9}; do sleep 1 & done; wait'
	is "$(limit)" "pids 8" "$WHERE: mute manager: fork bomb"
	XDG_RUNTIME_DIR=$mute run --limits strict -- true
	ended failed 125 "$WHERE: mute manager: strict refuses"
	diag "$(field message)"
	kill "$pid"
	wait "$pid" 2>/dev/null
	XDG_RUNTIME_DIR=$mute run -- true
	ended exited 0 "$WHERE: dead manager: runs"
	is "$(held_by memory)" polled "$WHERE: dead manager: what holds"
}

for part in "${@:2}"; do
	"$part"
done
is "$(sandbox_processes)" "" "$WHERE: no process is left"
rm -rf "$T"
done_testing
