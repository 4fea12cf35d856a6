#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Evidence of the machine in a receipt: none where there is none, a quote where a TPM is. The TPM is swtpm,
# on a socket; tpm2-tools have the second opinion. Forged quotes are tests/unit/evidence_tpm.c's.
. "$(dirname "$0")/../lib/cli.sh"

# block N: the Nth block of commands of docs/ledger.md, in the directory of the stranger.
block()
{
	awk -v n="$1" '/^```sh/ { k++; next } k == n && /^```/ { exit } k == n { print }' \
		"$PROJECT_DIR/docs/ledger.md" >"$M/stranger/block.sh"
	(cd "$M/stranger" && TPM2TOOLS_TCTI=swtpm:path=$M/tpm/sock sh -e ./block.sh)
}

# evidence EXPRESSION NAME: holds for what the receipt in OUT has as evidence.
evidence()
{
	check "$2" /usr/bin/python3 -I -c 'import base64, json, sys
e = json.loads(base64.b64decode(json.load(open(sys.argv[1]))["payload"]))["predicate"]["evidence"]
assert eval(sys.argv[2]), e' "$OUT" "$1"
}

absent()
{
	inside_json -- true
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	CALL_ENV=(PINFOLD_EVIDENCE=none)
	pinfold receipt "$RUN"
	evidence 'e == {"kind": "none"}' "without evidence it says none"
	CALL_ENV=(PINFOLD_EVIDENCE=tpm2:"$M/no-such")
	pinfold receipt "$RUN"
	refuses not_found no-such "evidence that is asked for, and is not there"
	CALL_ENV=(PINFOLD_EVIDENCE=tsm:"$M/no-such")
	pinfold receipt "$RUN"
	refuses not_found no-such "a report, too"
	CALL_ENV=(PINFOLD_EVIDENCE=blood)
	pinfold receipt "$RUN"
	refuses invalid_argument PINFOLD_EVIDENCE "a kind that is none"
	CALL_ENV=(PINFOLD_EVIDENCE=tpm2:/dev/null)
	pinfold receipt "$RUN"
	check "a device that is no TPM" test "$RC" = 125
	CALL_ENV=()
}

software_tpm()
{
	mkdir -p "$M/tpm" "$M/stranger"
	swtpm socket --tpm2 --tpmstate "dir=$M/tpm" --server "type=unixio,path=$M/tpm/sock" \
		--ctrl "type=unixio,path=$M/tpm/sock.ctrl" --flags not-need-init,startup-clear \
		>"$M/tpm/log" 2>&1 {LIVE_FD}>&- &
	TPM_PID=$!
	wait_for 20 test -S "$M/tpm/sock" -a -S "$M/tpm/sock.ctrl"
	chmod a+rx "$M/tpm"
	chmod a+rw "$M/tpm/sock"
}

quoted()
{
	CALL_ENV=(PINFOLD_EVIDENCE=tpm2:"$M/tpm/sock")
	pinfold receipt "$RUN"
	exits 0 "a receipt with a quote"
	CALL_ENV=()
	evidence 'e["kind"] == "tpm2" and len(e["pcrs"]) == 16' "has it, and the registers"
	cp "$OUT" "$M/stranger/receipt.json"
	chmod -R a+rX "$M/stranger"
	pinfold verify --json "$M/stranger/receipt.json"
	json_has 'd["good"] and d["evidence"] == "tpm2" and d["evidence_key"].startswith("000b")' "it is good"
	NAME=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["evidence_key"])' "$OUT")
	pinfold verify --evidence "$NAME" "$M/stranger/receipt.json"
	exits 0 "by the key that was expected"
	pinfold verify --evidence "${NAME%?}x" "$M/stranger/receipt.json"
	exits 1 "and by no other"
	check "for tpm2-tools, too" block 3
	check "which know the key by that name" block 4
	check "it is that name" test "$(cat "$M/stranger/name")" = "$NAME"
	check "no bit of it can be another" /usr/bin/python3 -I "$TEST_DIR/fields.py" \
		"$M/stranger/receipt.json" "$M/home/ledger/key.pem" "$PINFOLD_COPY" predicate.evidence
	check "another boot" env TPM2TOOLS_TCTI=swtpm:path="$M/tpm/sock" tpm2_pcrextend \
		7:sha256=1111111111111111111111111111111111111111111111111111111111111111
	CALL_ENV=(PINFOLD_EVIDENCE=tpm2:"$M/tpm/sock")
	pinfold receipt "$RUN"
	CALL_ENV=()
	evidence 'set(e["pcrs"]["7"]) != {"0"} and set(e["pcrs"]["0"]) == {"0"}' "is seen"
	pinfold verify --evidence "$NAME" "$OUT"
	exits 0 "by the same key"
}

checks()
{
	absent
	needs swtpm tpm2_checkquote "a quote of a software TPM" || return
	software_tpm
	quoted
	kill "$TPM_PID"
	wait "$TPM_PID" 2>/dev/null
}

run_checks
