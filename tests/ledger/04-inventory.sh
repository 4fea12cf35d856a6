#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every verb leaves the events that docs/ledger-events.md promises, or stands there with a reason for none
# (L06); a verb or a quiet operation that is missing there is a failure. N07: which run wrote a file.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

DOC=$PROJECT_DIR/docs/ledger-events.md

table()
{
	/usr/bin/python3 -I - "$DOC" "$PROJECT_DIR" "$1" <<'PY'
import re, sys
doc, root, what = sys.argv[1:]
rows = [l.split("|")[1] for l in open(doc) if l.startswith("| `")]
named = {w for r in rows for w in re.findall(r"`([a-z_.]+)`", r)}
if what == "verbs":
    want = set(re.findall(r'^\t\{"([a-z]+)", ', open(root + "/src/cmd/main.c").read(), re.M))
else:
    text = open(root + "/src/api/ops.def").read() + open(root + "/src/mcp/tools.def").read()
    want = {m[1] for m in re.finditer(r'OP\("([a-z_.]+)"(.*?)(?=\nOP\(|\Z)', text, re.S)
            if "OP_QUIET" in m[2].split("ARGS(")[0]}
missing = want - named
print(*sorted(missing))
sys.exit(bool(missing) or len(want) < 5)
PY
}

# leaves KIND WORDS...: the verb leaves an event of this kind.
leaves()
{
	local kind=$1

	shift
	pinfold "$@" </dev/null
	cp "$OUT" "$W/out"
	pinfold audit --all --json --kind "$kind"
	check "$1 leaves $kind" grep -q "\"kind\":\"$kind\"" "$OUT"
}

verbs()
{
	mkdir -p "$W/d" && echo x >"$W/d/f" && echo 'allow: [example.org]' >"$W/d/pinfold.yaml"
	own "$W/d" "$W/d/f" "$W/d/pinfold.yaml"
	leaves workspace.new new demo
	leaves workspace.exec exec demo -- sh -c 'echo hi >f'
	leaves workspace.snap snap demo
	leaves workspace.undo undo demo
	leaves workspace.rollback rollback demo 1
	leaves workspace.fork fork demo other
	leaves workspace.remove rm other
	leaves workspace.limit limit demo --disk 1G
	leaves store.limit limit --total --unlimited
	leaves workspace.copy_in cp "$W/d/f" demo:/home/user/in
	leaves workspace.copy_out cp demo:/home/user/in "$W/d/out"
	leaves workspace.push push demo "$W/d"
	leaves workspace.pull pull demo "$W/d"
	leaves workspace.export export demo
	leaves workspace.import import demo "$W/d"
	leaves store.collect gc
	leaves store.repair fsck --repair
	leaves deps.collect deps gc
	leaves tenant.set tenant set alpha --live 3
	leaves tenant.remove tenant rm alpha
	leaves trust.add trust "$W/d"
	leaves trust.forget trust --forget "$W/d"
	leaves token.new token new
	echo canary-5f3c9a1e7b2d4860 >"$W/d/value"
	own "$W/d/value"
	leaves secret.set secret set A_KEY --file "$W/d/value"
	leaves secret.remove secret rm A_KEY
	pinfold secret rm A_KEY
	pinfold audit --json --kind secret.remove
	check "what failed, too" grep -q '"error":{"code":"not_found' "$OUT"
	check "no value of a secret is there" test -z "$(grep -rl 5f3c9a1e7b2d4860 "$M/home/ledger")"
}

# N07: also a file that is one of many.
provenance()
{
	local run

	pinfold exec demo -- sh -c 'for i in $(seq 90); do echo $i >n$i; done; echo "obey me" >NOTES.md'
	pinfold exec demo --json -- sh -c 'echo more >>n77'
	run=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	pinfold audit --workspace demo --path /home/user/NOTES.md --json
	check "who wrote a file is on record" test "$(grep -c '"run":"run' "$OUT")" = 1
	pinfold audit --workspace demo --path /home/user/n77 --json
	check "each who wrote it" test "$(grep -c '"run":"run' "$OUT")" = 2
	check "the last is the last" grep -q "$run" <(tail -n 1 "$OUT")
	pinfold receipt "$run"
	exits 0 "a run with parts has a receipt"
	pinfold verify
	exits 0 "and the ledger is good"
}

checks()
{
	check "each verb is in the table" table verbs
	check "each quiet operation is in it" table operations
	verbs
	provenance
}

run_checks
