#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 500 kills each of front, of guests and of the warden under load, in each mode. PINFOLD_TEST_SEED repeats
# the moments of an earlier run.
export PINFOLD_TEST_ROUNDS=${PINFOLD_TEST_ROUNDS:-500} PINFOLD_TEST_PATIENCE=${PINFOLD_TEST_PATIENCE:-900}
exec "$(dirname "$0")/../daemon/02-kill.sh"
