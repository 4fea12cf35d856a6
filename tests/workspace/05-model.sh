#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random sequences of what can happen to workspaces, against plain directories kept beside them
# (model.py). PINFOLD_TEST_STEPS: how many; PINFOLD_TEST_SEED: which.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

SEED=${PINFOLD_TEST_SEED:-20261116}
STEPS=${PINFOLD_TEST_STEPS:-100}

checks()
{
	echo "# seed $SEED, $STEPS steps; PINFOLD_TEST_SEED and PINFOLD_TEST_STEPS choose others"
	drive model.py --steps "$STEPS" --seed "$SEED"
	exits 0 "the model and the workspaces agree"
	check "nothing is left" wait_for 40 settled
	check "no layer either" test -z "$(ls "$M/home/layers")"
}

run_checks
