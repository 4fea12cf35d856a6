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
    want = set(open(os.path.join(corpus, f)).readline().partition("needs:")[2].split())
    try:
        d = json.load(open(os.path.join(answers, f)))
    except ValueError as e:
        print(f, "no document:", e)
        continue
    got = {n["package"] for n in d["needs"] if not n["optional"]}
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
	check "every program of the corpus" grep -qx "60 of 60" "$EVIDENCE/differs"
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
	ln -s /etc/passwd "$d/link.py"
	mkfifo "$d/fifo.py"
	own "$W"
	pinfold deps scan --json "$d/main.py"
	says_needs "['bs4', 'reqeusts', 'requests']" 'sorted(n["import"] for n in d["needs"])' "a program and what it imports of its directory"
	says_needs "['requests']" '[n["meant"] for n in d["needs"] if n["import"] == "reqeusts"]' "a typing error is named"
	pinfold deps scan --json "$d"
	says_needs "['alone', 'bs4', 'oldmod', 'reqeusts', 'requests', 'seaborn']" \
		'sorted(n["import"] for n in d["needs"])' "all programs of a directory"
	says_needs "[('old.py', 1)]" '[(u["file"], u["line"]) for u in d["unread"] if u["file"] == "old.py"]' "what cannot be parsed is named"
	pinfold deps scan "$d"
	check "for people" grep -q '^! reqeusts .*main.py:1 import reqeusts: did somebody mean requests$' "$OUT"
	says "old.py:1: " "and what could not be read"
	check "nothing was executed or left" test ! -e "$d/__pycache__"
	pinfold deps scan "$d/nosuch"
	exits 125 "a directory that is not there"
	pinfold deps
	refuses invalid_argument deps "nothing to do"
	pinfold deps scan --lang bash "$d"
	refuses invalid_argument bash "a language without imports"
}

checks()
{
	# What is in a program does not depend on who asks.
	[ "$MODE" = R ] || [ "$EUID" != 0 ] && corpus
	project
}

run_checks
