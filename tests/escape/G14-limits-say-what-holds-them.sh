#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroup, rlimits
#
# A limit that is only promised is worse than none: the caller relies on it. So the result says for
# each limit what holds it, and the words are compared here with what the kernel does. Where a limit
# cannot be held, --limits strict refuses before anything starts, and best-effort says so.
. "$(dirname "$0")/../lib/escape.sh"

claim "G14 a limit that is not held is never claimed"

held()
{
	json 'd["limits"][a[0]]["held_by"]' "$1"
}

# The whole of a line of /proc/self/limits, as the command sees it: soft and hard.
rlimit_inside()
{
	sed -n "s/^Max $1 *\([^ ]*\) *\([^ ]*\) .*/\1 \2/p" "$OUT"
}

# strict must refuse exactly where the words admit that something is not held.
strict_refuses()
{
	inside --limits strict --memory 64M --pids 16 --disk 8M -- echo it-ran
	if [ "$1" = cgroup ]; then
		ran
		return
	fi
	refused "--limits strict without a control group" unsupported
	absent "something ran" it-ran
}

# The control groups of the run as root sees them from outside, while it lives.
group_values()
{
	local dir file

	while IFS= read -r dir; do
		for file in memory.limit_in_bytes memory.max pids.max cpu.cfs_quota_us cpu.max; do
			[ -r "$dir/$file" ] && echo "$file $(cat "$dir/$file")"
		done
	done < <(find /sys/fs/cgroup -type d -name "*$1*" 2>/dev/null)
}

claimed_by_group()
{
	local values id

	[ "$EUID" = 0 ] || return 0
	inside_start GROUP --memory 64M --pids 16 --cpus 0.5 --disk 8M -- sh -c 'cat /etc/hostname
		mkfifo /tmp/f; read x <>/tmp/f'
	wait_for 5 test -s "$GROUP_OUT"
	id=$(head -1 "$GROUP_OUT")
	values=$(group_values "${id:-none}")
	holds "memory is in a group: $values" grep -qE '^memory\.(limit_in_bytes|max) 67108864$' \
		<<<"$values"
	holds "pids are in a group: $values" grep -qE '^pids\.max 17$' <<<"$values"
	holds "cpus are in a group: $values" \
		grep -qE '^cpu\.(cfs_quota_us 50000|max 50000 100000)$' <<<"$values"
	sandbox_end GROUP
}

attack()
{
	local group=polled

	inside_json --limits best-effort --memory 64M --pids 16 --disk 8M --nofile 64 -- sh -c \
		'cat /proc/self/limits; stat -fc "disk %s %b" /home/user'
	ran
	[ "$(held memory)" = cgroup ] && group=cgroup
	[ "$MODE" = R ] && same "memory, for root" "$(held memory)" cgroup
	if [ $group = cgroup ]; then
		same "words" "$(held pids) $(held cpus)" "cgroup cgroup"
	else
		same "words" "$(held memory) $(held pids) $(held cpus)" "polled rlimit absent"
		holds "a note says that limits are weak" grep -q best-effort "$EVIDENCE/$CALLS.err"
	fi
	same "words" "$(held disk) $(held nofile) $(held time)" "tmpfs rlimit timer"
	same "nofile, held by rlimit" "$(rlimit_inside 'open files')" "64 64"
	[ $group = polled ] && same "pids, held by rlimit" "$(rlimit_inside processes)" "17 17"
	holds "disk, held by tmpfs: $(grep '^disk' "$OUT")" awk '/^disk/ {n = $2 * $3}
		END {exit !(n >= 8388608 && n <= 8388608 + 1048576)}' "$OUT"
	[ $group = cgroup ] && claimed_by_group
	strict_refuses $group
}

run_case
