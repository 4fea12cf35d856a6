#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No route and no name of a tool stands anywhere in src but in the table of operations.
cd "$(dirname "$0")/../.." || exit 1
exec /usr/bin/python3 -I tests/api/13-one-table.py src
