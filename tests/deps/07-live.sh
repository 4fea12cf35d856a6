#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages in sandboxes of the daemon: given along as descriptors, held while they are mounted.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"
. "$(dirname "$0")/../lib/daemon.sh"

APPLE='import apple; print(apple.__version__, apple.pear.__version__)'
BEST=()

one_shot()
{
	inside --daemon "${BEST[@]}" --deps auto --lang python -c "$APPLE"
	exits 0 "a run in the daemon"
	prints "2.0 1.5" "has what it imports"
	inside_json --daemon "${BEST[@]}" --package 'apple<2' --lang python -c "$APPLE"
	doc_is "1.1 1.5" 'd["stdout"]["text"].strip()' "and what is named"
	doc_is "apple 1.1,pear 1.5" '",".join(p["name"] + " " + p["version"] for p in d["packages"])' "it says so"
	doc_is "True True" '" ".join(str(p.get("imported")) for p in d["packages"])' "and that they were imported"
	inside_json --daemon "${BEST[@]}" --package 'apple<2' --lang python -c "import pear"
	doc_is "False True" '" ".join(str(p.get("imported")) for p in d["packages"])' "or which of them were not"
	inside --daemon "${BEST[@]}" --lang python -c "$APPLE"
	exits 1 "without them nothing is there"
}

# recorded SANDBOX LETTERS: a letter for each of its packages, when it has ended.
recorded()
{
	pinfold audit --sandbox "$1" --json
	grep -q "\"imported\":\"$2\".*sandbox.ended\|sandbox.ended.*\"imported\":\"$2\"" "$OUT"
}

live()
{
	local id

	pinfold run --detach "${BEST[@]}" --package apple
	exits 0 "a sandbox that lives, with packages"
	id=$(cat "$OUT")
	pinfold exec "$id" --lang python -c "$APPLE"
	prints "2.0 1.5" "a command in it has them"
	pinfold exec "$id" --json --lang python -c 'import pear'
	doc_is "apple 2.0 True,pear 1.5 True" '",".join(p["name"] + " " + p["version"] + " " + str(p.get("imported_so_far")) for p in d["packages"])' \
		"and its result says which, and what was imported so far"
	doc_has 'all(len(p["sha256"]) == 64 for p in d["packages"])' "with hashes"
	pinfold exec "$id" --lang python -c 'import apple
try:
    open(apple.pear.__file__, "a").write("\n__version__ = \"spoilt\"\n")
except OSError:
    pass'
	pinfold run "${BEST[@]}" --no-daemon --package apple --lang python -c "$APPLE"
	prints "2.0 1.5" "what is done to them there, nobody else sees"
	pinfold deps gc --all
	pinfold exec "$id" --lang python -c 'import apple; print(apple.__version__)'
	prints "2.0" "they are held while it lives"
	pinfold deps ls
	check "and not collected" grep -q apple "$OUT"
	pinfold exec "$id" --package pear -- true
	refuses unsupported "lives already" "later is too late"
	pinfold kill "$id"
	check "what its commands imported is on record" wait_for 10 recorded "$id" 11
	pinfold deps gc --all
	pinfold deps ls
	check "when it is gone they may go" test ! -s "$OUT"
}

refused()
{
	pinfold run --detach "${BEST[@]}" --deps auto
	refuses invalid_argument "neither a program nor a directory" "nothing to look at"
	pinfold run --detach "${BEST[@]}" --package reqeusts
	refuses denied "typing error" "a typing error"
	pinfold run --detach "${BEST[@]}" --package perl:apple
	refuses invalid_argument "packages of what" "a language that has none"
	pinfold run --detach "${BEST[@]}" --package ../apple
	refuses invalid_argument "no name of a package" "a path"
}

program()
{
	local id

	pinfold run --detach "${BEST[@]}" --deps auto --lang python -c "$APPLE"
	exits 0 "a detached program"
	id=$(cat "$OUT")
	pinfold logs --follow "$id"
	prints "2.0 1.5" "has what it imports"
	check "which is on record" wait_for 10 recorded "$id" 11
	pinfold run --detach "${BEST[@]}" --package apple
	id=$(cat "$OUT")
	pinfold exec "$id" -- true
	pinfold exec "$id" --lang python -c 'import pear'
	pinfold kill "$id"
	check "and what was not imported" wait_for 10 recorded "$id" 01
}

# Somebody else's, in root's daemon: his own layers, and nothing that only root may read.
other()
{
	chmod 0711 "$M/run"
	chmod 0666 "$M/run/daemon.sock"
	call_by 64101
	inside --daemon --package apple --lang python -c "$APPLE"
	prints "2.0 1.5" "an ordinary user's packages in root's daemon"
	CALL_WRAP=()
}

checks()
{
	index || return
	daemon_mode
	[ "$MODE" = R ] || BEST=(--limits best-effort)
	daemon_start --warm 0 --warm-python 0
	one_shot
	live
	if [ "$MODE" = R ]; then
		program
		refused
		other
	fi
	daemon_stop
}

run_deps
