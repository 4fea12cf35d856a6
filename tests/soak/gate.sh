#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 300 kills of the gate under load in each mode. PINFOLD_TEST_SEED repeats the moments of an earlier run.
export PINFOLD_TEST_ROUNDS=${PINFOLD_TEST_ROUNDS:-300}
exec "$(dirname "$0")/../egress/05-gate.sh"
