#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: receipt-signed
#
# What is done is on record, and what is on record can be checked by a stranger; secrets are not there
# (L01), no caller can forge a line (L02), and what cannot be recorded is not done (L04).
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# events EXPRESSION NAME: holds for the list l of all events, as objects.
events()
{
	pinfold audit --all --json
	check "$2" /usr/bin/python3 -I -c 'import json, sys
l = [json.loads(x) for x in open(sys.argv[1])]
assert eval(sys.argv[2]), l' "$OUT" "$1"
}

runs()
{
	pinfold audit
	exits 0 "audit of nothing"
	inside_json --env NAME=canary-value-1 -- sh -c 'echo out; echo err >&2; exit 3'
	exits 3 "a run"
	json_has 'd["receipt"]["position"] == 2 and len(d["receipt"]["sha256"]) == 64' "the result says where"
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	events '[(e["kind"], e.get("phase")) for e in l] == [("ledger.start", None), ("run", "begin"), ("run", "end")]' \
		"begin and end"
	events 'l[1]["data"]["command"] == ["sh", "-c", "echo out; echo err >&2; exit 3"]' "the command"
	events 'l[1]["data"]["environment"] == ["NAME"]' "names of variables"
	events 'l[2]["data"]["exit_status"] == 3 and l[2]["data"]["stdout"]["bytes"] == 4' "the outcome"
	events '__import__("hashlib").sha256(b"out\n").hexdigest() == l[2]["data"]["stdout"]["sha256"]' \
		"the hash of what it printed"
	inside --isolation no-such -- true
	events 'l[-1]["phase"] == "refused" and l[-1]["data"]["error"]["code"] == "invalid_argument"' "a refusal"
	inside -- no-such-program
	events 'l[-1]["data"]["status"] == "failed" and l[-1]["data"]["exit_status"] == 127' "a failure"
	inside --time 100ms --grace 100ms -- tail -f /dev/null
	events 'l[-1]["data"]["status"] == "timeout" and l[-1]["data"]["limit"] == "time"' "a limit that was hit"
	pinfold audit --run "$RUN"
	check "a story" grep -q "it ended: exited, exit status 3" "$OUT"
	pinfold audit
	check "a row of the table says what was run" grep -qE "  run +uid [0-9]+ +exit 3 +$RUN sh -c echo out; echo err >&2; exit 3\$" "$OUT"
	check "and is one for each operation" test "$(grep -c "$RUN" "$OUT")" = 1
	pinfold audit --kind run --json
	check "a filter" test "$(wc -l <"$OUT")" = 4
	pinfold audit --since 2020-01-0
	refuses invalid_argument --since "an instant that is none"
	pinfold audit --json --since 2020-01-01 --until 2120-01-01T00:00:00Z
	check "a day is one, and a second" test "$(wc -l <"$OUT")" -gt 4
	pinfold audit --run nope
	refuses invalid_argument --run "what is no id of a run"
	pinfold audit key extra
	refuses invalid_argument extra "a word too many"
	CALL_ENV=(PINFOLD_LEDGER=off)
	inside_json -- true
	json_has 'd["receipt"] is None' "no ledger, no receipt"
	CALL_ENV=()
	CALL_ENV=(PINFOLD_LEDGER_SYNC=always)
	inside -- true
	exits 0 "each event to disk before the answer"
	CALL_ENV=(PINFOLD_LEDGER_SYNC=sometimes)
	inside -- true
	refuses invalid_argument ledger "a way to write it that there is not"
	CALL_ENV=()
	settings
}

# with_setting TEXT WORD...: pinfold with that settings.yaml, and how often it wrote to disk.
with_setting()
{
	mkdir -p "$M/settings"
	printf '%s\n' "$1" >"$M/settings/settings.yaml"
	CALL_ENV=("PINFOLD_CONFIG=$M/settings")
	inside -- true
}

settings()
{
	with_setting 'ledger.sync: always'
	exits 0 "ledger.sync in settings.yaml"
	with_setting $'# ours\n\nledger.sync : group # the default'
	exits 0 "with comments"
	with_setting 'ledger.sync: often'
	refuses invalid_argument ledger "no way to write it"
	with_setting 'ledger.sink: always'
	refuses invalid_argument ledger.sink "no setting"
	chmod o+w "$M/settings/settings.yaml"
	inside -- true
	refuses denied settings.yaml "anybody could have written it"
	CALL_ENV=()
}

# Nothing of a list is left out, however long it is, and each row says what it is.
whole()
{
	local i env=() words=() long run

	for i in $(seq 40); do env+=(--env "NAME_$i=x"); done
	for i in $(seq 900); do words+=("word-$i-with-some-more-letters"); done
	long=$(printf 'd%.0s' $(seq 200))
	inside_json "${env[@]}" -- sh -c 'mkdir -p "$0/$0/$0" && echo x >"$0/$0/$0/f"' "$long" "${words[@]}"
	exits 0 "a run with long lists"
	run=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	pinfold receipt --json "$run"
	check "the receipt has all words, variables and paths" /usr/bin/python3 -I -c '
import base64, json, sys
p = json.loads(base64.b64decode(json.load(open(sys.argv[1]))["payload"]))["predicate"]
assert p["command"][4:] == ["word-%d-with-some-more-letters" % i for i in range(1, 901)], p["command"]
assert p["environment"] == ["NAME_%d" % i for i in range(1, 41)]
assert not [k for k in p if k.endswith("_omitted")]
f = [f for f in p["files"] if f["path"].endswith("/f")][0]
assert len(f["path"]) > 600 and f["change"] == "added" and f["type"] == "file" and f["size"] == 2' "$OUT"
	pinfold audit --json --path "/home/user/$long/$long/$long/f"
	check "a long path is found" grep -q "$run" "$OUT"
	pinfold new gone
	pinfold exec gone -- sh -c 'echo x >f'
	pinfold exec gone -- rm f
	events '[f["change"] for f in l[-1]["data"]["files"] if f["path"].endswith("/f")] == ["deleted"]' \
		"a file that was removed"
	pinfold audit --run "$(/usr/bin/python3 -I -c 'import json, sys
print(json.loads(open(sys.argv[1]).readlines()[-1])["run"])' "$OUT")"
	check "is told as such" grep -q 'deleted /home/user/f' "$OUT"
	pinfold rm gone
}

# One line each, whatever is in it.
injection()
{
	local evil=$'a\nb\t"\\\r\x1b[31m{"at":99,"before":"x"}'

	pinfold audit --all --json
	before=$(wc -l <"$OUT")
	inside -- printf %s "$evil" ']}' $'\xff'
	events "len(l) == $before + 2" "a line is a line"
	events 'l[-2]["data"]["command"][2] == "a\nb\t\"\\\r\x1b[31m{\"at\":99,\"before\":\"x\"}"' \
		"and has the same bytes"
	pinfold audit --run "$(/usr/bin/python3 -I -c 'import json, sys
print(json.loads(open(sys.argv[1]).readlines()[-1])["run"])' "$OUT")"
	check "no control character comes to a terminal" test -z "$(tr -d '\11\12\40-\176\200-\377' <"$OUT")"
}

secrets()
{
	local word=canary-5f3c9a1e7b2d4860

	printf '%s\n' "$word" >"$W/secret"
	own "$W/secret"
	inside --env "KEY=$word" --stdin "$W/secret" -- sh -c 'cat; cat >&2' "$word" "--password=$word" \
		--token "$word" "https://me:$word@example.org/?q=$word"
	inside --lang python -c "print('$word')"
	inside --env "KEY=$word" --isolation no-such -- "$word"
	inside --env KEY=s3sam-opens -- echo s3sam-opens "x=s3sam-opens,y"
	events 'l[-2]["data"]["command"] == ["echo", "$KEY", "x=$KEY,y"]' "values of variables are their names"
	inside -- mysql -pswordfish
	inside -- curl -u me:swordfish
	inside -- env DB_PASS=swordfish PGPASS=swordfish true --pass swordfish
	check "nor passwords that are no noise" test -z "$(grep -rl 'swordfish\|s3sam' "$M/home/ledger")"
	check "no secret is in the ledger" test -z "$(grep -rl "$word" "$M/home/ledger")"
	check "nor its letters" test -z "$(grep -rl "${word#canary-}" "$M/home/ledger")"
}

workspaces()
{
	mkdir -p "$W/src" && echo x >"$W/src/f"
	own "$W/src" "$W/src/f"
	pinfold new demo
	pinfold exec demo -- sh -c 'echo 1 >f'
	pinfold snap demo here
	pinfold undo demo
	pinfold rollback demo here
	pinfold fork demo other
	pinfold cp "$W/src/f" demo:/home/user/g
	pinfold push demo "$W/src"
	pinfold rm other
	pinfold undo no-such
	events '[e["kind"][10:] for e in l if e["kind"].startswith("workspace") and e["phase"] == "end"] == "new exec snap undo rollback fork copy_in push remove undo".split()' \
		"every verb, in its order"
	events 'l[-1]["data"]["error"]["code"] == "not_found"' "and what failed"
	events '[e["data"].get("snapshot") for e in l if e["kind"].startswith("workspace") and e["phase"] == "end"] == \
		[1, 2, 3, 1, 4, 4, 5, 6, None, None]' "with the snapshot after"
	events '[e["data"].get("snapshot_before") for e in l if e["kind"].startswith("workspace") and e["phase"] == "begin"] == \
		[None, 1, 2, 3, 1, 4, 4, 5, 1, None]' "and the one before"
	pinfold token new --label x
	word=$(cat "$OUT")
	check "a token is not in the ledger" test -z "$(grep -rl "$word" "$M/home/ledger")"
	events 'l[-1]["kind"] == "token.new" and l[-1]["data"]["token"].startswith("tok")' "its id is"
}

# A daemon that never served, or whose arguments were wrong, leaves the place of a chain.
places()
{
	local home PLACES=()

	for home in "$M/home/api/ledger" "$M/home/tenants/early/ledger"; do
		[ -e "$home" ] || { mkdir -p "$home" && PLACES+=("$home"); }
	done
	[ "$MODE" = U ] && [ "$EUID" = 0 ] && chown -R "$USER_ID" "$M/home/api" "$M/home/tenants"
	pinfold verify
	exits 0 "places of chains that have not begun"
	check "they are not spoken of" test "$(grep -c '^tenants/early' "$OUT")" = 0
	rmdir "${PLACES[@]}"
}

# The commands of docs/ledger.md, in their order.
stock()
{
	local block dir=$M/stranger

	needs openssl "checked with stock tools" || return
	mkdir -p "$dir"
	pinfold verify
	exits 0 "the ledger is good"
	pinfold receipt "$RUN"
	exits 0 "a receipt"
	cp "$OUT" "$dir/receipt.json"
	cp "$M/home/ledger/"* "$dir"
	chmod -R a+rX "$dir"
	pinfold verify "$dir/receipt.json"
	exits 0 "it is good"
	pinfold verify --key "$dir/key.pem" --ledger "$dir"
	exits 0 "so is a copy of the ledger, by the public key alone"
	for block in 1 2; do
		awk -v n=$block '/^```sh/ { k++; next } /^```/ { next_off = 1 } k == n && !/^```/ { print }
			k == n && /^```/ { exit }' "$PROJECT_DIR/docs/ledger.md" >"$dir/block.sh"
		check "block $block of docs/ledger.md" sh -ec "cd '$dir' && sh -e ./block.sh"
	done
	check "no bit of any field can be another" /usr/bin/python3 -I "$TEST_DIR/fields.py" \
		"$dir/receipt.json" "$dir/key.pem" "$PINFOLD_COPY"
}

# Who signs behind a command leaves the public key alone: who reads it just then finds it whole.
key_stays()
{
	local ledger=$M/home/ledger before

	touch "$M/before"
	before=$(stat -c '%i %z' "$ledger/key.pem" "$ledger/key.verifier")
	inside -- true
	check "a command is signed for" wait_for 30 test "$ledger/checkpoints" -nt "$M/before"
	check "by a key that is not written again" \
		test "$(stat -c '%i %z' "$ledger/key.pem" "$ledger/key.verifier")" = "$before"
}

# predicate EXPRESSION NAME [FILE]: holds for the statement s and its predicate p of the receipt.
predicate()
{
	check "$2" /usr/bin/python3 -I -c 'import base64, hashlib, json, os, sys
s = json.loads(base64.b64decode(json.load(open(sys.argv[1]))["payload"]))
p, digests = s["predicate"], {x["name"]: x["digest"]["sha256"] for x in s["subject"]}
def sha(data):
    return hashlib.sha256(data).hexdigest()
assert eval(sys.argv[2]), s' "${3:-$OUT}" "$1"
}

last_run()
{
	tail -n 1 "$M/home/ledger/events" | sed -n 's/.*"run":"\([^"]*\)".*/\1/p'
}

# What a receipt names by its digest: inputs, what it ran on, what came of it.
digests()
{
	local host first

	host='sha("".join("%s %s\n" % (f, sha(open(f, "rb").read())) for f in ["/usr/lib/os-release",
		"/var/lib/dpkg/status", "/usr/lib/sysimage/rpm/rpmdb.sqlite", "/var/lib/rpm/rpmdb.sqlite",
		"/lib/apk/db/installed"] if os.path.exists(f)).encode())'
	printf 'what it reads' >"$W/input"
	own "$W/input"
	inside --env A=1 --stdin "$W/input" --lang python -c 'open("f", "w").write(input())'
	pinfold receipt "$(last_run)"
	predicate 'p["stdin"] == {"bytes": 13, "sha256": sha(b"what it reads")}' "standard input"
	predicate 'p["code_sha256"] == sha(b"open(\"f\", \"w\").write(input())")' "program text"
	predicate 'p["environment"] == ["A"]' "names of variables"
	predicate "p['host_layer'] == $host" "the host's layer"
	predicate 'p["image_digest"] is p["policy"] is p["snapshot_sha256"] is None and p["network"] == []' \
		"what there was not is said"
	pinfold new digests
	pinfold exec digests -- sh -c 'echo artifact >f'
	first=$(last_run)
	pinfold receipt "$first"
	cp "$OUT" "$M/first"
	predicate 'digests["/home/user/f"] == sha(b"artifact\n")' "files of a workspace"
	predicate 'digests["snapshot"] == p["snapshot_sha256"] and p["snapshot"] == 2' "the snapshot after"
	pinfold verify "$M/first"
	exits 0 "it is good"
	cp "$M/home/ledger/key.pem" "$M/digests.pem" && chmod a+r "$M/first" "$M/digests.pem"
	check "and no bit of these can be another" /usr/bin/python3 -I "$TEST_DIR/fields.py" "$M/first" \
		"$M/digests.pem" "$PINFOLD_COPY" predicate.snapshot_sha256 predicate.host_layer predicate.stdin subject
	pinfold exec digests -- sh -c 'echo other >f'
	pinfold receipt "$(last_run)"
	predicate 'digests["snapshot"] != json.loads(base64.b64decode(json.load(open("'"$M/first"'"))["payload"]))["predicate"]["snapshot_sha256"]' \
		"another one has another"
	pinfold receipt "$first"
	predicate 'digests["snapshot"] == json.loads(base64.b64decode(json.load(open("'"$M/first"'"))["payload"]))["predicate"]["snapshot_sha256"]' \
		"and the first still the same"
	pinfold rm digests
	pinfold receipt "$first"
	predicate 'p["snapshot_sha256"] is None and p["snapshot_why"] and "snapshot" not in digests' \
		"of one that is gone it says why"
	inside --isolation no-such -- echo hi
	pinfold receipt "$(last_run)"
	predicate 'p["status"] == "refused" and p["command"] == ["echo", "hi"]' "of a refusal"
}

# N05: it is nowhere inside.
outside()
{
	inside -- sh -c "cat '$M/home/ledger/events' '$M/home/ledger/key'"
	check "a sandbox has no way to it" test "$RC" != 0 -a ! -s "$OUT"
	inside --dir "$W" -- sh -c 'echo forged >>/work/../ledger; ls /work/.. | grep ledger'
	pinfold verify
	exits 0 "and it is good after all that"
}

unwritable()
{
	if [ "$MODE" = R ]; then
		mkdir -p "$M/full" && mount -t tmpfs -o size=128k,mode=0700 none "$M/full" || return
	else
		mkdir -p "$M/full/ledger" && chmod 0500 "$M/full/ledger" && own "$M/full" "$M/full/ledger"
	fi
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/full")
	[ "$MODE" = U ] || { inside -- true; head -c 1M /dev/zero >"$M/full/fill" 2>/dev/null; }
	for _ in $(seq 40); do
		[ "$MODE" = U ] || [ "$RC" != 0 ] || inside -- true
	done
	inside -- sh -c 'echo it ran'
	exits 125 "what cannot be recorded"
	prints "" "does not run"
	says '^pinfold: [a-z_]+\.ledger: the ledger cannot be written' "and it says why"
	inside_json -- true
	json_has 'd["error"]["code"].endswith(".ledger")' "also in the document"
	pinfold new demo
	exits 125 "nor is a workspace made"
	[ "$MODE" = U ] || rm -f "$M/full/fill"
	[ "$MODE" = U ] && chmod 0700 "$M/full/ledger"
	inside -- true
	exits 0 "with room again it runs"
	pinfold verify
	exits 0 "and what was written is whole"
	CALL_WRAP=()
	[ "$MODE" = U ] || umount -l "$M/full"
}

checks()
{
	runs
	injection
	secrets
	workspaces
	places
	stock
	key_stays
	whole
	digests
	outside
	unwritable
}

run_checks
