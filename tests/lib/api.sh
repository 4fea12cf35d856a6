# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The HTTP API in tests, by curl on the Unix socket of a daemon. After tests/lib/daemon.sh.

# free_port: one that nobody has now.
free_port()
{
	/usr/bin/python3 -I -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# curl_argv: sets CURL, which calls as the user of this mode; with TOKEN on TCP, at PORT.
curl_argv()
{
	CURL=(/usr/bin/curl -sS -N -m "$CALL_SECONDS" -H "Content-Type: application/json" -D "$HEAD")
	if [ -n "${TOKEN:-}" ]; then
		CURL+=(-H "Authorization: Bearer $TOKEN")
		URL=http://127.0.0.1:$PORT
		return
	fi
	CURL+=(--unix-socket "$M/run/daemon-http.sock")
	URL=http://localhost
	[ "$MODE" = U ] && [ "$EUID" = 0 ] &&
		CURL=(setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups "${CURL[@]}")
	return 0
}

# api METHOD PATH [BODY [CURL-OPTION...]]: sets OUT and HEAD (files) and RC, the status.
api()
{
	call_files curl "$@"
	HEAD=$EVIDENCE/$CALLS.head
	: >"$HEAD"
	own "$HEAD"
	curl_argv
	"${CURL[@]}" -X "$1" ${3:+-d "$3"} "${@:4}" "$URL$2" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$(tr -d '\r' <"$HEAD" | awk '/^HTTP/ { s = $2 } END { print s }')
}

# api_start NAME METHOD PATH [BODY [CURL-OPTION...]]: the same in the background. NAME_OUT, NAME_HEAD, NAME_PID.
api_start()
{
	local name=$1

	shift
	call_files curl "$@"
	HEAD=$EVIDENCE/$CALLS.head
	: >"$HEAD"
	: >"$OUT"
	own "$HEAD"
	curl_argv
	"${CURL[@]}" -X "$1" ${3:+-d "$3"} "${@:4}" "$URL$2" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	printf -v "${name}_PID" %s "$!"
	printf -v "${name}_OUT" %s "$OUT"
	printf -v "${name}_HEAD" %s "$HEAD"
}

# api_wait NAME: until it has ended; sets OUT, HEAD and RC.
api_wait()
{
	local pid=${1}_PID out=${1}_OUT head=${1}_HEAD

	wait "${!pid}" 2>/dev/null
	OUT=${!out}
	HEAD=${!head}
	RC=$(tr -d '\r' <"$HEAD" | awk '/^HTTP/ { s = $2 } END { print s }')
}

# answers STATUS NAME
answers()
{
	check "$2: $1" test "$RC" = "$1"
}

# answers_error STATUS CODE NAME: with a message; a finer code may be behind a dot.
answers_error()
{
	check "$3: $1" test "$RC" = "$1"
	body_has 'a[0] == d["error"]["code"].split(".")[0] and d["error"]["message"] != ""' "$3: $2" "$2"
}

# body EXPRESSION [ARG...]: prints a Python expression over the last answer, `d`; `a` are the arguments.
body()
{
	evaluate any "$OUT" "$@"
}

# body_is WANT EXPRESSION NAME
body_is()
{
	local got

	got=$(body "$2")
	check "$3: $1" test "$got" = "$1"
}

# body_has EXPRESSION NAME [ARG...]: the expression is true.
body_has()
{
	local got

	got=$(body "$1" "${@:3}")
	check "$2" test "$got" = true
}

# header NAME: its value in the last answer.
header()
{
	tr -d '\r' <"$HEAD" | sed -n "s/^$1: //Ip" | tail -1
}

# events_of FILE: the names of the events in it, on one line.
events_of()
{
	sed -n 's/^event: //p' "$1" | tr '\n' ' ' | sed 's/ $//'
}

api_pid()
{
	pgrep -P "$(pgrep -P "$DAEMON" -x pinfold-http)" -x pinfold-api
}

keeper_pid()
{
	pgrep -P "$(pgrep -P "$DAEMON" -x pinfold-http)" -x pinfold-keeper
}
