#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages for agents: tools of MCP, in sandboxes that live.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/mcp.sh"

checks()
{
	index || return
	play packages
}

run_deps
