#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files of a sandbox over HTTP: read, written, listed, watched, whatever they are called.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	two_tenants 03-files.py
}

run_checks
