#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of Python, from what a program imports to a layer that sandboxes share.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

APPLE='import apple; print(apple.__version__, apple.pear.__version__)'

first()
{
	local before

	before=$(asked)
	inside_json --deps auto --lang python -c "$APPLE"
	exits 0 "a program with an import"
	doc_is "2.0 1.5" 'd["stdout"]["text"].strip()' "has it, and what that needs; not what was yanked"
	doc_is "apple 2.0,pear 1.5" '",".join(p["name"] + " " + p["version"] for p in d["packages"])' \
		"and the result says so"
	doc_has 'all(len(p["sha256"]) == 64 for p in d["packages"])' "with hashes"
	check "each file was fetched once" test "$(tail -n "+$((before + 1))" "$INDEX/port.log" | grep '^GET /files/' | sort |
		uniq -c | awk '{ print $1 }' | tr -d '\n')" = 11
	before=$(asked)
	inside --deps auto --lang python -c "$APPLE"
	prints "2.0 1.5" "again"
	check "without a word to the index" test "$(asked)" = "$before"
	inside --lang python -c "$APPLE"
	exits 1 "without --deps it is not there"
	check "and it is said what would have it" grep -q "package apple would have it" "$ERR"
}

# The receipt has what was there, and no bit of it can be another.
receipt()
{
	local run

	inside_json --deps auto --lang python -c "$APPLE"
	cp "$OUT" "$M/result.json"
	run=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	pinfold receipt "$run"
	exits 0 "a receipt of it"
	cp "$OUT" "$M/receipt.json"
	chmod a+r "$M/receipt.json" "$M/result.json"
	check "names every package" /usr/bin/python3 -I -c 'import base64, json, sys
result, receipt = (json.load(open(p)) for p in sys.argv[1:3])
p = json.loads(base64.b64decode(receipt["payload"]))["predicate"]
assert p["dependencies"] == result["packages"] and len(p["dependencies"]) == 2, p
layer, = p["package_layers"]
assert layer["language"] == "python" and layer["packages"] == 2 and len(layer["key"]) == 64, layer' \
		"$M/result.json" "$M/receipt.json"
	check "and no bit of it can be another" /usr/bin/python3 -I "$PROJECT_DIR/tests/ledger/fields.py" \
		"$M/receipt.json" "$M/home/ledger/key.pem" "$PINFOLD_COPY" predicate.dependencies \
		predicate.package_layers
}

# Run again with the very layer, whatever the index says by now.
replayed()
{
	local run before

	inside_json --deterministic --deps auto --lang python -c "$APPLE; import time; print(time.time())"
	run=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	before=$(asked)
	pinfold replay "$run"
	exits 0 "a run with packages, once more"
	check "is the same" grep -q '^identical: ' "$OUT"
	check "without a word to the index" test "$(asked)" = "$before"
	inside_json --deps auto --lang python -c "$APPLE"
	run=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	pinfold replay "$run"
	refuses unsupported "$run" "one of which only the ledger knows, whose text it has not"
}

# Which of the packages that were there the program used, however it ended.
used()
{
	local list='" ".join(p["name"] + ":" + str(p.get("imported")) for p in d["packages"])'

	inside_json --package apple --package lone --lang python -c 'import lone, importlib.metadata, os
importlib.metadata.version("apple"), os.listdir(os.path.dirname(lone.__file__))
os._exit(0)'
	doc_is "apple:False lone:True pear:False" "$list" "one that was not imported is told"
	inside_json --package apple --package lone -- sh -c 'python3 -c "import apple" & wait; kill -9 $$'
	doc_is "apple:True lone:False pear:True" "$list" "what a child imports counts, and what that needs"
	inside_json --package orchard-north --package orchard-south --lang python -c 'import orchard.south.sun'
	doc_is "orchard-north:False orchard-south:True" "$list" "one of two in a namespace"
	inside_json --package orchard-north --package orchard-south --lang python -c 'import orchard.cold.ice'
	doc_is "orchard-north:True orchard-south:False" "$list" "the other of the two"
}

# The user's own names: before ours, no typing errors, none at all; and what is wrong with them is said.
table()
{
	local list='" ".join(p["name"] for p in d["packages"])' program=$'def f():\n    import fruit, helpers, reqeusts\nprint(1)'

	mkdir -p "$W/names"
	printf '# ours\nfruit\tpear # of ours\nreqeusts lone\nhelpers -\n' >"$W/names/deps.names"
	own "$W/names"
	CALL_ENV+=("PINFOLD_CONFIG=$W/names")
	inside_json --deps auto --lang python -c "$program"
	doc_is "lone pear" "$list" "names of the user's own"
	printf 'fruit apple\nreqeusts lone\nhelpers -\n' >"$W/names/deps.names"
	inside_json --deps auto --lang python -c "$program"
	doc_is "apple lone pear" "$list" "others count at once"
	printf 'fruit pear\n\nfig  pear/..  more\n' >"$W/names/deps.names"
	inside --deps auto --lang python -c "$program"
	refuses invalid_argument.names "deps.names:3:6: no name of a package" "a line that is wrong"
	printf 'fruit pear\nfruit lone\n' >"$W/names/deps.names"
	inside --deps auto --lang python -c "$program"
	refuses invalid_argument.names "fruit is there twice" "one that is there twice"
	index_at "$(cat "$INDEX/port")"
}

# Whatever else a wheel may have: programs, made or brought, and files in other places.
whole()
{
	inside --deps auto --lang python -c 'import lone, os
os.system("lone-tool; lone-main; cat /usr/local/share/lone/data.txt")
print(os.path.exists(lone.__cached__))'
	prints "$(printf 'tool\nmain\ndata\nTrue')" "a wheel as pip would install it"
}

# What one sandbox does to a layer, another does not see.
shared()
{
	# shellcheck disable=SC2016 # for the program inside
	local spoil='import apple, os
try:
    open(apple.__file__, "a").write("\n__version__ = \"spoilt\"\n")
    os.unlink(apple.pear.__file__)
except OSError as e:
    print("refused")
'
	inside --deps auto --lang python -c "$spoil"
	exits 0 "a program that changes the package"
	inside --deps auto --lang python -c "$APPLE"
	prints "2.0 1.5" "changes nobody else's"
	if [ "$MODE" = R ]; then
		inside --user root --deps auto --lang python -c "$spoil"
		exits 0 "nor as the sandbox's root"
		inside --deps auto --lang python -c "$APPLE"
		prints "2.0 1.5" "nobody else's"
	fi
	pinfold fsck
	exits 0 "the store is whole"
}

workspace()
{
	fresh w
	pinfold exec w -- sh -c "echo 'value = 7' >local.py; echo 'import local, pear; print(local.value, pear.__version__)' >main.py"
	pinfold exec --deps auto w -- python3 main.py
	exits 0 "in a workspace"
	prints "7 1.5" "with a module of its own"
	pinfold exec w -- sh -c 'echo "import reqeusts" >bad.py; mkdir sub; echo "import pear; print(1)" >sub/tool'
	pinfold exec --deps auto w -- python3 -W ignore ./main.py
	prints "7 1.5" "what lies beside it is not asked about"
	pinfold exec --deps auto --workdir /home/user/sub w -- python3 -X dev tool
	prints 1 "nor for one of another directory"
	pinfold exec --deps auto w -- python3 bad.py
	refuses denied.name reqeusts "one that has a typing error"
	pinfold exec w -- rm -r bad.py sub
	pinfold log w
	check "looking at its programs is no point of its history" test "$(grep -c exec "$OUT")" = 6
	kept
}

# The lock of a workspace: written, used again, shown, changed.
kept()
{
	local before

	pinfold deps w
	check "its lock is shown by its name" grep -qE '^pear +1.5 .* main.py:1 import pear ' "$OUT"
	before=$(asked)
	pinfold exec --deps auto w -- sh -c 'echo "print(8)" >>local.py; python3 main.py; cat pinfold.lock'
	exits 0 "the next command has it"
	check "from the lock, without a word to the index" test "$(asked)" = "$before"
	check "which is there, inside" grep -q '"name":"pear"' "$OUT"
	pinfold exec w -- sh -c 'echo "import apple; print(apple.__version__)" >more.py'
	pinfold exec --deps auto w -- python3 more.py
	prints "2.0" "what a new program needs comes to it"
	pinfold deps --name w --json
	doc_is "apple pear" '" ".join(p["name"] for p in d["python"]["packages"])' "and to the lock"
	pinfold deps rm --name w pear
	exits 0 "a lock of a workspace is changed by name"
	pinfold deps scan --name w --json
	doc_is "apple pear" '" ".join(sorted(n["package"] for n in d["needs"]))' "programs of a workspace"
	pinfold undo w
	pinfold deps w
	check "changing it can be undone" grep -q 'import pear' "$OUT"
	pinfold exec w -- sh -c 'echo "{" >pinfold.lock'
	pinfold exec --deps auto w -- python3 main.py
	refuses invalid_argument pinfold.lock "a lock that is none"
	pinfold deps nosuch
	refuses invalid_argument nosuch "a workspace that is none"
}

manifest()
{
	local d=$W/project

	mkdir -p "$d"
	printf 'apple<2 # old\n-r more.txt\n' >"$d/requirements.txt"
	echo 'pear' >"$d/more.txt"
	echo "$APPLE" >"$d/main.py"
	own "$d"
	inside --deps manifest --dir "$d" --workdir /work -- python3 main.py
	prints "1.1 1.5" "requirements.txt"
	check "the directory is as it was" test "$(find "$d" -type f | wc -l)" = 3
	echo 'evil @ http://192.0.2.1/evil.whl' >>"$d/more.txt"
	inside --deps manifest --dir "$d" --workdir /work -- python3 main.py
	refuses unsupported evil "what is in no index"
}

# The lock of a directory: made, used, shown, changed.
# versions LOCK: who changes it moves nothing that he does not name; update moves all.
versions()
{
	local list='" ".join(p["name"] + " " + p["version"] for p in d["python"]["packages"])'

	pinfold deps add --lock "$1" apple==1.0
	sed -i 's/"apple==1.0"/"apple"/' "$1"
	pinfold deps add --json --lock "$1" lone
	doc_is "apple 1.0 lone 1.0 pear 1.5" "$list" "what is added moves nothing else"
	pinfold deps add --lock "$1" quarrel
	refuses conflict.versions apple "what needs another version of it"
	says "remedy: .*pinfold deps update" "and what to do"
	pinfold deps add --json --lock "$1" quarrel apple
	doc_is "apple 2.0 lone 1.0 pear 1.5 quarrel 1.0" "$list" "what is named may move"
	pinfold deps rm --json --lock "$1" apple
	doc_is "apple 2.0 lone 1.0 pear 1.5 quarrel 1.0" "$list" "what somebody else needs stays when it is removed"
	pinfold deps add --json --lock "$1" 'apple<3'
	pinfold deps rm --json --lock "$1" quarrel lone
	doc_is "apple 2.0 pear 1.5" "$list" "and goes with the last who does"
	pinfold deps add --lock "$1" apple==1.1
	sed -i 's/"apple==1.1"/"apple"/' "$1"
	pinfold deps update --json --lock "$1"
	doc_is "apple 2.0 pear 1.5" "$list" "update moves versions"
	pinfold deps add --lock "$1" apple==1.0 lone
	sed -i 's/"apple==1.0"/"apple"/' "$1"
	pinfold deps update --json --lock "$1" lone
	doc_is "apple 1.0 lone 1.0 pear 1.5" "$list" "of what is named alone"
	pinfold deps update --json --lock "$1" Apple
	doc_is "apple 2.0 lone 1.0 pear 1.5" "$list" "however it is spelt"
	pinfold deps update --lock "$1" plum
	refuses not_found "plum is not locked" "what is not there is not updated"
	pinfold deps update --lock "$1" 'apple<2'
	refuses invalid_argument "no name of a package" "nor versions"
	pinfold deps rm --lock "$1" lone
}

locked()
{
	local d=$W/locked before

	mkdir -p "$d"
	own "$d"
	pinfold deps add --lock "$d/pinfold.lock" 'apple<2'
	exits 0 "a lock"
	check "with what that needs" grep -q '"name":"pear"' "$d/pinfold.lock"
	pinfold deps fetch --lock "$d/pinfold.lock"
	exits 0 "is had"
	before=$(asked)
	echo "$APPLE" >"$d/main.py"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- python3 main.py
	prints "1.1 1.5" "and counts before what programs import"
	check "without a word to the index" test "$(asked)" = "$before"
	pinfold deps --lock "$d/pinfold.lock"
	check "who needs what" grep -qE '^pear +1.5 .* for apple ' "$OUT"
	pinfold deps --lock "$d/pinfold.lock" --sbom cyclonedx
	doc_is "pkg:pypi/apple@1.1" 'd["components"][0]["purl"]' "as CycloneDX"
	check "of its format" /usr/bin/python3 -I "$TEST_DIR/sbom.py" cyclonedx "$OUT" 2
	pinfold deps --lock "$d/pinfold.lock" --sbom spdx
	doc_is "SPDX-2.3" 'd["spdxVersion"]' "as SPDX"
	check "of its format, too" /usr/bin/python3 -I "$TEST_DIR/sbom.py" spdx "$OUT" 2
	doc_is "SPDXRef-Package-1 SPDXRef-Package-2" '" ".join(r["spdxElementId"] + " " + r["relatedSpdxElement"]
		for r in d["relationships"] if r["relationshipType"] == "DEPENDS_ON")' "with who needs whom"
	versions "$d/pinfold.lock"
	pinfold deps rm --lock "$d/pinfold.lock" apple
	check "nothing is left" test "$(cat "$d/pinfold.lock")" = '{"version": 1}'
	pinfold deps ls --json
	doc_has 'any(len(i["packages"]) == 2 for i in d["items"])' "layers are listed"
}

refused()
{
	inside --deps auto --lang python -c 'import reqeusts'
	refuses denied.name requests "a typing error"
	inside --deps auto --lang python -c 'import nosuchthing'
	refuses not_found.package nosuchthing "what the index does not have"
	inside --deps auto --lang python -c 'import tensrflwo'
	check "and the likely one is named" grep -q "is tensorflow meant?" "$ERR"
	inside --deps auto --lang python -c 'import utils'
	exits 1 "a name of people's own modules is asked of nobody"
	says "no module utils: a file of the program's own" "and it is said what may be missing"
	inside --deps retry --lang python -c '__import__("ut" + "ils")'
	exits 1 "nor with retry"
	inside --deps retry --lang python -c 'print(__import__("pe" + "ar").__version__)'
	prints 1.5 "what cannot be seen, with retry"
	check "is said" grep -q "no module of package python:pear: it is installed, for the program to be run again" "$ERR"
	inside_json --deps retry --lang python -c 'print(__import__("pe" + "ar").__version__)'
	doc_is "pear pear python True" '"{package} {module} {language}".format(**d["retried"]) + " " + str(
		d["retried"]["run"] != d["id"] and "no module pear" in d["retried"]["why"])' "and which, and why, in the result"
	inside --deps retry -- sh -c 'echo "Error: Cannot find module '"'pear'"'" >&2; exit 1'
	check "of the language that missed it, not of another that has one of its name" grep -q "package node:pear" "$ERR"
	exits 125 "which has none"
	inside --deps auto -- sh -c 'cd / && cat >/tmp/a.py <<END
import pear
print(pear.__version__)
END
python3 /tmp/a.py'
	prints 1.5 "a program that a shell is told to write and run"
	inside --deps auto --lang bash -c 'python3 -c "import pear; print(pear.__version__)" | cat'
	prints 1.5 "or is given as text"
	inside --deps auto -- env X=1 timeout 50 python3 -c 'import pear; print(pear.__version__)'
	prints 1.5 "behind what only starts it"
	inside_json --deps auto -- python3 -m pear
	doc_is pear '" ".join(p["name"] for p in d["packages"])' "a module that is started by its name"
	mkdir -p "$W/scripts"
	printf '#!/bin/sh -e\npython3 - <<END\nimport pear\nprint(pear.__version__)\nEND\n' >"$W/scripts/run"
	echo 'import lone; print("lone")' >"$W/scripts/main.py"
	chmod +x "$W/scripts/run"
	own "$W/scripts"
	inside --deps auto --dir "$W/scripts" --workdir /work -- ./run
	prints 1.5 "or what a script of the directory starts"
	inside --deps auto --dir "$W/scripts" --workdir /work -- sh -c 'python3 -c "import pear"; python3 main.py'
	prints lone "a text and a file, both"
	inside_json --deps retry --lang python -c '__import__("reqeu" + "sts")'
	doc_has '"retried" not in d and d["exit_code"] == 1' "a typing error is not tried again"
}

# The index is not reached, but it has said before what the same names come to, and the cache has them.
recalled()
{
	local outer=("${CALL_OUTER[@]}")

	inside --deps auto --lang python -c 'import lone, pear; print(1)'
	CALL_OUTER=(unshare -n)
	inside --deps auto --lang python -c 'import lone, pear; print(pear.__version__)'
	prints 1.5 "another program with the same imports needs no index that is down"
	inside --deps auto --lang python -c 'import lone, pear, apple'
	refuses timeout.index "does not answer" "one with others does"
	CALL_OUTER=("${outer[@]}")
}

# Nobody answers: which package it is about, and how to have it there beforehand.
offline()
{
	local d=$W/offline

	mkdir -p "$d"
	own "$d"
	pinfold deps add --lock "$d/pinfold.lock" lone
	pinfold deps gc --all
	rm -f "$M/home/deps/files/"*
	echo 'import lone; print(lone.value)' >"$d/main.py"
	own "$d"
	pinfold deps fetch --offline --lock "$d/pinfold.lock"
	refuses not_found.package "lone 1.0" "a lock that is not in the cache, --offline"
	says "remedy: .*pinfold deps fetch" "and how to have it there"
	index_at 9
	inside --deps auto --lang python -c 'import pear'
	refuses timeout.index pear "an index that is down"
	says "remedy: .*pinfold deps fetch" "and how to do without it"
	inside --deps auto --dir "$d" --workdir /work -- python3 main.py
	refuses timeout.index "lone 1.0" "and with a lock"
	says "remedy: .*pinfold deps fetch" "the same"
	index_at "$(cat "$INDEX/port")"
	pinfold deps fetch --lock "$d/pinfold.lock"
	index_at 9
	inside --deps auto --dir "$d" --workdir /work -- python3 main.py
	prints 42 "what was fetched needs no index"
	index_at "$(cat "$INDEX/port")"
}

checks()
{
	index || return
	first
	receipt
	replayed
	used
	table
	workspace
	shared
	[ "$MODE" = R ] || return 0
	whole
	manifest
	locked
	refused
	recalled
	offline
}

run_deps
