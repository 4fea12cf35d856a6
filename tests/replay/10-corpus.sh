#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs of the kind that agents write, each run and run again. A few in `make check`, all of them in
# `make check-replay` (REPLAY_CORPUS=all). Of MAY_DIFFER docs/replay.md says why.
. "$(dirname "$0")/../lib/cli.sh"

FEW="05 07 09 17 22 23 38 40 41 47 48"
MAY_DIFFER="29"
declare -A NEEDS=([js]=node [R]=Rscript [pl]=perl [09]=git [45]=git [07]=make [33]=make [39]=make [08]=cmake [10]=zip [24]=openssl [25]=sqlite3 [29]=java)
declare -A LANGS=([py]=python [js]=node [R]=r [sh]=bash)

# program FILE: sets WORDS.
program()
{
	local lang=${LANGS[${1##*.}]:-}

	WORDS=(--lang "$lang" "$1")
	[ -n "$lang" ] || WORDS=(--dir "$TEST_DIR/corpus" -- perl "/work/${1##*/}")
}

again()
{
	local name=${1##*/} number run

	number=${name%%-*}
	needs ${NEEDS[${1##*.}]:-} ${NEEDS[$number]:-} "$name" || return
	if [[ $number == 0[1-4] || $number == 31 ]] && ! /usr/bin/python3 -Ic 'import pandas, matplotlib' 2>/dev/null; then
		skip "$name [$MODE]" "the Python module pandas is not installed"
		return
	fi
	program "$1"
	[[ $number != 4[34] ]] || WORDS=(--disk 1G "${WORDS[@]}") # on a file system with an order of its own
	inside_json --deterministic --memory 1G --pids 256 "${WORDS[@]}"
	run=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	check "$name runs" /usr/bin/python3 -I -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["status"] == "exited" and d["exit_code"] in (0, 1 if "unittest" in sys.argv[2] else 0), d' "$OUT" "$name"
	pinfold replay "$run"
	case " $MAY_DIFFER " in
	*" $number "*) check "$name again, or another outcome" test "$RC" -le 1 ;;
	*) exits 0 "$name again" ;;
	esac
}

checks()
{
	local number

	CALL_SECONDS=240
	[ "${REPLAY_CORPUS:-}" = all ] && FEW=$(seq -w 48)
	for number in $FEW; do
		again "$TEST_DIR/corpus/$number"-*
	done
}

run_checks
