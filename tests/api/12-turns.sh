#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tenants take turns: who fills the queue does not keep another waiting.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	serve_start --max 2 --queue 32 --warm-python 0
	token --tenant one
	API_ENV=("TOKEN_ONE=$SECRET")
	token --tenant two
	API_ENV+=("TOKEN_TWO=$SECRET")
	api_run 12-turns.py
	daemon_stop
}

run_checks
