#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who signs the ledger, how long it is kept, and how it is given to others: key, rotate, prune, formats.
. "$(dirname "$0")/../lib/cli.sh"

run_id()
{
	/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT"
}

keys()
{
	pinfold audit key
	exits 0 "the key of nothing"
	inside_json -- true
	OLD=$(run_id)
	pinfold audit key
	exits 0 "the public key"
	cp "$OUT" "$M/first.pem"
	chmod a+r "$M/first.pem"
	check "is that of the ledger" cmp "$M/first.pem" "$M/home/ledger/key.pem"
	pinfold receipt "$OLD"
	cp "$OUT" "$M/receipt.json"
	pinfold audit rotate
	exits 0 "another one"
	check "is another one" test "$(cat "$OUT")" != "$(cat "$M/first.pem")"
	pinfold verify --key "$M/first.pem"
	exits 0 "the first still proves all"
	pinfold verify "$M/receipt.json"
	exits 0 "and receipts of its time"
	pinfold audit --json --kind ledger.key
	check "who did that is on record" grep -q '"who":{"uid":' "$OUT"
}

formats()
{
	inside -- sh -c 'exit 4'
	pinfold audit --format jsonl --all
	cp "$OUT" "$M/lines"
	check "as JSON lines, byte for byte" cmp "$M/lines" "$M/home/ledger/events"
	pinfold audit --format ocsf --all
	check "as OCSF" /usr/bin/python3 -I -c 'import json, sys
events = [json.loads(x) for x in open(sys.argv[1])]
lines = open(sys.argv[2]).read().split("\n")[:-1]
assert len(events) == len(lines)
for e, line in zip(events, lines):
    assert e["raw_data"] == line, line
    assert e["type_uid"] == e["class_uid"] * 100 + e["activity_id"], e
    assert e["category_uid"] == e["class_uid"] // 1000 and e["time"] > 1e12 and e["status_id"] in (1, 2)
    for key in "severity_id metadata actor device".split():
        assert key in e, key
    assert e["metadata"]["version"] and e["metadata"]["product"]["name"], e
run = [e for e in events if e["class_uid"] == 1007]
assert [e["activity_id"] for e in run[-2:]] == [1, 2] and run[-1]["exit_code"] == 4, run
assert run[-2]["process"]["cmd_line"] == "sh -c exit 4"' "$OUT" "$M/lines"
	pinfold audit --format xml
	refuses invalid_argument --format "another format"
}

prune()
{
	pinfold audit prune
	refuses invalid_argument --before "prune without a time"
	pinfold audit prune --before yesterday
	refuses invalid_argument --before "or with none"
	pinfold audit prune --before 1d
	exits 0 "what is old goes"
	pinfold verify --json
	json_has 'd["items"][0]["gone"] == 0' "nothing is"
	pinfold audit prune --before 1ms --json
	json_has 'd["items"][0]["events"] > 5 and d["items"][0]["files"] == 1' "now all is"
	pinfold audit --all --json
	check "it is gone" test "$(grep -c '"kind":"ledger.prune"' "$OUT")" = "$(wc -l <"$OUT")"
	pinfold verify --key "$M/first.pem"
	exits 0 "the first key proves what is left"
	says_out "the first [0-9]+ were pruned"
	pinfold verify --key "$M/first.pem" "$M/receipt.json"
	exits 0 "a receipt outlives its event"
	pinfold receipt "$OLD"
	check "which is not there any more" test "$RC" = 125
	inside -- true
	pinfold verify
	exits 0 "it goes on"
	pinfold audit nonsense
	refuses invalid_argument audit "a word that is none"
}

says_out()
{
	check "and says so" grep -qE "$1" "$OUT"
}

checks()
{
	keys
	formats
	prune
}

run_checks
