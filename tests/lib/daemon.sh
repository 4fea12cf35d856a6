# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A daemon of the test's own, for tests/daemon. After tests/lib/cli.sh: runs find its socket by
# themselves.

# daemon_start [OPTION...]: sets DAEMON (the warden's pid) once it serves. No node waits, unless told.
daemon_start()
{
	local seconds=$CALL_SECONDS

	set -- --warm-node 0 "$@"
	CALL_SECONDS=300
	call_files serve "$@"
	DAEMON_LOG=$ERR
	rm -f "$EVIDENCE/daemon.pid"
	call_argv -p "$EVIDENCE/daemon.pid"
	CALL_SECONDS=$seconds
	"${CALL[@]}" serve "$@" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	DAEMON_CALL=$!
	BACKGROUND+=("$!")
	wait_for 40 grep -qs 'serving on' "$DAEMON_LOG" || not_ok "the daemon starts [$MODE]"
	wait_for 40 test -s "$EVIDENCE/daemon.pid" # the launcher may be late
	DAEMON=$(cat "$EVIDENCE/daemon.pid" 2>/dev/null)
}

# daemon_stop: SIGTERM; sets RC to its status.
daemon_stop()
{
	kill "$DAEMON" 2>/dev/null
	wait "$DAEMON_CALL" 2>/dev/null
	RC=$?
	ERR=$DAEMON_LOG
}

# children_of PID
children_of()
{
	cat "/proc/$1/task/"*/children 2>/dev/null
}

front_pid()
{
	pgrep -P "$DAEMON" -x pinfold-front
}

# guests: the init of every sandbox of the daemon, waiting or running.
guests()
{
	pgrep -P "$DAEMON" -x pinfold
}

waiting_is()
{
	[ "$(guests | wc -w)" = "$1" ]
}

# waited LANG ARG...: a run in an interpreter that waits; WARM sandboxes are there again in a moment. Which of
# them are still being made cannot be seen, and at low priority: who asks again and again would be in their way.
waited()
{
	local tries=0

	pause_open
	while [ $((tries++)) -lt 50 ]; do
		inside_json --daemon "${BEST[@]}" --lang "$@"
		[ "$(json 'd["start"]')" = interpreter ] && return
		wait_for 5 waiting_beyond $((WARM - 1)) # more, if one was missing
		read -rt "$((tries / 4)).$((25 * (tries % 4)))" -u "$PAUSE_FD"
	done
}

# A run in the daemon where limits may be weaker: an ordinary user has no control group here.
BEST=()
daemon_mode()
{
	BEST=()
	[ "$MODE" = R ] || BEST=(--limits best-effort)
}

# What dead sandboxes of this mode's user have on the host: groups without a process, entries of the
# journal that nobody holds. Other tests have live ones.
left_on_host()
{
	local path places=("$M/run")

	[ "$MODE" = U ] || places+=(/run/pinfold/live)
	for path in $(find /sys/fs/cgroup -type d -name 'pinfold-sbx*' -user "$USER_ID" 2>/dev/null); do
		[ -e "$path/cgroup.procs" ] && [ -z "$(cat "$path/cgroup.procs" 2>/dev/null)" ] && echo "$path"
	done
	for path in $(find "${places[@]}" -type f -path '*/live/*' 2>/dev/null); do
		flock -n "$path" true 2>/dev/null && echo "$path"
	done
	find "$M/run" "$M/home" -mindepth 1 -name 'sbx*' 2>/dev/null
}

# nothing_left: what is there now is gone in a moment; other tests leave things, too, and make more
# meanwhile.
nothing_left()
{
	local name

	for name in $(left_on_host); do
		wait_for 40 is_gone "$name" || { echo "still there: $name"; return 1; }
	done
}

is_gone()
{
	[ ! -e "$1" ] || { [ -d "$1" ] && [ -n "$(cat "$1/cgroup.procs" 2>/dev/null)" ]; } ||
		{ [ -f "$1" ] && ! flock -n "$1" true 2>/dev/null; }
}

# all_at_once COUNT ARG...: so many runs that reach the warden together: front does not listen until
# all have called. Sets CROWD, their pids; crowd_wait waits for them.
all_at_once()
{
	local count=$1 front i

	shift
	front=$(front_pid) || return
	CROWD=()
	call_argv
	kill -STOP "$front"
	for ((i = 0; i < count; i++)); do
		"${CALL[@]}" run "${BEST[@]}" --daemon --stdin /dev/null "$@" \
			>"$EVIDENCE/crowd.$i.out" 2>"$EVIDENCE/crowd.$i.err" {LIVE_FD}>&- &
		CROWD+=("$!")
	done
	wait_for 20 connected_are "$count"
	kill -CONT "$front"
}

# connected_are COUNT: callers on the daemon's socket, taken or not.
connected_are()
{
	[ "$(grep -c "$M/run/daemon.sock" /proc/net/unix)" -gt "$1" ]
}

crowd_wait()
{
	CROWD_STATUS=()
	local pid

	for pid in "${CROWD[@]}"; do
		wait "$pid"
		CROWD_STATUS+=("$?")
	done
}

# waiting_beyond COUNT
waiting_beyond()
{
	[ "$(guests | wc -w)" -gt "$1" ]
}

# call_by UID: the next calls are this user's, who has a data directory of his own; CALL_WRAP=() ends it.
call_by()
{
	local home=$M/home-$1

	install -d -m 0700 -o "$1" -g "$1" "$home"
	CALL_WRAP=(/usr/bin/setpriv --reuid "$1" --regid "$1" --clear-groups /usr/bin/env "PINFOLD_HOME=$home")
}
