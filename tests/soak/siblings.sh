#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 200 Pythons that waited, no two alike.
export PINFOLD_TEST_SIBLINGS=${PINFOLD_TEST_SIBLINGS:-200}
exec "$(dirname "$0")/../fork/01-siblings.sh"
