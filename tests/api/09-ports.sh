#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ports inside, forwarded to URLs of the daemon: HTTP and WebSockets.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	two_tenants 09-ports.py
}

run_checks
