#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gzip and zstd: answers for who takes them, bodies that come so, and bombs.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

checks()
{
	two_tenants 09-coding.py
}

run_checks
