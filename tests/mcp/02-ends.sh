#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# However pinfold mcp ends, nothing that it started is left.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/mcp.sh"

checks()
{
	play ends
	sed -i "/^signal 9/d" "$EVIDENCE/report" # that was us
	check "nothing else is left" nothing_left
}

run_checks
