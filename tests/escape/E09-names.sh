#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: json-escape, files-bound, ref-naive
#
# Names are bytes. Listing, hashing and removing what a run left must give them back exactly or
# leave them out by count; paths that are too long, too deep or too many cost bounded time.
. "$(dirname "$0")/../lib/escape.sh"

claim "E09 odd, long, deep and many names are read back exactly or counted"

# A name that is not UTF-8 comes whole in path_base64.
EXACT='(lambda want, got: sorted(n for n in want if got.get(n) != hashlib.sha256(n).hexdigest()))(
	[bytes.fromhex(x) for x in a[0].split()],
	{(__import__("base64").b64decode(f["path_base64"]) if "path_base64" in f
	  else f["path"].encode()).rpartition(b"/")[2]: f.get("sha256")
	 for f in d["files"]}).__repr__()'

hex_names()
{
	/usr/bin/python3 -I -c '
import ast, sys
tree = ast.parse(open(sys.argv[1]).read())
odd = next(n for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "ODD")
print(*(n.hex() for n in eval(compile(ast.Expression(odd.value), "", "eval"))))' "$CASE_STEM.py"
}

attack()
{
	cp "$CASE_STEM.py" "$BIN/names.py"
	chmod 0644 "$BIN/names.py"
	INSIDE_SECONDS=60
	inside_json --dir "$BIN" -- python3 -I /work/names.py odd
	ran
	same "made" "$(cat "$OUT")" made
	same "names that are wrong or missing" "$(json "$EXACT" "$(hex_names)")" '[]'
	same "lines of the document" "$(wc -l <"$JSON")" 1

	inside_json --dir "$BIN" --disk 256M -- python3 -I /work/names.py deep
	ran
	same "made" "$(cat "$OUT")" made
	same "what is too deep to be named is counted" "$(json \
		'[len(d["files"]) > 10, d.get("files_omitted", 0) > 0]')" '[true, true]'

	inside_json --dir "$BIN" --disk 256M -- python3 -I /work/names.py many
	ran
	same "made" "$(cat "$OUT")" made
	same "listed at most 1000, the rest counted" "$(json \
		'[len(d["files"]) <= 1000, len(d["files"]) + d["files_omitted"]]')" '[true, 50001]'
}

run_case
