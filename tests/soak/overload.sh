#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ten times as many requests as the machine can serve, for a minute (PINFOLD_TEST_SECONDS): everybody
# gets a result or busy, and it recovers. How fast those were is printed, not judged; bench/overload.c
# says what the columns are.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# Where the ordinary user can execute it.
build()
{
	GENERATOR=$T/overload
	find_library
	[ -x "$GENERATOR" ] || cc -std=gnu17 -O2 -D_GNU_SOURCE -I"$PROJECT_DIR/include" -I"$PROJECT_DIR/src" \
		-o "$GENERATOR" "$PROJECT_DIR/bench/overload.c" "$PROJECT_DIR/bench/common.c" \
		"$PROJECT_DIR/src/measure/"[!r]*.c "${LINK[@]}" -lz -pthread
}

checks()
{
	local line

	daemon_mode
	check "the generator is built" build
	CALL_SECONDS=600
	daemon_start --warm-python 0
	call_files overload
	call_argv
	CALL=("${CALL[@]:0:${#CALL[@]}-1}" "$GENERATOR")
	"${CALL[@]}" -s "${PINFOLD_TEST_SECONDS:-60}" -r 320 >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
	exits 0 "everybody gets a result or busy"
	while IFS= read -r line; do
		diag "$MODE $line"
	done <"$OUT"
	inside "${BEST[@]}" --daemon -- echo after
	prints after "it serves on"
	daemon_stop
	exits 0 "and ends"
	check "nothing is left" nothing_left
}

run_checks
