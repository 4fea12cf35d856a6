#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 300 children of one snapshot, in each mode.
export PINFOLD_TEST_FORKS=${PINFOLD_TEST_FORKS:-300}
exec "$(dirname "$0")/../workspace/02-history.sh"
