#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Terminals: a background process followed and typed to over a WebSocket, or by events.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	two_tenants 08-terminals.py
}

run_checks
