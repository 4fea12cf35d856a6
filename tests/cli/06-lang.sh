#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs as text: -c, a file of the host, standard input; their arguments, input and errors.
. "$(dirname "$0")/../lib/cli.sh"

# language LANG PROGRAM SUFFIX CODE: CODE prints its arguments, joined with commas, and what it
# reads.
language()
{
	local lang=$1 program=$2 file=$W/prog.$3 code=$4

	needs "$program" "--lang $lang" || return
	printf '%s\n' "$code" >"$file"
	own "$W"
	inside --lang "$lang" -c "$code" a 'b c' <<<"in put"
	prints "a,b c;in put" "$lang: -c, arguments, standard input"
	inside --lang "$lang" "$file" a 'b c' <<<"in put"
	prints "a,b c;in put" "$lang: FILE"
	inside --lang "$lang" - a 'b c' <"$file"
	prints "a,b c;" "$lang: -, and then its input is empty"
	inside --stdin "$W/input" --lang "$lang" - a 'b c' <"$file"
	prints "a,b c;in put" "$lang: - with --stdin"
	inside --lang="$lang" -- "$file" -x --json
	prints "-x,--json;" "$lang: arguments that look like options"
	inside --lang "$lang" -c "$code" -- -e --version
	prints "-e,--version;" "$lang: the same behind -c"
	inside --lang "$lang" <"$file"
	prints ";" "$lang: neither -c nor FILE, but something on standard input"
	inside --lang "$lang" -c ''
	prints "" "$lang: an empty program"
	exits 0 "$lang: which ends well"
	inside_json --lang "$lang" -c "$code" x
	json_is 'x;' 'd["stdout"]["text"].strip()' "$lang: --json"
}

# fails LANG CODE REGEX: a program that fails says where.
fails()
{
	inside --lang "$1" -c "$2"
	exits "$4" "$1: status of a failing program"
	printf '%s\n' "$2" >"$W/failing"
	inside --lang "$1" "$W/failing"
	exits "$4" "$1: status of a failing file"
	says "$3" "$1: its message names the file"
}

all()
{
	language python python3 py \
		'import sys; print(",".join(sys.argv[1:]) + ";" + sys.stdin.read().strip())'
	language node node js \
		'const f = require("fs"); let s = ""; try { s = f.readFileSync(0, "utf8") }
catch (e) {}; console.log(process.argv.slice(2).join(",") + ";" + s.trim())'
	language bash bash sh 'IFS=,; printf "%s;" "$*"; cat'
	language r Rscript R 'cat(paste(commandArgs(TRUE), collapse=","), ";",
paste(readLines(file("stdin")), collapse=" "), "\n", sep="")'
}

places()
{
	inside --lang python -c \
		'import os, sys; print(os.getcwd(), sys.path[0] in ("", os.getcwd()))'
	prints "/home/user True" "modules are found in the working directory"
	inside --lang python "$W/prog.py" -
	exits 0 "a dash behind the file is an argument"
	mkdir "$W/mods"
	echo 'x = 42' >"$W/mods/helper.py"
	echo 'import helper; print(helper.x)' >"$W/mods/main.py"
	own "$W"
	inside --dir "$W/mods" --workdir /work --lang python -c 'import helper; print(helper.x)'
	prints 42 "modules of --dir"
	inside --dir "$W/mods" -- python3 /work/main.py
	prints 42 "a program of --dir finds its neighbours"
	inside_json --lang python "$W/mods/main.py"
	json_is '[]' 'sorted(files)' "the program's text is no file of the result"
	inside --lang python "$W/prog.py" </dev/null
	check "the host's path is not shown" test -z "$(grep -F "$W" "$OUT" "$ERR")"
	inside --lang python -c 'print(open(__file__).read())' 2>/dev/null
	inside --lang bash -c 'echo $0'
	like "$(cat "$OUT")" 'bash$' "bash -c has an ordinary \$0 [$MODE]"
}

# The kernel takes 128 KiB as one argument.
sizes()
{
	/usr/bin/python3 -I -c \
		'print("x = 1 #" + "y" * 99999); print("import sys; print(len(sys.argv))")' \
		>"$W/long.py"
	own "$W"
	inside --lang python -c "$(cat "$W/long.py")" a
	prints 2 "100 KB of code with -c"
	/usr/bin/python3 -I -c '
for i in range(40000): print(f"x{i} = {i}  # a longer line than most")
print("print(x39999)")' >"$W/huge.py"
	own "$W"
	inside --lang python "$W/huge.py"
	prints 39999 "1.6 MB of code in a file"
	inside --lang python - <"$W/huge.py"
	prints 39999 "and from standard input"
	inside --lang python -c ''
	exits 0 "an empty program"
	: >"$W/empty.py"
	own "$W"
	inside --lang python "$W/empty.py"
	exits 0 "an empty file"
	truncate -s 17M "$W/big.py"
	inside --lang python "$W/big.py"
	refuses limit_exceeded FILE "17 MiB of code"
}

refusals()
{
	inside --lang cobol -c x
	refuses invalid_argument --lang "a language that is not there"
	inside --lang python
	refuses invalid_argument FILE "no program"
	inside --lang python "$W/no-such.py"
	refuses not_found FILE "no such file"
	inside --lang python "$W"
	refuses invalid_argument FILE "a directory"
	inside --lang python /dev/zero
	refuses invalid_argument FILE "a device"
	inside -c 'print(1)'
	refuses invalid_argument -c "-c without --lang"
}

checks()
{
	echo "in put" >"$W/input"
	all
	fails python 'raise SystemError("boom")' 'File "[^"]*failing"' 1
	needs node "node: failing" && fails node 'throw new Error("boom")' 'failing:1' 1
	fails bash 'no-such-command-here' 'failing: line 1: no-such-command-here' 127
	places
	sizes
	refusals
}

run_checks
