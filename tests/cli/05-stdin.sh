#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Standard input is the caller's, a file's, or empty.
. "$(dirname "$0")/../lib/cli.sh"

given()
{
	inside -- cat < <(printf 'a\nb')
	prints $'a\nb' "a pipe"
	echo file >"$W/file"
	own "$W"
	inside -- cat <"$W/file"
	prints file "a file"
	inside --stdin "$W/file" -- cat
	prints file "--stdin FILE"
	inside --stdin file -- cat
	prints file "--stdin, a relative path"
	inside --stdin - -- cat < <(echo own)
	prints own "--stdin -"
	inside --stdin "$W/file" -- cat < <(echo hidden)
	prints file "--stdin comes before the caller's"
	inside --stdin /dev/null -- wc -c
	prints 0 "--stdin /dev/null"
	inside -- wc -c </dev/null
	prints 0 "/dev/null"
	: >"$W/empty"
	inside --stdin "$W/empty" -- wc -c
	prints 0 "an empty file"
	CALL_OUTER=(sh -c 'exec "$@" <&-' sh)
	inside -- wc -c
	CALL_OUTER=()
	prints 0 "closed"
	inside -- wc -c <"$W"
	prints 0 "a directory as standard input is empty"
	head -c 5000000 /dev/urandom >"$W/big"
	own "$W"
	inside --stdin "$W/big" -- sha256sum
	prints "$(sha256sum <"$W/big")" "5 MB from a file"
	inside -- sha256sum < <(cat "$W/big")
	prints "$(sha256sum <"$W/big")" "5 MB from a pipe"
	inside_json --stdin "$W/file" -- cat
	json_is file 'd["stdout"]["text"].strip()' "--stdin with --json"
	inside_json -- cat < <(echo piped)
	json_is piped 'd["stdout"]["text"].strip()' "with --json"
}

# What the command does not read is left, and does not keep it.
unread()
{
	mkfifo "$W/never"
	exec {NEVER}<>"$W/never"
	echo xyz >&"$NEVER"
	inside -- head -c 1 <&"$NEVER"
	prints x "a command that reads one byte ends with its input open"
	inside -- true <&"$NEVER"
	exits 0 "an input where nothing comes"
	inside --time 300ms -- cat <&"$NEVER"
	exits 124 "waiting for it ends at the time limit"
	exec {NEVER}>&-
	inside -- true < <(exec yes)
	exits 0 "an endless input that is not read"
	inside -- head -n 2 < <(exec yes)
	prints $'y\ny' "an endless input that is read a little"
	inside -- sh -c 'exec <&-; exit 6' < <(exec yes)
	exits 6 "a command that closes its input"
}

# The loop's own input must be usable for the loop, as --help says.
loops()
{
	local n=0

	printf '1\n2\n3\n' >"$W/lines"
	own "$W"
	while read -r _; do
		n=$((n + 1))
		inside --stdin /dev/null -- true
	done <"$W/lines"
	check "--stdin /dev/null leaves a loop's input alone" test "$n" = 3
}

refusals()
{
	inside --stdin "$W/no-such-file" -- cat
	refuses not_found --stdin "a file that is not there"
	inside --stdin "$W" -- cat
	refuses invalid_argument --stdin "a directory"
	if [ "$MODE" = U ]; then
		inside --stdin /etc/shadow -- cat
		refuses denied --stdin "a file that the caller may not read"
	fi
	inside --stdin - --lang python - <<<'pass'
	refuses invalid_argument --stdin "program and input from the same place"
}

checks()
{
	given
	unread
	loops
	refusals
}

run_checks
