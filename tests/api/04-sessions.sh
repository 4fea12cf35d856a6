#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Interpreters that stay, over HTTP.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	two_tenants 04-sessions.py
}

run_checks
