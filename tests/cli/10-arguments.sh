#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An argument that is wrong is refused before anything starts, by name and with a remedy; sizes and
# times are understood in the ways people write them.
. "$(dirname "$0")/../lib/cli.sh"

# bad OPTION VALUE...: each is refused as invalid, with a remedy.
bad()
{
	local option=$1 value wrong=

	shift
	for value in "$@"; do
		inside "$option" "$value" -- echo ran
		if [ "$RC" != 125 ] || [ -s "$OUT" ] || ! head -1 "$ERR" | grep -qF -e "$option" ||
			! grep -q '^pinfold: invalid_argument' "$ERR" || ! grep -q \
				'^pinfold: remedy: .' "$ERR"; then
			wrong+="$value ($RC: $(head -1 "$ERR")) "
		fi
	done
	check "$option refuses what it does not understand" test -z "$wrong"
	[ -z "$wrong" ] || diag "$wrong"
}

# good OPTION EXPRESSION WANT VALUE...: each means the same.
good()
{
	local option=$1 expression=$2 want=$3 value got wrong=

	shift 3
	for value in "$@"; do
		inside_json "$option" "$value" -- true
		got=$(json "$expression")
		[ "$RC:$got" = "0:$want" ] || wrong+="$value ($RC: $got) "
	done
	check "$option understands $*" test -z "$wrong"
	[ -z "$wrong" ] || diag "$wrong"
}

values()
{
	local option

	for option in --memory --disk --output; do
		bad "$option" lots -5 -1M 0 0M 1Q 1.5.2 1e9 0x10 '5 M' ' 5M' 5M5 M . \
			99999999999999999999 999999T nan
	done
	for option in --time --grace --cpu-time --keep; do
		bad "$option" soon -1 -1s 0 0s 5y 5M '1 s' 1:30 1e3 inf . ms 99999999999999999999s
	done
	for option in --pids --nofile; do
		bad "$option" many -1 0 1.5 1k 0x10 '' ' 1' 99999999999999999999
	done
	bad --cpus x -1 0 0.0 1,5 1.5.5 '' two 99999999999
	bad --memory 1k
	bad --disk 1
	bad --nofile 3
	inside --hide x -- true
	refuses invalid_argument --hide "--hide without --dir"
	inside --egress-bytes 1M -- true
	refuses invalid_argument --egress-bytes "a limit of no network"
	printf 'allow: [\n' >"$W/broken.yaml" && own "$W"
	inside --policy "$W/broken.yaml" -- true
	refuses invalid_argument --policy "a policy that is none"
	CALL_WRAP=(/usr/bin/env PINFOLD_HOME=relative/home)
	inside -- true
	refuses invalid_argument PINFOLD_HOME "a relative data directory"
	CALL_WRAP=(/usr/bin/env PINFOLD_SOCKET=./sock)
	inside -- true
	refuses invalid_argument PINFOLD_SOCKET "a relative socket"
	CALL_WRAP=(/usr/bin/prlimit --nofile=20:20)
	inside -- true
	refuses limit_exceeded 'open 20 files only' "a caller who may open few files"
	says 'ulimit -n' "with what would help"
	CALL_WRAP=()
	check "nothing was made for them" test ! -e "$W/relative"
	chmod 755 "$M/home"
	inside -- true
	exits 0 "a data directory that others may read"
	check "is theirs no longer" test "$(stat -c %a "$M/home")" = 700
	inside --cpus 5000 -- true
	says 'remedy: give a value between 0.01 and 4096$' "bounds in the words of the option"
	inside --time 400d -- true
	says 'remedy: give a value between 1ms and 366d$' "bounds of times"
	inside --memory 1k -- true
	says 'remedy: give a value between 4M and 1024T$' "bounds of sizes"
	inside --output 65M -- true
	says 'remedy: give a value between 1 byte and 64M$' "one of a thing"
	good --memory 'd["limits"]["memory"]["value"]' 67108864 64M 64m 65536k 67108864 0.0625G \
		64MiB 64MB 64mb 64Mi
	good --disk 'd["limits"]["disk"]["value"]' 1572864 1.5M 1536k 1536KiB 1572864
	good --time 'd["limits"]["time"]["value"]' 90000 90 90s 1.5m 90000ms 0.025h 1m30s
	good --time 'd["limits"]["time"]["value"]' 86400000 1d 24h 1440m
	good --cpus 'd["limits"]["cpus"]["value"]' 0.5 0.5 .5 0.50
	good --pids 'd["limits"]["pids"]["value"]' 77 77 077
	inside_json -- true
	json_is '[60000, 1.0, 536870912, 128, 268435456, 1024]' '[d["limits"][k]["value"] for k in
		("time", "cpus", "memory", "pids", "disk", "nofile")]' \
		"the defaults of the contract"
	json_has '"cpu_time" not in d["limits"] or d["limits"]["cpu_time"]["value"] is None' \
		"no limit of CPU time by default"
}

words()
{
	bad --limits x '' Strict
	bad --isolation none '' Strict
	bad --user nobody '' 0 'root
'
	bad --lang cobol ''
	bad --deps maybe ''
	bad --workdir tmp '' ./x
	bad --env X '' =1 'A B=1'
	inside --image no-such -- echo ran
	refuses not_found --image "an image that is not there"
	inside --image host --isolation strict --deps off --no-daemon --user user -- true
	exits 0 "every default by its name"
}

later()
{
	inside --allow '*' -- echo ran
	refuses invalid_argument --allow "--allow"
	inside --policy "$W/no-such" -- echo ran
	refuses not_found --policy "--policy"
	inside --daemon -- echo ran
	refuses not_found --daemon "--daemon"
	inside --deps auto --isolation landlock -- echo ran
	refuses unsupported --deps "--deps auto at another level"
	inside --isolation vm -- echo ran
	refuses unsupported --isolation "--isolation vm"
	inside --isolation gvisor -- echo ran
	refuses unsupported --isolation "--isolation gvisor"
}

syntax()
{
	inside --memory
	refuses invalid_argument --memory "an option at the end without its value"
	inside --memory= -- true
	refuses invalid_argument --memory "an empty value"
	inside --json=yes -- true
	refuses invalid_argument --json "a value where none is taken"
	inside --memry 1G -- true
	refuses invalid_argument --memry "a typing error"
	says 'did you mean --memory' "is recognised"
	inside -x -- true
	refuses invalid_argument -x "a letter that is no option"
	inside --qqqqqqqq -- true
	refuses invalid_argument --qqqqqqqq "an option like no other"
	inside
	refuses invalid_argument COMMAND "no command"
	inside --
	refuses invalid_argument COMMAND "no command behind --"
	inside ''
	exits 127 "an empty command is not found"
	says '"": command not found' "and can be seen in the message"
	inside --memory=64M --time=5s -- echo '--memory=1'
	prints --memory=1 "--option=value, and data behind --"
	inside echo --json --no-such-option
	prints "--json --no-such-option" "options end at the first word that is none"
	inside -- --json
	exits 127 "behind -- everything is the command"
	inside --memory 64M --memory 1G -- awk '/MemTotal/ {print $2}' /proc/meminfo
	prints 1048576 "the last one counts"
	inside -- echo -- a
	prints "-- a" "a second -- is the command's"
	inside -- printf '%s|' '' 'a b' $'new\nline' '*' "it's" '$HOME' '\'
	prints $'|a b|new\nline|*|it\'s|$HOME|\\|' "arguments arrive as they are"
	inside -- /usr/bin/python3 -c \
		'import sys; print(len(sys.argv), sum(map(len, sys.argv[1:])))' \
		$(seq 1000 1900)
	prints "902 3604" "901 arguments"
	inside -- sh -c 'echo $#' sh $(seq 40000)
	prints 40000 "40,000 arguments"
	inside -- true $(seq 70000)
	refuses limit_exceeded "at most 65536 words" "70,000 are too many"
	says '^pinfold: remedy: give data' "and what helps is said"
	inside -- /usr/bin/python3 -c 'import sys; print(len(sys.argv[1]))' \
		"$(printf '%0100000d' 0)"
	prints 100000 "an argument of 100 KB"
	if [ "$MODE" = U ]; then
		/usr/bin/python3 -I -c 'import socket, sys; socket.socket(1, 5).bind(sys.argv[1])' "$W/shut"
		chmod 0 "$W/shut"
		CALL_WRAP=(/usr/bin/env "PINFOLD_SOCKET=$W/shut")
		inside --daemon -- true
		refuses denied.daemon --daemon "a daemon of somebody else"
		says '^pinfold: remedy: .*group pinfold' "who lets one in"
		CALL_WRAP=()
	fi
	ln -s loop "$W/loop"
	inside --dir "$W/loop" -- true
	refuses invalid_argument --dir "a link that leads to itself"
	inside --stdin "$(printf '%05000d' 0)" -- true
	refuses invalid_argument --stdin "a path that is too long"
	pinfold verify "$W"
	refuses invalid_argument "$W" "a directory for a file"
	inside $'no\033[2Jsuch\ncommand'
	check "a message is one line without control characters" test -z \
		"$(tr -d '\n[:print:]' <"$ERR")" -a "$(grep -vc '^pinfold: ' "$ERR")" = 0
}

checks()
{
	values
	words
	later
	syntax
}

run_checks
