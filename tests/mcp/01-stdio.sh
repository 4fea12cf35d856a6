#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: transfer-beneath, mcp-state
#
# pinfold mcp on standard input and output: every tool, by a client that speaks the protocol.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/mcp.sh"

checks()
{
	play commands
	play lines
	play sessions
	play processes
	play files
	play boxes
	play snapshots
	play links --resource-links
	mkdir -p "$W/top/sub"
	echo good >"$W/top/good"
	echo outside >"$W/outside"
	ln -s ../outside "$W/top/out"
	ln -s .. "$W/top/up"
	mkfifo "$W/top/fifo"
	own "$W/top" "$W/top/sub" "$W/top/good" "$W/outside"
	play transfer --transfer-dir "$W/top"
	play asking --ask --transfer-dir "$W/top"
	play network
	printf 'allow: [a.test, "*.b.test"]\ndeny: [c.test]\n' >"$W/ceiling.yaml"
	own "$W/ceiling.yaml"
	CALL_ENV+=("PINFOLD_CEILING=$W/ceiling.yaml")
	play ceiling
	CALL_ENV=("${CALL_ENV[@]:0:${#CALL_ENV[@]}-1}")
	play hostile
}

run_checks
