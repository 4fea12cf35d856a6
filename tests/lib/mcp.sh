# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# MCP in tests. After tests/lib/cli.sh.

# play PART [OPTION...]: tests/mcp/client.py plays it with `pinfold mcp OPTION...`; its lines become
# checks.
play()
{
	local part=$1 seconds=$CALL_SECONDS good line

	shift
	CALL_SECONDS=240
	call_files mcp "$@"
	call_argv
	CALL_SECONDS=$seconds
	/usr/bin/python3 -I "$PROJECT_DIR/tests/mcp/client.py" "$part" -- "${CALL[@]}" mcp "$@" >"$OUT" 2>"$ERR" \
		{LIVE_FD}>&-
	RC=$?
	while read -r good line; do
		if [ "$good" = 1 ]; then
			ok "$part: $line [$MODE]"
		else
			not_ok "$part: ${line%% | *} [$MODE]"
			diag "${line#* | }"
		fi
	done <"$OUT"
	if [ "$RC" != 0 ]; then
		not_ok "$part: to its end [$MODE]"
		diag "$(tail -n 12 "$ERR")"
	fi
}
