#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# H02 with 500 kills in each mode. PINFOLD_TEST_SEED repeats the moments of an earlier run.
export PINFOLD_TEST_KILLS=${PINFOLD_TEST_KILLS:-500}
exec "$(dirname "$0")/../escape/H02-launcher-killed.sh"
