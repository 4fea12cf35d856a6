# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the cases whose program prints doors (B-doors.h).
ARGS=()    # arguments of the program
OPTIONS=() # of the runs
ROOT_REFUSED=  # set: sandbox root may be refused, as it is to a user without subordinate ids

# all_shut DOOR...: none is open, neither to the sandbox's user nor to its root. What the program
# says must work (`works NAME`) is compared with WORKS.
all_shut()
{
	local user

	for user in user root; do
		inside "${OPTIONS[@]}" --user "$user" --dir "$BIN" -- "$ATTACK" "${ARGS[@]}"
		if [ "$user" = root ] && [ "$RC" = 125 ] && [ "$MODE$ROOT_REFUSED" != R ]; then
			refused "sandbox root without a range of ids"
			continue
		fi
		ran
		shut "$@"
		KIND=CRASH same "what works for $user" \
			"$(sed -n 's/^works //p' "$OUT" | tr -d '\n')" "${WORKS:-}"
		KIND=CRASH absent "something does not work for $user" "broken "
	done
}

# reported KIND: what the last document says was refused.
reported()
{
	json '" ".join(sorted(x["what"] for x in d["denials"] if x["kind"] == a[0]))' "$1"
}

# count_of WHAT: how often the last document says that this was refused.
count_of()
{
	json 'sum(x["count"] for x in d["denials"] if x["what"] == a[0])' "$1"
}

# denied CALL...: the document of a run reports these system calls as refused, no other, each with
# a hint.
denied()
{
	inside_json --dir "$BIN" -- "$ATTACK" "${ARGS[@]}"
	ran
	KIND=CRASH same "system calls that are reported" "$(reported syscall)" \
		"$(printf '%s\n' "$@" | LC_ALL=C sort | paste -sd ' ')"
	KIND=CRASH same "each report has a count and a hint" \
		"$(json 'all(x["count"] > 0 and x["hint"] for x in d["denials"])')" true
}
