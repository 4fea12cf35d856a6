#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random sequences of what can happen to workspaces, against plain directories kept beside them
# (model.py). PINFOLD_TEST_STEPS: how many; PINFOLD_TEST_SEED: which.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

SEED=${PINFOLD_TEST_SEED:-20261116}
STEPS=${PINFOLD_TEST_STEPS:-120}

checks()
{
	local as=() environment=(PATH=/usr/bin:/bin "HOME=$USER_HOME" "PINFOLD_HOME=$M/home" "PINFOLD_SOCKET=$M/none")

	echo "# seed $SEED, $STEPS steps; PINFOLD_TEST_SEED and PINFOLD_TEST_STEPS choose others"
	if [ "$MODE" = U ]; then
		environment+=("XDG_RUNTIME_DIR=$M/run")
		[ "$EUID" = 0 ] && as=(--uid "$USER_ID" --gid "$(id -g "$USER_NAME")")
	fi
	mkdir "$M/model"
	call_files model
	env -i "${environment[@]}" /usr/bin/python3 "$TEST_DIR/model.py" --pinfold "$PINFOLD_COPY" --dir "$M/model" \
		--steps "$STEPS" --seed "$SEED" "${as[@]}" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
	[ "$RC" = 0 ] || diag "$(cat "$OUT")"
	exits 0 "the model and the workspaces agree"
	check "nothing is left" wait_for 10 settled
	check "no layer either" test -z "$(ls "$M/home/layers")"
}

run_checks
