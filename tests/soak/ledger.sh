#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kills of who appends to the ledger, 500 in each mode. PINFOLD_TEST_SEED repeats the moments of an earlier run.
export PINFOLD_TEST_KILLS=${PINFOLD_TEST_KILLS:-500}
exec "$(dirname "$0")/../ledger/03-kill.sh"
