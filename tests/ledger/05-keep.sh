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
	on_disk
}

# The machine may stop at any moment: a checkpoint never knows of events that are not on disk.
on_disk()
{
	needs strace "events are on disk before they are signed for" || return
	CALL_WRAP=("$(command -v strace)" -qq -y -e trace=write,pwrite64,fdatasync -o "$M/calls")
	: >"$M/calls"
	own "$M/calls"
	pinfold audit rotate
	CALL_WRAP=()
	exits 0 "a rotation, looked at"
	sed -nE 's/^(pwrite64|write|fdatasync)\([0-9]+<[^>]*\/ledger\/(tree|events|checkpoints)>.*/\1 \2/p' \
		"$M/calls" >"$M/order"
	check "events are on disk before they are signed for" test "$(tail -n 4 "$M/order" | tr '\n' ' ')" = \
		"pwrite64 tree fdatasync events write checkpoints fdatasync checkpoints "
}

formats()
{
	pinfold new ocsf
	pinfold exec ocsf -- true
	inside -- mount -t tmpfs x /mnt
	inside --memory 1G --allow nowhere.test:80 -- true
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
# What the schema of 1.3 has for each class, with the profiles that are named, and what it wants.
base = set("category_uid class_uid activity_id type_uid severity_id time metadata actor device status_id status_code "
    "status_detail duration raw_data".split())
own = {1007: {"process", "exit_code"}, 6003: {"api", "src_endpoint"}, 2004: {"finding_info"}}
needs = {1007: "actor device process", 6003: "actor api src_endpoint", 2004: "finding_info"}
activities = {1007: (1, 2, 99), 6003: (1, 2, 3, 4, 99), 2004: (1,)}
for e in events:
    kind = e["class_uid"]
    assert set(e) <= base | own[kind], set(e) - base - own[kind]
    assert all(k in e for k in needs[kind].split()) and e["activity_id"] in activities[kind], e
    assert "host" in e["metadata"]["profiles"] and e["device"]["hostname"] and e["actor"]["user"]["uid"], e
    if kind == 1007:
        p = e["process"]
        assert p.get("uid") or "pid" in p, e
        assert ("container" in p) == ("container" in e["metadata"]["profiles"]) and p.get("container") != {}, e
    if kind == 2004:
        assert e["finding_info"]["title"] == "alert escape: mount" and e["finding_info"]["uid"] and e["severity_id"] == 4, e
assert {e["class_uid"] for e in events} == {1007, 2004, 6003}
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
