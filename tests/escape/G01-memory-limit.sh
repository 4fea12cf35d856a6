#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroup
#
# A program that takes memory as fast as it can is stopped at its limit, alone or with helpers, and
# the result says so. Without control groups the limit is looked at now and then: there may be more
# for a moment, and who is looked at are all processes, whoever started them.
. "$(dirname "$0")/../lib/escape.sh"

claim "G01 memory is limited for all processes together"

LIMIT_MIB=64

taken()
{
	grep -ac '^took' "$OUT"
}

# oom MOST_MIB WHAT OPTION... -- COMMAND...: the memory limit ended it, and it never had more.
oom()
{
	local most=$1 what=$2

	shift 2
	inside_json --memory ${LIMIT_MIB}M --time 20s --dir "$BIN" "$@"
	ran 137
	same "$what: how it ended" "$(json 'd["status"], d["limit"]["kind"], d["limit"]["value"]')" \
		"[\"oom\", \"memory\", $((LIMIT_MIB << 20))]"
	diag "$MODE, $what: took $(taken) MiB of $LIMIT_MIB in $(json 'd["usage"]["wall_ms"]') ms"
	# What one had that was killed first is counted here, too.
	holds "$what: took $(taken) MiB" [ "$(taken)" -le "$((most + LIMIT_MIB))" ]
	same "$what: what is told fits" \
		"$(json '(32 << 20) < d["usage"]["memory_peak_bytes"] <= int(a[0]) << 20' "$most")" true
}

attack()
{
	local most=$LIMIT_MIB

	attack_build G02-all-memory-counts.c
	# Between two looks, and bounded by rlimits.
	[ "$MODE" = U ] && most=384
	oom "$most" "one process" -- "$ATTACK" anon 1024
	oom "$most" "four processes" -- sh -c \
		"for i in 1 2 3 4; do $ATTACK anon 256 & done; wait"
	oom "$most" "daemons" -- sh -c "mkfifo /tmp/f
		for i in 1 2 3 4; do setsid sh -c 'setsid $ATTACK anon 256 &' & done; read x <>/tmp/f"
	oom "$most" "started by a thread" -- python3 -c "
import subprocess, threading
t = threading.Thread(target=lambda: subprocess.run(['$ATTACK', 'anon', '1024']))
t.start(); t.join()"

	# What is within the limit runs: memory that processes share counts once.
	inside_json --memory 128M -- python3 -c '
import os
data = bytearray(40 << 20)
pids = []
for i in range(5):
    pid = os.fork()
    if pid == 0:
        sum(data[::4096]); r, w = os.pipe(); os.read(r, 1) if os.fork() == 0 else os._exit(0)
    pids.append(pid)
for pid in pids: os.waitpid(pid, 0)
import time
time.sleep(0.3)
print("done")'
	ran
	same "shared memory counts once" "$(json 'd["status"], d["limit"]')" '["exited", null]'
}

run_case
