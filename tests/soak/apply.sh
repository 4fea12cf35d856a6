#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 200 kills of who writes a workspace's changes into a directory, in each mode.
export KILLS=${KILLS:-200}
exec "$(dirname "$0")/../workspace/20-review-apply.sh"
