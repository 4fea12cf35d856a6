#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Root, and a user with nothing delegated to him, on a host with cgroup v2 alone and Linux 6.1:
# Landlock ABI 2, and a tmpfs without user extended attributes or id maps.
. "$(dirname "$0")/vm.bash"

T=$(mktemp -d)
chmod 755 "$T"

host()
{
	local text

	text=$(pinfold doctor)
	is $? 0 "doctor is content"
	diag "$text"
	like "$text" 'ok +control groups +v2' "doctor: groups are v2"
	like "$text" 'ok +landlock +ABI 2, without signal scoping' "doctor: Landlock without scopes"
	like "$text" 'ok +strict +holds' "doctor: strict holds"
	like "$text" 'no +landlock +.*ABI 6' "doctor: level landlock does not, and why"
	is "$(tr ' ' '\n' <"$GROUPS_DIR/cgroup.subtree_control" | grep -cxE 'cpu|memory|pids')" 3 \
		"controllers were handed down"
}

plain_run()
{
	local what

	run -- sh -c 'echo hello; exit 7'
	ended exited 7 "a command runs"
	like "$DOC" '"text":"hello\\n"' "its output"
	is "$(field isolation)" strict "level"
	run -- no-such-command
	ended failed 127 "a command that is not there"
	run --workdir /nowhere -- true
	ended failed 125 "a directory that is not there"
	for what in memory pids cpus; do
		is "$(held_by $what)" cgroup "$what is held by the group"
	done
	between "$(whole memory_peak_bytes)" 65536 100000000 "peak of memory was read"
	is "$(sandbox_groups)" "" "no group is left"
	run -- cat /proc/self/cgroup
	like "$DOC" '"text":"0::/\\n"' "inside, its group is the top"
	run -- readlink /proc/self/ns/net
	like "$DOC" '"text":"net:' "it has a network namespace"
	is "${DOC/"$(readlink /proc/self/ns/net)"/}" "$DOC" "of its own"
	run --time 10s -- sh -c 'echo heard | nc -l -p 7777 & until nc 127.0.0.1 7777; do :; done'
	like "$DOC" '"text":"heard\\n"' "with a loopback that is up"
	run -- cat /proc/uptime
	like "$DOC" '"text":"0\.' "its clocks start at zero"
	run -- sh -c 'touch /home/user/new && rm -f /usr/bin/true; test -e /usr/bin/true'
	ended exited 0 "/usr holds on a tmpfs without extended attributes"
	like "$DOC" '"path":"/home/user/new","change":"added"' "files are listed"
	run --dir /tests -- true
	ended failed 125 "--dir is refused on a filesystem that cannot be mapped"
	like "$(field message)" '--dir /tests: its filesystem cannot' "and says why"
}

memory()
{
	run --memory 32M -- awk "$BOMB"
	ended oom 137 "memory bomb"
	is "$(limit)" "memory 33554432" "memory bomb: limit"
	between "$(whole memory_peak_bytes)" 16000000 33554432 "memory bomb: peak within the limit"
	run --memory 32M -- sh -c 'sleep 50 & exec dd if=/dev/zero of=/tmp/x bs=64k'
	is "$(limit)" "disk 16777216" "a full /tmp is a full disk"
	run --memory 32M -- dd if=/dev/zero of=/dev/shm/x bs=64k
	is "$(limit)" "disk 16777216" "and so is a full /dev/shm"
	run --memory 32M --disk 16M -- sh -c '
		dd if=/dev/zero of=/tmp/x bs=64k 2>/dev/null
		awk "BEGIN { a = \"xxxxxxxx\"; while (1) a = a a }"; echo survived'
	ended oom 137 "all of the group ends, files in /tmp count"
	is "$(limit)" "memory 33554432" "files in /tmp count: limit"
	is "$(sandbox_groups)" "" "no group is left after that"
}

# What needs 48M and has 32M, and 128M of swap beside it.
swap()
{
	local grow='BEGIN { a = "xxxxxxxx"; for (i = 0; i < 22; i++) a = a a; print length(a) }'

	mkswap /dev/ram0 >/dev/null && swapon /dev/ram0
	is $? 0 "swap: this host has some"
	mkdir "$GROUPS_DIR/swapping"
	echo 32M >"$GROUPS_DIR/swapping/memory.max"
	(echo "$BASHPID" >"$GROUPS_DIR/swapping/cgroup.procs" && exec awk "$grow") >/dev/null
	is $? 0 "swap: any other group uses it"
	rmdir "$GROUPS_DIR/swapping"
	run --memory 32M -- awk "$grow"
	ended oom 137 "swap: a sandbox does not"
	is "$(limit)" "memory 33554432" "swap: limit"
	run --memory 128M -- awk "$grow"
	ended exited 0 "swap: nor needs it, with memory enough"
	swapoff /dev/ram0
}

processes()
{
	run --pids 8 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 2 & done; wait'
	is "$(limit)" "pids 8" "fork bomb: limit"
	like "$DOC" "can't fork|Resource temporarily unavailable" "fork bomb: fork fails"
	run --pids 8 -- sh -c 'for i in 1 2 3 4 5 6 7; do sleep 1 & done; wait'
	ended exited 0 "eight processes may be"
	is "$(field processes_peak)" 8 "and are counted, without a pids.peak"
	is "$(limit)" "" "and are no limit reached"
}

cpu()
{
	local used wall

	run --cpus 0.2 --time 4s --grace 100ms -- sh -c 'while :; do :; done'
	ended timeout 124 "time limit"
	is "$(limit)" "time 4000" "time limit: limit"
	used=$(whole cpu_ms) wall=$(whole wall_ms)
	between "$wall" 4000 8000 "time limit: wall clock in ms"
	between "$((used * 100 / wall))" 10 30 "a fifth of a processor, in percent"
	run --cpus 0.5 -- cat /proc/cpuinfo
	ended exited 0 "half a processor is shown as one"
	run --cpu-time 700ms -- sh -c 'while :; do :; done'
	ended killed 137 "CPU time"
	is "$(limit)" "cpu_time 700" "CPU time: limit"
	between "$(whole cpu_ms)" 700 2500 "CPU time: used in ms"
}

killed()
{
	local pid

	pinfold run -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_for 20 marked
	is $? 0 "kill -9: it runs"
	is "$(sandbox_groups | wc -l)" 1 "kill -9: in one group"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	wait_for 2 no_processes
	is "$(sandbox_processes)" "" "kill -9: no process after 2 s"
	kill_at_random 15 "kill -9"
	run -- true
	ended exited 0 "kill -9: the next run"
	is "$(sandbox_groups)" "" "kill -9: no group is left by it"
	is "$(ls /run/pinfold/live)" "" "kill -9: nothing is written down any more"
}

# Where PID 1 cannot do it any more, the group ends all that is in it.
stopped()
{
	local pid

	pinfold run -- sh -c "setsid sleep $MARK & exec sleep $MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_for 20 marked
	stop_sandbox
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	run -- true
	wait_for 2 no_processes
	is "$(sandbox_processes)" "" "stopped, then kill -9: the next run ends it"
	wait_for 2 no_groups
	run -- true
	is "$(sandbox_groups)" "" "stopped, then kill -9: no group is left"
	pinfold run --time 2s --grace 100ms -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_for 20 marked
	stop_sandbox
	wait "$pid"
	is $? 124 "stopped: its time is up all the same"
	wait_for 5 no_processes
	is "$(sandbox_processes)$(sandbox_groups)" "" "stopped: nothing is left"
}

waits_ready()
{
	[ "$(sandbox_groups | wc -l)" -ge 2 ]
}

frozen()
{
	grep -qx 'frozen 1' "$GROUPS_DIR"/pinfold-"$1"/cgroup.events
}

daemon()
{
	local daemon id

	export PINFOLD_SOCKET=$T/sock
	pinfold serve --warm 2 --warm-python 0 </dev/null 2>"$T/serve" &
	daemon=$!
	wait_for 20 waits_ready
	run --daemon -- sh -c 'echo hello; exit 7'
	ended exited 7 "daemon: a command runs"
	is "$(field start)" warm "daemon: in one that waited"
	is "$(held_by memory) $(held_by pids) $(held_by cpus)" "cgroup cgroup cgroup" \
		"daemon: what holds"
	run --daemon -- awk "$BOMB"
	ended oom 137 "daemon: memory bomb"
	run --daemon --pids 8 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 2 & done; wait'
	is "$(limit)" "pids 8" "daemon: fork bomb: limit"
	id=$(pinfold run --detach --memory 32M)
	like "$id" '^sbx' "daemon: one that lives"
	is "$(pinfold exec "$id" -- sh -c 'echo kept >x; cat x')" kept "daemon: a command in it"
	is "$(pinfold exec "$id" -- cat x)" kept "daemon: the next finds its files"
	pinfold exec "$id" -- awk "$BOMB"
	is $? 137 "daemon: memory bomb in it"
	is "$(pinfold exec "$id" -- cat x)" kept "daemon: ends the command, and nothing else"
	pinfold pause "$id"
	wait_for 5 frozen "$id"
	is $? 0 "daemon: pause freezes its group"
	pinfold resume "$id"
	is "$(pinfold exec "$id" -- echo on)" on "daemon: it goes on"
	pinfold exec "$id" -- awk "$BOMB" 2>/dev/null
	is $? 137 "daemon: memory bomb in it"
	pinfold kill "$id" 2>/dev/null # unless that was its end
	kill "$daemon"
	wait "$daemon"
	is $? 0 "daemon: it ends"
	is "$(sandbox_groups)" "" "daemon: no group is left"
	unset PINFOLD_SOCKET
}

levels()
{
	run --isolation landlock --limits best-effort -- true
	ended failed 125 "--isolation landlock is refused"
	like "$(field message)" 'needs Landlock ABI 6' "and says what is missing"
	run -- sh -c 'kill -9 1; echo $?; cat /proc/self/status'
	like "$DOC" 'Seccomp:\\t2' "strict without Landlock scopes: filter"
	run --user root -- id -u
	ended failed 125 "--user root is refused where /usr cannot be mapped"
	like "$(field message)" '/usr: its filesystem cannot' "and says why"
	run -- nc 203.0.113.5 443
	like "$DOC" '"what":"connect 203.0.113.5:443"' "a refused connection is told"
	run --pty -- tty
	like "$DOC" '/dev/pts/0' "terminal"
}

# as_user COMMAND: in a shell of the user `plain`.
as_user()
{
	DOC=$(su -s /bin/bash plain -c "cd /tmp; $1" 2>"$T/err" </dev/null)
	STATUS=$?
	NOTES=$(cat "$T/err")
}

ordinary_user()
{
	as_user 'pinfold run --json -- sh -c "id -u; echo hello"'
	ended exited 0 "user: a command runs"
	like "$DOC" '"text":"1000\\nhello' "user: as 1000 inside"
	is "$(held_by memory) $(held_by pids) $(held_by cpus)" "polled rlimit absent" "user: what holds"
	as_user 'pinfold run -- true'
	like "$NOTES" 'limits are best-effort: memory polled' "user: is told"
	as_user 'pinfold run --json --limits strict -- true'
	ended failed 125 "user: strict limits are refused"
	like "$(field message)" 'memory and cpus cannot be limited: no control group' "user: and why"
	as_user "pinfold run --json --memory 32M -- awk '$BOMB'"
	ended oom 137 "user: memory bomb"
	# Seen by looking now and then: it must last. This shell tries again for a while.
	as_user 'pinfold run --json --pids 8 -- bash -c "for i in {1..9}; do sleep 1 & done; wait"'
	is "$(limit)" "pids 8" "user: fork bomb"
	as_user 'pinfold doctor'
	like "$DOC" 'no +control groups +no control group with memory' "user: doctor"
	diag "$DOC"
}

delegated_limits()
{
	as_user 'pinfold run --json --limits strict -- true'
	ended exited 0 "delegated group"
	is "$NOTES" "" "delegated group: nothing to complain about"
	is "$(held_by memory) $(held_by pids) $(held_by cpus)" "cgroup cgroup cgroup" \
		"delegated group: what holds"
	as_user "pinfold run --json --memory 32M -- awk '$BOMB'"
	ended oom 137 "delegated group: memory bomb"
	is "$(limit)" "memory 33554432" "delegated group: memory bomb: limit"
	as_user 'pinfold run --json --pids 8 -- bash -c "for i in {1..9}; do sleep 1 & done; wait"'
	is "$(limit)" "pids 8" "delegated group: fork bomb: limit"
	as_user 'pinfold run --json --cpus 0.2 --time 4s --grace 1s -- sh -c "while :; do :; done"'
	is "$(limit)" "time 4000" "delegated group: time limit"
	between "$(($(whole cpu_ms) * 100 / ($(whole wall_ms) + 1)))" 10 30 \
		"delegated group: a fifth of a processor, in percent"
	is "$(sandbox_groups)" "" "delegated group: none is left"
}

delegated_kill()
{
	local pid

	su -s /bin/bash plain -c "cd /tmp; exec pinfold run -- sleep $MARK" </dev/null 2>"$T/err" &
	pid=$!
	wait_for 20 marked
	like "$(sandbox_groups)" "^$GROUPS_DIR/his/pinfold-" "delegated group: it is there"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	wait_for 2 no_processes
	is "$(sandbox_processes)" "" "delegated group: kill -9: no process after 2 s"
	as_user 'pinfold run --json -- true'
	is "$(sandbox_groups)" "" "delegated group: kill -9: none is left by the next run"
}

delegated_daemon()
{
	as_user 'export PINFOLD_SOCKET=/tmp/his.sock
		pinfold serve --warm 1 --warm-python 0 2>/dev/null & daemon=$!
		until [ -S /tmp/his.sock ]; do sleep 0.2; done
		pinfold run --daemon --limits strict --json -- true
		status=$?
		kill $daemon
		wait $daemon || status=99
		exit $status'
	ended exited 0 "delegated group: a daemon of his"
	is "$(held_by memory) $(held_by pids) $(held_by cpus)" "cgroup cgroup cgroup" \
		"delegated group: a daemon of his: what holds"
	is "$(sandbox_groups)" "" "delegated group: a daemon of his: none is left"
}

# Handed down as an administrator would: a group of his own, with him in a leaf of it.
delegated_user()
{
	mkdir "$GROUPS_DIR/his" "$GROUPS_DIR/his/shell"
	chown plain "$GROUPS_DIR"/his{,/cgroup.procs,/cgroup.subtree_control}
	echo $$ >"$GROUPS_DIR/his/shell/cgroup.procs"
	delegated_limits
	delegated_kill
	delegated_daemon
	echo $$ >"$GROUPS_DIR/cgroup.procs"
	as_user 'pinfold run --json --limits strict -- true'
	ended failed 125 "user outside of his delegated group: strict limits are refused"
}

# What gate and API confine themselves with has to do with an old Landlock, too.
egress()
{
	local server

	ifconfig lo up
	echo fetched >"$T/page"
	httpd -f -p 127.0.0.1:8000 -h "$T" &
	server=$!
	wait_for 10 nc -z 127.0.0.1 8000
	run --allow 127.0.0.1:8000 -- wget -qO- http://127.0.0.1:8000/page
	like "$DOC" '"text":"fetched\\n"' "egress: what the policy names is reached"
	like "$DOC" '"verdict":"allowed"' "egress: it is on record"
	run --allow 127.0.0.1:8001 -- wget -qO- http://127.0.0.1:8000/page
	ended exited 1 "egress: nothing else is"
	like "$DOC" '"verdict":"denied"' "egress: nor that unseen"
	as_user 'pinfold run --json --allow 127.0.0.1:8000 -- wget -qO- http://127.0.0.1:8000/page'
	like "$DOC" '"text":"fetched\\n"' "egress: for a user, too"
	kill "$server"
}

api()
{
	local daemon token text

	export PINFOLD_SOCKET=$T/sock
	token=$(pinfold token new)
	pinfold serve --warm 1 --warm-python 0 --listen 127.0.0.1:8787 </dev/null 2>"$T/serve" &
	daemon=$!
	wait_for 20 nc -z 127.0.0.1 8787
	text=$(wget -qO- --header "Authorization: Bearer $token" --header "Content-Type: application/json" \
		--post-data '{"command":["sh","-c","echo $((6*7))"]}' http://127.0.0.1:8787/v1/runs)
	like "$text" '"text":"42\\n"' "api: a run over HTTP"
	diag "$(head -c 600 "$T/serve")"
	kill "$daemon"
	wait "$daemon"
	is $? 0 "api: it ends"
	unset PINFOLD_SOCKET
}

record()
{
	like "$(pinfold audit --json)" '"kind":"run' "ledger: runs are on record"
	pinfold verify >"$T/verify" 2>&1
	is $? 0 "ledger: it verifies"
	diag "$(cat "$T/verify")"
}

host
plain_run
egress
memory
swap
processes
cpu
killed
stopped
daemon
api
record
levels
ordinary_user
delegated_user
is "$(sandbox_processes)" "" "no process is left"
rm -rf "$T"
done_testing
