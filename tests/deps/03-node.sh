#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of node, from what a program imports to a layer that sandboxes share.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

PLUM='const p = require("plum"); console.log(p.version, p.fig, require("plum/lib/part"))'

first()
{
	local before

	inside_json --deps auto --lang node -c "$PLUM"
	exits 0 "a program that requires a package"
	doc_is "2.0.0 1.5.0 part" 'd["stdout"]["text"].strip()' "has it, and what that needs"
	doc_is "fig 1.5.0,plum 2.0.0" '",".join(p["name"] + " " + p["version"] for p in d["packages"])' \
		"and the result says so"
	inside_json --package plum --lang node -c 'require("fig"); require("fs").readdirSync("/node_modules/plum")'
	doc_is "fig:True plum:False" '" ".join(p["name"] + ":" + str(p.get("imported")) for p in d["packages"])' \
		"and which of them it used"
	before=$(asked)
	inside --deps auto --lang node --workdir /tmp -c "$PLUM"
	prints "2.0.0 1.5.0 part" "again, from another directory"
	check "without a word to the registry" test "$(asked)" = "$before"
	inside --lang node -c "$PLUM"
	exits 1 "without --deps it is not there"
	check "and it is said what would have it" grep -q "package plum would have it" "$ERR"
}

# By import, by a scope, below a name; the same name twice; commands; what one changes.
project()
{
	local d=$W/project

	mkdir -p "$d/src"
	cat >"$d/src/main.mjs" <<-'END'
		import { name } from "@orchard/quince";
		import a from "@orchard/quince/a";
		import long from "@orchard/quince/long";
		import plum from "plum";
		import damson from "damson";
		import fs from "node:fs";
		import { appendFileSync } from "fs";
		const hedge = await import("hedge");
		console.log(name, a, long, plum.fig, damson.fig, hedge.default);
		try {
			appendFileSync("/node_modules/plum/index.js", "exports.fig = 'spoilt';");
		} catch {}
	END
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node src/main.mjs
	prints "quince a long 1.5.0 2.0.0 hedge" "import, scopes, subpaths, two versions, another platform's left out"
	inside --deps auto --dir "$d" --workdir /work -- node src/main.mjs
	prints "quince a long 1.5.0 2.0.0 hedge" "what one changes, the next does not see"
	check "the directory is as it was" test "$(find "$d" -type f | wc -l)" = 1
}

# A project of several packages: what any of them needs, and none of themselves.
members()
{
	local d=$W/members

	mkdir -p "$d/packages/a" "$d/packages/b"
	echo '{"workspaces": ["packages/*"]}' >"$d/package.json"
	echo '{"name": "@acme/a", "dependencies": {"plum": "^1.0.0"}}' >"$d/packages/a/package.json"
	echo '{"name": "@acme/b", "dependencies": {"@acme/a": "*", "fig": "*"}}' >"$d/packages/b/package.json"
	echo "$PLUM" >"$d/packages/b/main.js"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node packages/b/main.js
	prints "1.2.0 1.5.0 part" "a project with workspaces"
	cat >"$d/package-lock.json" <<-'END'
		{"lockfileVersion": 3, "requires": true, "packages": {"": {"workspaces": ["packages/*"]},
		 "node_modules/@acme/a": {"resolved": "packages/a", "link": true}, "node_modules/@acme/b": {"resolved": "packages/b", "link": true},
		 "packages/a": {"name": "@acme/a", "dependencies": {"plum": "^1.0.0"}},
		 "packages/b": {"name": "@acme/b", "dependencies": {"@acme/a": "*", "fig": "*"}},
		 "node_modules/plum": {"version": "1.0.0", "dependencies": {"fig": "^1.0.0"}}, "node_modules/fig": {"version": "1.5.0"}}}
	END
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node packages/b/main.js
	prints "1.0.0 1.5.0 part" "and with their lock"
}

# package.json counts before what programs import, and its lock before that.
manifest()
{
	local d=$W/manifest

	mkdir -p "$d"
	echo '{"dependencies": {"plum": "^1.0.0"}, "devDependencies": {"cutter": "*"}}' >"$d/package.json"
	echo "$PLUM" >"$d/main.js"
	own "$d"
	inside --deps manifest --dir "$d" --workdir /work -- node main.js
	prints "1.2.0 1.5.0 part" "package.json"
	# shellcheck disable=SC2016 # for the shell inside
	inside --deps manifest --dir "$d" --workdir /work -- \
		sh -c 'cutter; readlink -f "$(command -v sh)" | grep -c node_modules'
	prints "cut
0" "and a command of a package, which hides none of the host's"
	cat >"$d/package-lock.json" <<-'END'
		{"lockfileVersion": 3, "requires": true, "packages": {
		 "": {"dependencies": {"plum": "^1.0.0"}},
		 "node_modules/plum": {"version": "1.0.0", "dependencies": {"fig": "^1.0.0"},
		  "resolved": "https://registry.example/plum/-/plum-1.0.0.tgz"},
		 "node_modules/fig": {"version": "1.5.0", "resolved": "https://registry.example/fig/-/fig-1.5.0.tgz"}}}
	END
	echo '{"dependencies": {"plum": "^1.0.0"}}' >"$d/package.json"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	prints "1.0.0 1.5.0 part" "package-lock.json"
	cat >"$d/package-lock.json" <<-'END'
		{"lockfileVersion": 3, "requires": true, "packages": {
		 "": {"dependencies": {"plum": "^1.0.0"}},
		 "node_modules/plum": {"version": "1.0.0", "dependencies": {"fig": "^1.0.0"}},
		 "node_modules/fig": {"version": "1.5.0"}}}
	END
	own "$d"
	pinfold deps gc --all
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	prints "1.0.0 1.5.0 part" "one that names no places (omit-lockfile-registry-resolved)"
	members
	echo '{"dependencies": {"evil": "git+https://192.0.2.1/evil"}}' >"$d/package.json"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	refuses unsupported evil "what is in no registry"
}

locked()
{
	local d=$W/locked before

	mkdir -p "$d"
	own "$d"
	pinfold deps add --lang node --lock "$d/pinfold.lock" 'plum@1'
	exits 0 "a lock"
	check "who needs what" grep -qE '^fig +1.5.0 .* for plum ' "$OUT"
	pinfold deps fetch --lock "$d/pinfold.lock"
	exits 0 "is had"
	before=$(asked)
	echo "$PLUM" >"$d/main.js"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	prints "1.2.0 1.5.0 part" "and counts before what programs import"
	check "without a word to the registry" test "$(asked)" = "$before"
	pinfold deps --lock "$d/pinfold.lock" --sbom cyclonedx
	doc_is "pkg:npm/fig@1.5.0" 'd["components"][0]["purl"]' "as CycloneDX"
	check "of its format" /usr/bin/python3 -I "$TEST_DIR/sbom.py" cyclonedx "$OUT"
	pinfold deps --lock "$d/pinfold.lock" --sbom spdx
	check "and as SPDX" /usr/bin/python3 -I "$TEST_DIR/sbom.py" spdx "$OUT"
	pinfold deps add --lang node --lock "$d/pinfold.lock" 'evil@file:../evil'
	refuses invalid_argument "" "what is no name"
	pinfold deps rm --lock "$d/pinfold.lock" plum
	check "nothing is left" test "$(cat "$d/pinfold.lock")" = '{"version": 1}'
}

# Nothing is in the cache: small files come before large ones, and all of them once.
fetched()
{
	local d=$W/fetched

	mkdir -p "$d"
	own "$d"
	pinfold deps add --lang node --lock "$d/pinfold.lock" boulder
	exits 0 "a lock with a large package"
	pinfold deps gc --all
	rm -rf "$M/home/deps"
	pinfold deps fetch --lock "$d/pinfold.lock"
	exits 0 "is fetched whole"
	echo 'console.log(require("boulder").bytes, require("plum").version)' >"$d/main.js"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	prints "3145728 1.2.0" "and what came is what was asked for"
}

refused()
{
	inside --deps auto --lang node -c 'require("expresss")'
	refuses denied.name express "a typing error"
	inside --deps auto --lang node -c 'require("nosuchthing")'
	refuses not_found.package nosuchthing "what the registry does not have"
	inside --deps retry --lang node -c 'console.log(require("fi" + "g").version)'
	prints 2.0.0 "what cannot be seen, with retry"
	check "and it is said" grep -q "run again" "$ERR"
}

# Nobody answers: which package it is about, and how to have it there beforehand.
offline()
{
	index_at 9
	inside --deps auto --lang node -c 'require("damson")'
	refuses timeout.index damson "a registry that is down"
	says "remedy: .*pinfold deps fetch" "and how to do without it"
	check "no file inside is named" test "$(grep -c 'complete log' "$ERR")" = 0
	index_at "$(cat "$INDEX/port")"
}

checks()
{
	index registry.py || return
	first
	[ "$MODE" = R ] || return 0
	project
	manifest
	locked
	fetched
	refused
	offline
}

run_deps npm
