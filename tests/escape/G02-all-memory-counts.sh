#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroup, disk, socket-memory, seccomp
#
# Memory has many names: pages of files in memory, of memfds, of shared segments that nobody maps,
# tables for pages, what lies in pipes and sockets. All of it is inside the one limit. Measured on a
# runtime with a limit: inodes of tmpfs cost 132 MB that were charged, disk nobody stopped.
. "$(dirname "$0")/../lib/escape.sh"

claim "G02 every kind of memory is inside the limit"

LIMIT_MIB=64

available_mib()
{
	awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo
}

# kind NAME MOST_MIB: tries to take four times the limit.
kind()
{
	local name=$1 most=$2 took before lost

	before=$(available_mib)
	inside --memory ${LIMIT_MIB}M --pids 16 --time 20s --dir "$BIN" -- \
		"$ATTACK" "$name" $((4 * LIMIT_MIB))
	lost=$((before - $(available_mib)))
	took=$(grep -ac '^took' "$OUT")
	diag "$MODE, $name: took $took MiB, status $RC, $(grep -avE '^took' "$OUT" | tail -1)"
	checked
	[ "$RC" = 0 ] || [ "$RC" = 137 ] || fell CRASH "$name ended with $RC: $(head -c 300 "$ERR")"
	holds "$name: took $took MiB" [ "$took" -le "$most" ]
	# Others take and give memory meanwhile: only what is far off counts.
	holds "$name: the host lost $lost MiB for good" [ "$lost" -le 1024 ]
}

attack()
{
	local name most=$LIMIT_MIB disk=$((LIMIT_MIB / 2))

	attack_build
	for name in tmp dev-shm home unlinked; do
		kind "$name" "$disk"
	done
	kind mqueue 1
	# Without control groups the limit is looked at now and then.
	inside --dir "$BIN" -- "$ATTACK" huge 1
	ran
	shut huge huge-file huge-segment
	[ "$MODE" = U ] && most=$((LIMIT_MIB * 3))
	for name in shared pipes; do
		kind "$name" "$most"
	done
	# Nobody but a control group counts what no process maps: docs/limits.md says so of
	# "polled".
	[ "$MODE" = U ] && return
	for name in memfd sysv tables sockets tcp udp; do
		kind "$name" "$most"
	done
}

run_case
