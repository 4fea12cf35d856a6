#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pinfold deps scan: which packages programs need. The corpus has one program a file, as agents write
# them; its first line says what they need.
. "$(dirname "$0")/../lib/cli.sh"

# The answer for one program against its first line: a line for each that differs.
compare()
{
	/usr/bin/python3 -I - "$1" "$2" <<'EOF'
import json, os, sys
corpus, answers = sys.argv[1:]
files = sorted(os.listdir(corpus))
good = 0
for f in files:
    want = set(open(os.path.join(corpus, f)).readline().partition("needs:")[2].split()) - {'"]},'}
    try:
        d = json.load(open(os.path.join(answers, f)))
    except ValueError as e:
        print(f, "no document:", e)
        continue
    got = {n["package"] for n in d["needs"] if not n["optional"] and not n["own"]}
    if got == want:
        good += 1
    else:
        print(f, "missing", sorted(want - got), "too much", sorted(got - want))
print(good, "of", len(files))
EOF
}

# says_needs VALUE EXPRESSION NAME: of the document, `d`.
says_needs()
{
	check "$3" test "$(/usr/bin/python3 -I -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$OUT" "$2")" = "$1"
}

corpus()
{
	local f answers=$EVIDENCE/answers

	needs node node && needs Rscript R || return 0
	mkdir -p "$answers"
	cp -r "$TEST_DIR/../deps/corpus" "$W/corpus"
	own "$W"
	for f in "$W/corpus/"*; do
		pinfold deps scan --json "$f"
		cp "$OUT" "$answers/${f##*/}"
	done
	compare "$W/corpus" "$answers" >"$EVIDENCE/differs"
	diag "$(cat "$EVIDENCE/differs")"
	mkdir "$W/sourced"
	printf 'source("part.R")\nf(, 2)\n' >"$W/sourced/main.R"
	echo 'library(zoo)' >"$W/sourced/part.R"
	own "$W"
	pinfold deps scan --json "$W/sourced/main.R"
	says_needs "[('part.R', 'zoo')]" '[(n["file"], n["package"]) for n in d["needs"]]' "what R's source() reads counts"
	check "every program of the corpus" grep -qx "168 of 168" "$EVIDENCE/differs"
}

# Packages of the project's own workspaces, and aliases of its compiler, are nobody else's.
aliases()
{
	local d=$W/mono

	mkdir -p "$d/packages/utils" "$d/packages/app/src/components"
	echo '{"name": "@acme/utils"}' >"$d/packages/utils/package.json"
	echo 'import { nanoid } from "nanoid"' >"$d/packages/utils/index.ts"
	echo '{"compilerOptions": {"baseUrl": "./src", /* , */ "paths": {"@lib/*": ["lib/*"], /* x */},},}' >"$d/packages/app/tsconfig.json"
	printf 'import "%s";\n' @acme/utils @acme/utils/x @lib/api express components/thing '$lib/x' @other/lib >"$d/packages/app/src/a.ts"
	touch "$d/packages/app/src/components/thing.ts"
	own "$d"
	pinfold deps scan "$d"
	check "of a project with workspaces" test "$(awk '{print $1}' "$OUT" | sort | tr '\n' ' ')" = "@other/lib express nanoid "
}

project()
{
	local d=$W/project

	mkdir -p "$d/app/sub" "$d/src/inner" "$d/.venv/lib" "$d/node_modules/x"
	echo 'import requests; from . import sub; from .sub import deep; from ..x import y' >"$d/app/helper.py"
	echo 'import bs4' >"$d/app/sub/deep.py"
	touch "$d/app/__init__.py" "$d/app/sub/__init__.py" "$d/src/inner/__init__.py"
	echo 'import app.helper, inner, reqeusts' >"$d/main.py"
	echo 'import alone' >"$d/other.py"
	echo 'import hidden' >"$d/.venv/lib/x.py"
	printf 'print "old"\nimport oldmod\n' >"$d/old.py"
	printf '%s' '{"cells":[{"cell_type":"code","source":["%matplotlib inline\n","!pip install x\n","import seaborn\n"]},
		{"cell_type":"markdown","source":"import no"}]}' >"$d/book.ipynb"
	printf '%s' '{"cells":[{"cell_type":"code","source":"%%time\nimport shap\nshap?\nx = !ls"}, {"cell_type":"code",
		"source":["%%bash\n","import no"]}, {"cell_type":"code","source":["import tqdm\n","print 1"]}]}' >"$d/broken.ipynb"
	ln -s /etc/passwd "$d/link.py"
	mkfifo "$d/fifo.py"
	own "$W"
	pinfold deps scan --json "$d/main.py"
	says_needs "['bs4', 'reqeusts', 'requests']" 'sorted(n["import"] for n in d["needs"])' "a program and what it imports of its directory"
	says_needs "['requests']" '[n["meant"] for n in d["needs"] if n["import"] == "reqeusts"]' "a typing error is named"
	pinfold deps scan --json "$d"
	says_needs "['alone', 'bs4', 'oldmod', 'reqeusts', 'requests', 'seaborn', 'shap', 'tqdm']" \
		'sorted(n["import"] for n in d["needs"])' "all programs of a directory"
	says_needs "[('broken.ipynb', 6), ('old.py', 1)]" 'sorted((u["file"], u["line"]) for u in d["unread"] if u["line"])' "what cannot be parsed is named"
	pinfold deps scan "$d"
	check "for people" grep -q '^! reqeusts .*main.py:1 import reqeusts: did somebody mean requests$' "$OUT"
	says "old.py:1: " "and what could not be read"
	check "nothing was executed or left" test ! -e "$d/__pycache__"
	mkdir "$d/lib2"
	printf 'import utils\nimport measures\n' >"$d/own.py"
	touch "$d/lib2/measures.py" "$d/lib2/requests.py"
	own "$d"
	pinfold deps scan --json "$d/own.py"
	says_needs "[('measures', True), ('utils', True)]" 'sorted((n["import"], n["own"]) for n in d["needs"])' "modules of its own"
	printf 'import urllib2, StringIO, maya.cmds, google\nfrom google.cloud import storage, bigquery_v2, Client\n' >"$d/strange.py"
	own "$d"
	pinfold deps scan --json "$d/strange.py"
	says_needs "StringIO google maya urllib2" '" ".join(sorted(n["import"] for n in d["needs"] if n["own"]))' \
		"what comes with Python 2 or with another program is of no package"
	says_needs "google-cloud-bigquery google-cloud-storage" \
		'" ".join(sorted(n["package"] for n in d["needs"] if not n["own"]))' "every part of a namespace that is imported counts"
	printf 'import esm as e, marker, agents\nimport cv2\ncv2.imread("a.png")\n' >"$d/several.py"
	own "$d"
	pinfold deps scan --json "$d/several.py"
	says_needs "esm:fair-esm,esm marker:marker-pdf,marker" \
		'" ".join(n["import"] + ":" + ",".join(n["candidates"]) for n in d["needs"] if n["candidates"])' \
		"a module that several packages have"
	says_needs "opencv-python-headless" '" ".join(n["package"] for n in d["needs"] if n["import"] == "cv2")' "one that has a usual one"
	pinfold deps scan "$d/several.py"
	check "is asked for" grep -q '^! fair-esm .*several.py:1 import esm: several have it: fair-esm or esm$' "$OUT"
	inside --deps auto --lang python -c 'import pybel'
	refuses denied.name "openbabel-wheel or pybel" "and nothing is installed until somebody says which"
	pinfold deps scan --json "$d/main.py"
	says_needs "[('requests', False)]" '[(n["import"], n["own"]) for n in d["needs"] if n["import"] == "requests"]' "a well-known name is none of them"
	pinfold deps scan "$d/nosuch"
	refuses not_found nosuch "a directory that is not there"
	mkdir "$W/none"
	own "$W"
	pinfold deps scan "$W/none"
	says "no programs" "a directory without programs says so"
	if [ -x /usr/bin/node ]; then
		mkdir "$W/scripts"
		echo 'import "left-pad"' >"$W/scripts/a.mts"
		own "$W"
		pinfold deps scan --json "$W/scripts"
		says_needs "('node', ['left-pad'])" '(d["language"], [n["import"] for n in d["needs"]])' "a directory with programs of node alone"
		echo 'import orjson' >"$W/scripts/b.py"
		own "$W"
		pinfold deps scan --json "$W/scripts"
		says_needs "('python', ['orjson'], [('node', ['left-pad'])])" '(d["language"], [n["import"] for n in d["needs"]],
			[(m["language"], [n["import"] for n in m["needs"]]) for m in d["more"]])' "one with programs of two languages"
		pinfold deps scan "$W/scripts"
		check "and what each of them needs" test "$(awk '{print $1}' "$OUT" | tr '\n' ' ')" = "orjson node:left-pad "
		aliases
		pinfold deps scan --lang node "$W/scripts"
		check "or of one that is named" test "$(awk '{print $1}' "$OUT" | tr '\n' ' ')" = "left-pad "
	fi
	mkdir -p "$W/packed/tool/sub"
	touch "$W/packed/tool/__init__.py" "$W/packed/tool/sub/__init__.py"
	echo 'from tool.sub.cli import main' >"$W/packed/tool/__main__.py"
	echo 'import click, tool.sub' >"$W/packed/tool/sub/cli.py"
	own "$W"
	pinfold deps scan --json "$W/packed/tool/__main__.py"
	says_needs "['click']" '[n["import"] for n in d["needs"]]' "a program inside a package knows that package"
	printf '# /// script\n# dependencies = ["flask>=3"]\n# ///\nimport click\n' >"$W/packed/said.py"
	own "$W"
	pinfold deps scan "$W/packed/said.py"
	check "a program that says itself what it needs" grep -qx '  flask  *said.py:1 asks for flask>=3' "$OUT"
	pinfold deps --json scan "$d/own.py"
	says_needs 2 'len(d["needs"])' "options in front of the word"
	CALL_ENV=(PINFOLD_DEPS=atuo)
	inside -- true
	refuses invalid_argument atuo "a default that nobody understands"
	CALL_ENV=()
	pinfold deps
	refuses not_found pinfold.lock "no lock"
	pinfold deps help
	check "help" grep -q '^Usage: pinfold deps ' "$OUT"
	pinfold deps frob
	refuses invalid_argument frob "nothing that can be done"
	pinfold deps scan --lang bash "$d"
	refuses invalid_argument bash "a language without imports"
}

# Files are not parsed whole, and not again when they are as they were.
quick()
{
	local d=$W/quick

	/usr/bin/python3 -I "$PROJECT_DIR/tests/deps/same.py" "$PROJECT_DIR/src/deps/scan.py" \
		"$(/usr/bin/python3 -I -c 'import os; print(os.path.dirname(os.__file__))')" 12 >"$EVIDENCE/same"
	check "what a parser of whole files finds" test $? = 0
	diag "$(tail -n 3 "$EVIDENCE/same")"
	check "a part of a namespace is not there because another is" /usr/bin/python3 -I - "$PROJECT_DIR/src/deps/scan.py" "$W" <<'EOF'
import os, runpy, sys
scan, top = runpy.run_path(sys.argv[1]), sys.argv[2] + "/shared"
os.makedirs(top + "/google/protobuf")
open(top + "/google/protobuf/__init__.py", "w").close()
sys.path.insert(0, top)
there = {"google": "1"}
assert scan["is_there"]("google.cloud.storage", there) is None
assert scan["is_there"]("google.protobuf.message", there) == ""
EOF
	mkdir -p "$d"
	echo 'import first' >"$d/a.py"
	own "$W"
	pinfold deps scan --json "$d"
	cp "$OUT" "$EVIDENCE/first"
	pinfold deps scan --json "$d"
	check "the same again" cmp -s "$OUT" "$EVIDENCE/first"
	echo 'import other' >"$d/a.py"
	pinfold deps scan --json "$d"
	says_needs "['other']" '[n["import"] for n in d["needs"]]' "a file that changed is read"
	echo 'import first' >"$d/tool"
	pinfold deps scan --json "$d/tool"
	echo 'import other' >"$d/tool"
	pinfold deps scan --json "$d/tool"
	says_needs "['other']" '[n["import"] for n in d["needs"]]' "also one whose name says nothing"
}

checks()
{
	# What is in a program does not depend on who asks.
	[ "$MODE" = R ] || [ "$EUID" != 0 ] && { corpus; quick; }
	project
}

run_checks
