#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One event, given away with its proof, is checked by who has nothing but that text and the public key; and all
# chains of a data directory by keys that were kept elsewhere.
. "$(dirname "$0")/../lib/cli.sh"

# stranger WORD...: pinfold where there is no ledger.
stranger()
{
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/nowhere")
	pinfold "$@"
	CALL_WRAP=()
}

# spoiled NAME SED: a proof that was changed is none.
spoiled()
{
	sed "$2" "$M/proof" >"$M/spoiled"
	chmod a+r "$M/spoiled"
	check "$1: something is changed" sh -c '! cmp -s "$0" "$1"' "$M/proof" "$M/spoiled"
	stranger verify --key "$M/key.pem" "$M/spoiled"
	check "$1 is found" test "$RC" = 1
}

one_event()
{
	inside -- echo one
	inside -- echo two
	inside -- echo three
	pinfold audit proof 2
	exits 0 "a proof of one event"
	cp "$OUT" "$M/proof"
	pinfold audit key
	cp "$OUT" "$M/key.pem" && chmod a+r "$M/proof" "$M/key.pem"
	stranger verify --key "$M/key.pem" "$M/proof"
	exits 0 "is checked elsewhere"
	check "and says which event" grep -q '^good: event 2 of led' "$OUT"
	stranger verify --json --key "$M/key.pem" "$M/proof"
	json_has 'd["good"] and d["position"] == 2 and __import__("json").loads(d["event"])["phase"] == "end"' \
		"with the event itself"
	pinfold verify "$M/proof"
	exits 0 "here by the key that is here"
	stranger verify "$M/proof"
	exits 125 "not without any key"
	check "the commands of docs/ledger.md" by_hand
	spoiled "another place" 's/^index 2/index 3/'
	spoiled "another event" '2s/eyJhdCI6M/eyJhdCI6N/'
	spoiled "another hash" '4s/^./=/'
	spoiled "a hash less" 4d
	spoiled "another root" '/^pinfold\//{n;n;s/^./_/}'
	spoiled "more events" '/^pinfold\//{n;s/$/0/}'
	spoiled "another signature" 's/^\(— [^ ]* \)......\(.*\)/\1AAAAAA\2/'
	spoiled "one line more" '$s/$/\nx/'
	pinfold audit proof 99
	refuses not_found 99 "an event that there is not"
	pinfold audit proof led:1
	refuses invalid_argument EVENT "a place that is none"
}

by_hand()
{
	awk '/^```sh/ { k++; next } k == 5 && /^```/ { exit } k == 5 { print }' \
		"$PROJECT_DIR/docs/ledger.md" >"$M/block.sh"
	mkdir -p "$M/hand" && cp "$M/proof" "$M/hand/event.tlog-proof" && cp "$M/key.pem" "$M/hand"
	command -v openssl >/dev/null || return 0
	(cd "$M/hand" && sh -e ../block.sh) && grep -q '"phase":"end"' "$M/hand/event"
}

# A second chain is that of a tenant.
all_chains()
{
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/home/tenants/other")
	inside -- true
	CALL_WRAP=()
	pinfold audit key
	cp "$OUT" "$M/keys.pem" && chmod a+r "$M/keys.pem"
	check "keys of two chains" test "$(grep -c BEGIN "$M/keys.pem")" = 2
	pinfold verify --key "$M/keys.pem"
	exits 0 "all chains by keys that were kept"
	check "each of them" test "$(grep -c ': good' "$OUT")" = 2
	pinfold verify --key "$M/key.pem"
	check "by one key only its own" test "$(wc -l <"$OUT")" = 1
	pinfold receipt "$(sed -n 's/.*"run":"\([^"]*\)".*/\1/p' "$M/home/tenants/other/ledger/events" | head -1)"
	cp "$OUT" "$M/receipt" && chmod a+r "$M/receipt"
	stranger verify --key "$M/keys.pem" "$M/receipt"
	exits 0 "a receipt of any of them"
	pinfold audit proof "$(sed -n 's/.*"chain":"\([^"]*\)".*/\1/p' "$M/home/tenants/other/ledger/events" | head -1):1"
	cp "$OUT" "$M/proof" && chmod a+r "$M/proof"
	stranger verify --key "$M/keys.pem" "$M/proof"
	exits 0 "and a proof"
	mv "$M/home/tenants/other" "$M/gone"
	pinfold verify --key "$M/keys.pem"
	check "a chain that is gone is missed" test "$RC" = 1
	mv "$M/gone" "$M/home/tenants/other"
	sed -i '2s/"command":\["true"\]/"command":["fals"]/' "$M/home/tenants/other/ledger/events"
	pinfold verify --key "$M/keys.pem"
	check "one that was changed is found" test "$RC" = 1
	check "and named" grep -q '^tenants/other/ledger: .*NOT GOOD' "$OUT"
	rm -rf "$M/home/tenants/other"
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/home/tenants/other")
	inside -- true
	CALL_WRAP=()
	pinfold verify --key "$M/keys.pem"
	check "and one of somebody else's" test "$RC" = 1
}

checks()
{
	one_event
	all_chains
}

run_checks
