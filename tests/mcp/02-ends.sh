#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# However pinfold mcp ends, nothing that it started is left.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/mcp.sh"

no_directory()
{
	! ls -d "$M"/own/pinfold-own.* 2>/dev/null | grep -q .
}

checks()
{
	mkdir -p "$M/own"
	own "$M/own"
	CALL_ENV=(TMPDIR="$M/own")
	play ends
	forget_report '^signal 9' # that was us
	check "no directory is left" wait_for 15 no_directory
	check "nothing else either" nothing_left
}

run_checks
