#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sandboxes that live, over HTTP: their life, commands and background processes.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	two_tenants 02-sandboxes.py
}

run_checks
