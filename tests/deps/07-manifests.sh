#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: package-index
#
# What a project says that it needs: hashes are held, locks of other tools count for this platform and without
# their groups for development, and no file says which index is asked.
. "$(dirname "$0")/../lib/deps.sh"

ZERO=$(printf '0%.0s' {1..64})

# hash_of FILE: of the index.
hash_of()
{
	nsenter "--net=/proc/$INDEX_PID/ns/net" /usr/bin/python3 -I -c 'import hashlib, sys, urllib.request
print(hashlib.sha256(urllib.request.urlopen(sys.argv[1]).read()).hexdigest())' \
		"http://127.0.0.1:$(cat "$INDEX/port")/files/$1"
}

# project FILE: a directory with a program, and standard input as that file of it.
project()
{
	D=$W/project
	rm -rf "$D"
	mkdir -p "$D"
	echo 'import apple; print(apple.__version__)' >"$D/main.py"
	cat >"$D/$1"
}

try()
{
	own "$D"
	inside --deps manifest --dir "$D" --workdir /work -- python3 main.py
}

# asks WANT NAME: what the directory asks for, with the first letters of hashes, and what is in no index.
asks()
{
	check "$2: $1" test "$(/usr/bin/python3 -I "$PROJECT_DIR/src/deps/manifest.py" "$D" | /usr/bin/python3 -I -c '
import json, sys
d = json.load(sys.stdin)
hashes = (d["given"] or {}).get("hashes", {})
print(*[a + "".join("#" + h[7:11] for h in hashes.get(a.split("=")[0], [])) for a in d["asked"]],
      *["left: " + w for w in d["left"]], *filter(None, [d["why"]]))')" = "$1"
}

hashes()
{
	project requirements.txt <<<"apple==1.1 --hash=sha256:$ZERO"
	try
	refuses conflict.hash apple "a hash that no file of the index has"
	printf 'apple==1.1 --hash=sha256:%s\npear\n' "$ZERO" >"$D/requirements.txt"
	try
	refuses conflict.hash apple "the same, where others have none"
	printf 'apple==1.1 --hash=sha256:%s \\\n --hash=sha256:%s\npear==1.5 --hash=sha256:%s\n' "$ZERO" "$APPLE" "$PEAR" \
		>"$D/requirements.txt"
	try
	prints 1.1 "one of several that it has"
	echo "apple==1.1 --hash=md5:$ZERO" >"$D/requirements.txt"
	asks "apple==1.1 a hash of apple==1.1 is none that could be checked" "a hash that nobody should trust"
}

# A manifest that stands in the program (PEP 723).
itself()
{
	project README <<<x
	{
		printf '# /// script\n# requires-python = ">=3.8"\n# dependencies = [\n#   "apple<2",\n# ]\n# ///\n'
		printf 'import apple\nif not apple: import nosuchpackageatall\nprint(apple.__version__)\n'
	} >"$D/main.py"
	try
	prints 1.1 "a program that says itself what it needs"
	inside --deps auto --lang python -c "$(cat "$D/main.py")"
	prints 1.1 "the same as text, and what else it imports is not asked for"
	sed -i 's|apple<2|apple @ http://192.0.2.1/apple-1.1-py3-none-any.whl|' "$D/main.py"
	try
	refuses unsupported "main.py:1" "a URL there is no package of an index"
}

requirements()
{
	project requirements.txt <<<'--index-url http://192.0.2.1/simple
apple'
	try
	refuses denied.index 192.0.2.1 "a file that names an index of its own"
	printf -- '-c limits.txt\napple\n' >"$D/requirements.txt"
	echo 'apple<1.1' >"$D/limits.txt"
	try
	prints 1.0 "constraints"
	printf -- '-e .\napple\n' >"$D/requirements.txt"
	try
	refuses unsupported "-e ." "a directory"
	printf -- '-r nosuch.txt\napple\n' >"$D/requirements.txt"
	asks "nosuch.txt is not there" "a file that is not there"
	printf 'apple<2\r\npear\r\n' | iconv -t UTF-16 >"$D/requirements.txt"
	asks "apple<2 pear" "as PowerShell writes it"
	printf '\357\273\277apple\n' >"$D/requirements.txt"
	asks "apple" "with a mark of UTF-8"
	rm "$D/requirements.txt"
	printf '[tool.poetry.dependencies]\npython = "^3.8"\napple = [{version = "^1.0", python = ">=3"}, {version = "^9", python = "<3"}]\nwinonly = {version = "*", markers = "sys_platform == '"'win32'"'"}\n' \
		>"$D/pyproject.toml"
	asks "apple>=1.0,<2" "pyproject.toml of poetry"
	printf '[project]\nname = "x"\ndependencies = ["apple<1.1", "winonly; sys_platform == '"'win32'"'"]\n' >"$D/pyproject.toml"
	asks "apple<1.1 winonly; sys_platform == 'win32'" "pyproject.toml"
	printf '[project]\nname = "x"\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = {file = ["needs.in"]}\n' \
		>"$D/pyproject.toml"
	echo 'pear # by setuptools' >"$D/needs.in"
	asks "pear" "pyproject.toml that leaves them to a file"
	printf '[tool.poetry.dependencies]\napple = {path = "../apple"}\n' >"$D/pyproject.toml"
	asks "left: apple of path" "a name that is meant to be a directory's"
	rm "$D/pyproject.toml"
	printf '[packages]\napple = "*"\npear = {version = ">=1", extras = ["x"]}\nwin = {version = "*", markers = "os_name == '"'nt'"'"}\nown = {path = "."}\n[dev-packages]\nlone = "*"\n' \
		>"$D/Pipfile"
	asks "apple pear[x]>=1 left: own" "Pipfile without a lock"
}

# Each lock has what is for another system, and what is for development; the index has neither.
poetry()
{
	project poetry.lock <<END
[[package]]
name = "apple"
version = "1.1"
groups = ["main"]
files = [{file = "apple", hash = "sha256:$APPLE"}]
[[package]]
name = "pear"
version = "1.5"
groups = ["main", "dev"]
files = [{file = "pear", hash = "sha256:$PEAR"}]
[[package]]
name = "winonly"
version = "1.0"
groups = ["main"]
markers = "sys_platform == \"win32\""
[[package]]
name = "devonly"
version = "1.0"
groups = ["dev"]
END
	asks "apple==1.1#${APPLE:0:4} pear==1.5#${PEAR:0:4}" "poetry.lock with groups"
	try
	prints 1.1 "is installed"
	sed -i "s/$PEAR/$ZERO/" "$D/poetry.lock"
	try
	refuses conflict.hash pear "its hashes are held"
	project poetry.lock <<END
[[package]]
name = "apple"
version = "1.1"
python-versions = ">=3.7"
files = [{file = "apple", hash = "sha256:$APPLE"}]
[package.dependencies]
pear = ">=1"
winonly = {version = "*", markers = "sys_platform == \"win32\""}
[[package]]
name = "pear"
version = "1.5"
python-versions = "*"
files = [{file = "pear", hash = "sha256:$PEAR"}]
[[package]]
name = "winonly"
version = "1.0"
python-versions = "*"
[[package]]
name = "devonly"
version = "1.0"
python-versions = "*"
END
	printf '[tool.poetry.dependencies]\napple = "^1.0"\n[tool.poetry.group.dev.dependencies]\ndevonly = "*"\n' >"$D/pyproject.toml"
	asks "apple==1.1#${APPLE:0:4} pear==1.5#${PEAR:0:4}" "poetry.lock without groups, by pyproject.toml"
}

uv()
{
	project uv.lock <<END
version = 1
[[package]]
name = "project"
version = "0.1"
source = { virtual = "." }
dependencies = [{ name = "apple" }, { name = "winonly", marker = "sys_platform == 'win32'" }]
[package.dev-dependencies]
dev = [{ name = "devonly" }]
[[package]]
name = "apple"
version = "1.0"
source = { registry = "https://index.example/simple" }
resolution-markers = ["python_full_version < '3'"]
[[package]]
name = "apple"
version = "1.1"
source = { registry = "https://index.example/simple" }
resolution-markers = ["python_full_version >= '3'"]
dependencies = [{ name = "pear" }]
wheels = [{ url = "x", hash = "sha256:$APPLE" }]
[[package]]
name = "pear"
version = "1.5"
source = { registry = "https://index.example/simple" }
wheels = [{ url = "x", hash = "sha256:$PEAR" }]
[[package]]
name = "winonly"
version = "1.0"
source = { registry = "https://index.example/simple" }
[[package]]
name = "devonly"
version = "1.0"
source = { registry = "https://index.example/simple" }
END
	asks "apple==1.1#${APPLE:0:4} pear==1.5#${PEAR:0:4}" "uv.lock, of two versions that for this Python"
}

pipenv()
{
	project Pipfile.lock <<END
{"default": {"apple": {"hashes": ["sha256:$APPLE"], "version": "==1.1"},
 "pear": {"hashes": ["sha256:$PEAR"], "version": "==1.5", "markers": "python_version >= '3'"},
 "winonly": {"version": "==1.0", "markers": "sys_platform == 'win32'"}},
 "develop": {"devonly": {"version": "==1.0"}}}
END
	asks "apple==1.1#${APPLE:0:4} pear==1.5#${PEAR:0:4}" "Pipfile.lock"
}

checks()
{
	[ "$MODE" = R ] || return 0
	index || return
	APPLE=$(hash_of apple-1.1-py3-none-any.whl)
	PEAR=$(hash_of pear-1.5-py3-none-any.whl)
	hashes
	itself
	requirements
	poetry
	uv
	pipenv
}

run_deps
