#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: pidns
#
# The arguments of a process are readable for all who see it, and often hold a password. Inside
# there are init, the command and its children, with small numbers of their own.
. "$(dirname "$0")/../lib/escape.sh"

claim "C03 of processes only those of the sandbox show"

# Numbers in /proc, by name and by guessing: hidden is not absent. Threads have hidden directories.
# shellcheck disable=SC2016
LOOK='echo "$$"; ls /proc | grep -c "^[0-9]"
	i=1
	while [ $i -le 300 ]; do
		[ -e /proc/$i ] && echo "pid $i"
		i=$((i + 1))
	done
	for i do
		[ $i -gt 10 ] && [ -e /proc/$i ] && echo "host $i" && tr "\0" " " </proc/$i/cmdline
	done
	cat /proc/*/cmdline /proc/*/task/*/comm | tr "\0\n" "  "'

attack()
{
	neighbour_start
	# shellcheck disable=SC2046
	inside -- sh -c "$LOOK" sh $(sandbox_pids NEIGHBOUR) "$NEIGHBOUR_PID" "$$" "$PPID"
	ran
	same "the number of the command" "$(sed -n 1p "$OUT")" 2
	# init, the shell, ls and grep
	holds "no more processes than the sandbox's own" test "$(sed -n 2p "$OUT")" -le 4
	same "processes that answer to a number" \
		"$(sed -n 's/^pid //p' "$OUT" | paste -sd ' ')" "1 2"
	KIND=READ same "processes of the host" "$(grep -a '^host ' "$OUT")" ""
	absent "the neighbour's argument" "$NEIGHBOUR_VALUE"
	absent "the harness" pinfold-case
	neighbour_stop
	if [ -x /usr/bin/ps ]; then
		inside -- ps -e -o pid=,comm=
		ran
		KIND=READ same "what ps shows" \
			"$(awk '{print $2}' "$OUT" | paste -sd ' ')" "pinfold ps"
	fi
}

run_case
