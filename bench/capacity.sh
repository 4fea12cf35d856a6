# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# How much a daemon can do and hold: sandboxes a second, memory of one that waits, processor time of
# many that wait. Read by bench/run, which has daemon_start and daemon_stop, the list of contenders
# and the results.
# From bench/run: DIR, WHO, MARK, BECOME, PROJECT, RATE_SECONDS, WAITING, IDLE, PYTHONS.
# shellcheck disable=SC2086,SC2154

table_rate()
{
	rate_bundles
	daemon_start --warm 4 --warm-python 0
	LIST=
	add daemon /usr/bin/true
	add bubblewrap "${BWRAP:+$BWRAP /usr/bin/true}"
	add bubblewrap-small "${BWRAP_SMALL:+$BWRAP_SMALL /usr/bin/true}"
	add runc "${RUNC:+$(command -v runc) --root runc run --bundle bundle.%c $CONTAINER.%c}"
	"$DIR/rate" $MARK $BECOME -s "$RATE_SECONDS" -o "$DIR/results" \
		-t "Sandboxes a second, as $WHO: two callers, $RATE_SECONDS seconds" -- $LIST
	daemon_stop
}

# A bundle for each caller: two containers cannot share a name or a control group.
rate_bundles()
{
	[ -n "$RUNC" ] || return 0
	for _caller in 0 1; do
		cp -a bundle "bundle.$_caller"
		sed -i "s|\"/$CONTAINER\"|\"/$CONTAINER.$_caller\"|" "bundle.$_caller/config.json"
	done
}

# waiting: how many sandboxes wait in the daemon. Of its children they alone have the guest's name; one of
# them is where Pythons are forked from, if they are.
waiting()
{
	pgrep -c -P "$DAEMON_PID" -x pinfold
}

# fill COUNT OPTION...: a daemon in which that many wait, or as many as come in two minutes; sets
# FILLED. What is not reached is noted.
fill()
{
	_count=$1
	shift
	daemon_start "$@"
	_end=$(($(date +%s) + 120))
	until FILLED=$(waiting) && [ "$FILLED" -ge "$_count" ]; do
		[ "$(date +%s)" -lt $_end ] || break
		sleep 0.5
	done
	sleep 3 # until the last of them sleeps, too
	[ "$FILLED" -ge "$_count" ] ||
		skip "$_count that wait ($*)" "only $FILLED do; $(grep -v serving "$HOME/daemon.log" |
			tail -n 1 | cut -c1-160)"
}

# free_kib: memory that is free once the kernel dropped what it can make again. Without root it cannot
# be told to: what it says would be available, then.
free_kib()
{
	if [ "$(id -u)" = 0 ]; then
		sync
		echo 3 >/proc/sys/vm/drop_caches
		sed -n 's/^MemFree: *\([0-9]*\) kB/\1/p' /proc/meminfo
	else
		sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
	fi
}

capacity_line()
{
	if [ -n "$MARK" ]; then
		printf '| %s | %s | %s |\n' "$@"
	else
		printf '%-52s%12s%12s\n' "$@"
	fi
}

# memory_row NAME COUNT OPTION [OPTION...]: what one more takes, all of it: what is free with a fifth of
# COUNT that wait against what is free with all of them, so that what the daemon itself takes does not count.
# The first OPTION is the one that says how many.
memory_row()
{
	_name=$1 _all=$2 _option=$3
	shift 3
	fill $((_all / 5)) "$_option" $((_all / 5)) "$@"
	_few=$FILLED
	_before=$(free_kib)
	daemon_stop
	fill "$_all" "$_option" "$_all" "$@"
	_kib=$(((_before - $(free_kib)) / (FILLED > _few ? FILLED - _few : 1)))
	daemon_stop
	# Others on this machine took or gave back more than all of ours together.
	if [ "$_kib" -le 0 ]; then
		skip "$_name, as $WHO" "the machine is not quiet"
		return 0
	fi
	printf 'capacity, %s\t%s\t%s\n' "$WHO" "$_name" "$_kib" >>"$DIR/results"
	capacity_line "$_name, KiB" "$FILLED" "$_kib"
}

# runtime_ns: processor time of the daemon and of all in it, in nanoseconds.
runtime_ns()
{
	for _pid in "$DAEMON_PID" $(cat "/proc/$DAEMON_PID/task/$DAEMON_PID/children"); do
		cat "/proc/$_pid/schedstat"
	done 2>/dev/null | awk '{sum += $1} END {printf "%.0f", sum}'
}

# idle_percent NAME KEY: processor time over 30 seconds, of a daemon in which FILLED do nothing.
idle_percent()
{
	_ns=$(runtime_ns)
	sleep 30
	_percent=$(awk -v a="$_ns" -v b="$(runtime_ns)" 'BEGIN {printf "%.3f", (b - a) / 3e8}')
	daemon_stop
	printf 'capacity, %s\t%s\t%s\n' "$WHO" "$2" "$_percent" >>"$DIR/results"
	capacity_line "$1, % of one" "$FILLED" "$_percent"
}

idle_row()
{
	fill "$IDLE" --warm "$IDLE" --warm-python 0
	idle_percent "processor time over 30 s" idle
	fill 4 --max "$IDLE" --warm 4 --warm-python 0
	for FILLED in $(seq $((IDLE / 5))); do
		$AS ./pinfold run --detach --limits best-effort --time 1h >/dev/null || break
	done
	sleep 3 # until the last of them is known to be empty
	idle_percent "the same with so many that live" idle-live
}

# A small run while another user of the daemon does his worst: computes in nearly as many processes as
# he may have, and forks without end.
BOMB='for i in $(seq 100); do sh -c "while :; do :; done" & done; while :; do (:); done'

table_neighbour()
{
	daemon_start --warm 4 --warm-python 0
	"$DIR/daemon" $MARK $BECOME -n "$SAMPLES" -o "$DIR/results" -t "Daemon alone, as $WHO"
	_id=$($AS ./pinfold run --detach --limits best-effort --time 1h -- sh -c "$BOMB")
	"$DIR/daemon" $MARK $BECOME -n "$SAMPLES" -o "$DIR/results" \
		-t "Daemon beside a bomb, as $WHO"
	$AS ./pinfold kill "$_id"
	daemon_stop
}

# As many as live here take more descriptors than a process is usually allowed (the daemon counts on 12
# for each, and lets runs have half of all); root has ranges of ids for 4000.
table_crowd()
{
	_crowd=$CROWD
	[ "$WHO" != root ] || [ "$CROWD" -le 3900 ] || _crowd=3900
	MANY_FILES="prlimit --nofile=200000"
	if ! $MANY_FILES true 2>/dev/null; then
		MANY_FILES=
		_most=$((($(prlimit --noheadings -o HARD --nofile) - 32) / 24 - 20))
		[ "$_crowd" -le "$_most" ] || _crowd=$_most
	fi
	[ "$_crowd" = "$CROWD" ] || skip "$CROWD that live, as $WHO" "$_crowd are as many as may"
	CROWD_MADE=$_crowd
	daemon_start --max $((_crowd + 10)) --warm 4 --warm-python 0
	"$DIR/crowd" $MARK $BECOME -l "$_crowd" -n "$SAMPLES" -o "$DIR/results" \
		-t "One more that lives, as $WHO" || skip "$_crowd that live" "$(tail -n 1 "$HOME/daemon.log")"
	daemon_stop
	MANY_FILES=
}

table_capacity()
{
	heading "Sandboxes that wait, as $WHO" '###'
	capacity_line '' waiting measured
	[ -z "$MARK" ] || capacity_line --- --: --:
	memory_row "memory of one" "$WAITING" --warm --warm-python 0
	if [ -x /usr/bin/python3 ]; then
		memory_row "memory of one with a Python" "$PYTHONS" --warm-python --warm 0
	fi
	idle_row
	echo
}
