#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: escape, ref-bwrap
#
# Output is hostile: a terminal that acts on it gives the clipboard away, answers questions into the
# shell's input, changes its title, or shows "passed" over "failed". On a terminal people see
# escaped text; programs get every byte.
. "$(dirname "$0")/../lib/escape.sh"

claim "D03 on a terminal control sequences are shown, in a pipe every byte is passed"

HELPER=$(dirname "$CASE_FILE")/D03-control-sequences.py

on_terminal()
{
	INSIDE_OUTER=(/usr/bin/python3 -I "${CASE_FILE%/*}/D-terminal.py" "$EVIDENCE/terminal")
	inside "$@"
	INSIDE_OUTER=()
}

helper()
{
	/usr/bin/python3 -I "$HELPER" "$@"
}

harmless()
{
	helper check <"$OUT" >"$OUT.doors"
	OUT=$OUT.doors
	shut invalid-utf8 escape c0 return c1 bidi bom tags
}

attack()
{
	local emit=(python3 /work/D03-control-sequences.py emit)

	install -m 0755 "$HELPER" "$BIN"
	helper want >"$EVIDENCE/want"

	on_terminal --dir "$BIN" -- "${emit[@]}"
	ran
	harmless
	absent "text that should be shown" lost
	on_terminal --dir "$BIN" -- sh -c 'exec "$@" >/dev/null' sh "${emit[@]}"
	ran
	harmless

	inside --dir "$BIN" -- "${emit[@]}"
	ran
	KIND=CRASH holds "every byte in a pipe" cmp "$OUT" "$EVIDENCE/want"
	on_terminal --raw --dir "$BIN" -- sh -c 'exec "$@" 2>/dev/null' sh "${emit[@]}"
	ran
	KIND=CRASH holds "every byte with --raw" cmp -n "$(stat -c %s "$EVIDENCE/want")" \
		"$OUT" "$EVIDENCE/want"

	inside_json --dir "$BIN" -- "${emit[@]}"
	ran
	KIND=CRASH holds "every byte in the document" cmp "$OUT" "$EVIDENCE/want"
	same "the document says so" "$(json 'd["stdout"]["control_bytes"]')" true
	OUT=$JSON
	harmless
	inside_json -- printf 'plain\ttext\n'
	same "and only then" "$(json 'd["stdout"]["control_bytes"]')" false

	# One line of 10 MB, with a million escapes at its end.
	on_terminal -- sh -c 'head -c 9000000 /dev/zero | tr "\0" a
		head -c 1000000 /dev/zero | tr "\0" "\033"'
	ran
	same "escapes at the end of a long line" "$(tr -dc '\033' <"$OUT" | wc -c)" 0
	holds "the long line is whole" [ "$(stat -c %s "$OUT")" -ge 11000000 ]
}

run_case
