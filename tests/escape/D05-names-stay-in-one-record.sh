#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: escape, json-escape, ref-bwrap
#
# A name with a newline in it ends a line of a log and begins another, which says what the name's
# owner likes; with an escape character it tells the terminal of whoever reads the log what to do.
. "$(dirname "$0")/../lib/escape.sh"

claim "D05 no argument, name or value breaks a message or a document"

FORGED=$'x\npinfold: forged\r\npinfold: forged\e[2J\e]0;t\a\u009b\u202e\u2028\xff\x7f'

# plain WHAT FILE: it holds lines of text and nothing that a terminal acts on. U+FFFD stands for
# bytes that are not text.
plain()
{
	KIND=WRITE same "$1: bytes a terminal acts on" \
		"$(LC_ALL=C sed 's/\xef\xbf\xbd//g' "$2" | LC_ALL=C tr -d '[:print:]\n' |
			od -An -tx1)" ""
}

# Every line on standard error is one of ours, and plain text.
plain_messages()
{
	KIND=WRITE same "$1: lines that are not ours" "$(grep -av '^pinfold: ' "$ERR")" ""
	KIND=WRITE same "$1: a forged line" "$(grep -ac '^pinfold: forged' "$ERR")" 0
	plain "$1" "$ERR"
}

plain_document()
{
	same "$1: lines of the document" "$(wc -l <"$JSON")" 1
	plain "$1, document" "$JSON"
}

# told STATUS [OPTION...] -- COMMAND...: a failure that names the value, for people on standard
# error and for programs in the document.
told()
{
	local status=$1 what

	shift
	what=$(printf '%q ' "$@")
	inside --json "$@"
	JSON=$OUT
	ran "$status"
	plain_messages "$what"
	holds "the value is in a message" grep -aq '\^Jpinfold: forged^M^Jpinfold: forged^\[' "$ERR"
	plain_document "$what"
	same "$what: the document" "$(json '[d["status"], a[0] in d["error"]["message"]]' \
		"${FORGED%%$'\e'*}")" '["failed", true]'
}

refusals()
{
	told 127 -- "$FORGED"
	told 127 -- "/usr/$FORGED"
	told 125 --dir "/$FORGED" -- true
	told 125 --workdir "/$FORGED" -- true
	told 125 --env "$FORGED" -- true
	told 125 --memory "$FORGED" -- true
	told 125 --isolation "$FORGED" -- true
	told 125 --stdin "/$FORGED" -- true
	told 125 --lang "$FORGED" -c true
	told 125 "--$FORGED" -- true
	pinfold "$FORGED"
	ran 125
	plain_messages "a verb"
	inside -- "$FORGED"
	ran 127
	plain_messages "without --json"
}

# What the command itself names: files, processes, sockets.
names()
{
	inside_json --env "V=$FORGED" -- python3 -Ic 'import os, socket, sys
name = os.fsencode(sys.argv[1])
open(name, "w").close()
os.symlink(name, "link")
open("/proc/self/comm", "wb").write(b"a\nb\x1b[2J")
for address in (name[:90], b"\0" + name[:90]):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
    except OSError:
        pass
sys.exit(os.environ["V"] != sys.argv[1])' "$FORGED"
	ran
	plain_document "names"
	same "files" "$(json 'sorted(f["type"] for f in d["files"])')" '["file", "symlink"]'
	same "the end" "$(json '[d[k] for k in a]' status exit_code error)" '["exited", 0, null]'
	inside --env $'A=1\nB=2' -- sh -c 'printf "%s|%s" "$A" "$B"'
	ran
	same "a value is one variable" "$(cat "$OUT")" $'1\nB=2|'
}

# A line that the command did not finish is not continued by ours.
unfinished()
{
	inside --time 200ms --grace 100ms -- sh -c 'mkfifo f; printf "all is well" >&2; read x <>f'
	ran 124
	holds "the command's line ends before our message" grep -qx 'all is well' "$ERR"
	holds "and our message is a line" grep -q '^pinfold: .*time' "$ERR"
}

attack()
{
	refusals
	names
	unfinished
}

run_case
