#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# H05 with 1,000 rounds in each mode: three ways to end a storm of forks, at two levels.
export PINFOLD_TEST_ROUNDS=${PINFOLD_TEST_ROUNDS:-167}
exec "$(dirname "$0")/../escape/H05-fork-while-killed.sh"
