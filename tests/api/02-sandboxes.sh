#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sandboxes that live, over HTTP: their life, commands and background processes.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	serve_start
	token --tenant one
	API_ENV=("TOKEN_ONE=$SECRET")
	token --tenant two
	API_ENV+=("TOKEN_TWO=$SECRET")
	api_run 02-sandboxes.py
	serve_stop
}

run_checks
