#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 500 kills at random moments of random sequences in workspaces, in each mode.
export PINFOLD_TEST_KILLS=${PINFOLD_TEST_KILLS:-500}
exec "$(dirname "$0")/../workspace/06-kill.sh"
