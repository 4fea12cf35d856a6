#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 1,000 steps of random sequences in workspaces, in each mode. PINFOLD_TEST_SEED repeats those of an earlier run.
export PINFOLD_TEST_STEPS=${PINFOLD_TEST_STEPS:-1000}
exec "$(dirname "$0")/../workspace/05-model.sh"
