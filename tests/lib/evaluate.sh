# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Expressions over JSON documents, answered by one interpreter for the whole test (evaluate.py).

EVALUATE=$(dirname "${BASH_SOURCE[0]}")/evaluate.py
EVALUATE_TO=

# The answers come back by a pipe without a name. Not a coprocess: those are out of a subshell's reach.
evaluate_open()
{
	[ -z "$EVALUATE_TO" ] || return 0
	exec {EVALUATE_FROM}<> <(:)
	exec {EVALUATE_TO}> >(exec /usr/bin/python3 -I "$EVALUATE" >&"$EVALUATE_FROM" 2>/dev/null {LIVE_FD}>&-)
}

# evaluate KIND FILE EXPRESSION [ARG...]: prints its value; fails when it has none.
evaluate()
{
	local failed value

	evaluate_open
	printf '%s\0' $(($# + 1)) "$1" "$2" "$EVIDENCE/json.log" "${@:3}" >&"$EVALUATE_TO"
	IFS= read -rt 60 -d '' -u "$EVALUATE_FROM" failed && IFS= read -rt 60 -d '' -u "$EVALUATE_FROM" value &&
		printf %s "$value" && [ "$failed" = 0 ]
}
