#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: landlock-quiet
#
# What Landlock refuses the kernel writes into the audit log, where that is on, and domains that a program makes
# for itself may ask for it: a loop fills the host's log, and what others do is dropped from its queue.
. "$(dirname "$0")/../lib/escape.sh"

claim "G17 what Landlock refuses inside is not in the host's audit log"

attack()
{
	local log=$EVIDENCE/audit auditor feed

	[ "$EUID" = 0 ] || { skip_mode "only root can read the audit log"; return; }
	attack_build
	mkfifo "$EVIDENCE/feed"
	exec {feed}<>"$EVIDENCE/feed"
	: >"$log"
	/usr/bin/python3 -I "$CASE_STEM.py" "${CASE_STEM##*/}" <"$EVIDENCE/feed" >"$log" {feed}>&- {LIVE_FD}>&- &
	auditor=$!
	wait_for 20 grep -q . "$log"
	if grep -q none "$log"; then
		wait "$auditor"
		skip_mode "there is no audit log here"
		return
	fi
	inside --dir "$BIN" -- sh -c "$ATTACK; true"
	exec {feed}>&-
	wait "$auditor"
	ran
	KIND=WRITE holds "refused calls: $(tail -1 "$log") records" [ "$(tail -1 "$log")" = 0 ]
}

run_case
