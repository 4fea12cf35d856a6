#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of R: by imports, manifest, lock, and when they were missing.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

DAMSON='library(damson); cat(damson(), "\n")'

first()
{
	local before

	inside_json --deps auto --lang r -c "$DAMSON"
	exits 0 "a program with library()"
	doc_is "damson on 1.2" 'd["stdout"]["text"].strip()' "has it, and what that needs"
	doc_is "damson 2.0-1,plum 1.2" '",".join(p["name"] + " " + p["version"] for p in d["packages"])' \
		"and the result says so"
	inside_json --package damson --lang r -c 'loadNamespace("plum"); nrow(installed.packages())'
	doc_is "damson:False plum:True" '" ".join(p["name"] + ":" + str(p.get("imported")) for p in d["packages"])' \
		"and which of them it used"
	before=$(asked)
	inside --deps auto --lang r -c "$DAMSON"
	prints "damson on 1.2 " "again"
	check "without a word to the index" test "$(asked)" = "$before"
	inside --lang r -c $'cat("a",\n\t"b\tc", "\\n")'
	prints $'a b\tc ' "tabs in a program are what they are"
}

# What nothing was inferred for: named, then had.
missed()
{
	local code='f <- function(p) library(p, character.only = TRUE); f("plum"); cat(plum(), "\n")'

	inside --lang r -c "$code"
	exits 1 "a package that nobody could see"
	check "is named" grep -q "package plum would have it" "$ERR"
	inside --deps retry --lang r -c "$code"
	exits 0 "and had, once more"
	check "which is said" grep -q "run again" "$ERR"
}

manifests()
{
	local d=$W/project

	mkdir -p "$d"
	printf 'Package: mine\nVersion: 0.1\nDepends: R (>= 3.5), methods\nImports: damson (>= 2.0)\n' >"$d/DESCRIPTION"
	echo "$DAMSON" >"$d/main.R"
	own "$d" "$d/DESCRIPTION" "$d/main.R"
	inside --dir "$d" --workdir /work --deps manifest -- Rscript main.R
	prints "damson on 1.2 " "DESCRIPTION"
	echo '{"Packages": {"plum": {"Package": "plum", "Version": "1.0", "Source": "Repository"}}}' >"$d/renv.lock"
	own "$d/renv.lock"
	inside --dir "$d" --workdir /work --deps manifest -- Rscript -e 'cat(plum::plum(), "\n")'
	prints "1.0 " "renv.lock, with a version of the archive"
	pinfold deps add --lang r --lock "$d/pinfold.lock" 'plum==1.0'
	exits 0 "a lock"
	pinfold deps --lock "$d/pinfold.lock" --sbom cyclonedx
	check "and its bill of materials" grep -q 'pkg:cran/plum@1.0' "$OUT"
	sed -i 's/"sha256":"[0-9a-f]*"/"sha256":"'"$(printf '%064d' 0)"'"/' "$d/pinfold.lock"
	pinfold deps fetch --lock "$d/pinfold.lock"
	refuses conflict "hash of the lock" "a lock with another hash"
}

checks()
{
	index cran.py || return
	CALL_ENV+=("CRAN=http://127.0.0.1:$(cat "$INDEX/port")")
	first
	[ "$MODE" = U ] && return
	missed
	manifests
}

run_deps Rscript
