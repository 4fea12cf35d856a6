# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A daemon whose HTTP API is tested, and checks written in Python on tests/lib/api.py. After
# tests/lib/api.sh.

API_ENV=() # KEY=VALUE for what api_run starts

# serve_start [OPTION...]: a daemon that serves HTTP on a Unix socket (HTTP) and on 127.0.0.1 (PORT).
serve_start()
{
	daemon_mode
	PORT=$(free_port)
	HTTP=$M/run/daemon-http.sock
	daemon_start --warm 2 --listen "127.0.0.1:$PORT" "$@"
	wait_for 10 api_answers || not_ok "the API answers [$MODE]"
	API=$(api_pid)
	LIMITS=
	[ "$MODE" = R ] || LIMITS=', "limits": "best-effort"'
}

api_answers()
{
	[ "$(curl -s -m 5 --unix-socket "$HTTP" http://x/healthz)" = '{"status":"ok"}' ]
}

# as_user COMMAND...: as the caller of this mode: on the Unix socket the uid says who he is.
as_user()
{
	if [ "$MODE" = U ] && [ "$EUID" = 0 ]; then
		setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --init-groups "$@"
	else
		"$@"
	fi
}

# token [OPTION...]: makes one; SECRET is it.
token()
{
	pinfold token new "$@"
	SECRET=$(cat "$OUT")
}

# two_tenants FILE.py: its checks, with a token of each, on a daemon of their own.
two_tenants()
{
	serve_start
	token --tenant one
	API_ENV=("TOKEN_ONE=$SECRET")
	token --tenant two
	API_ENV+=("TOKEN_TWO=$SECRET")
	api_run "$1"
	serve_stop
}

# api_run FILE.py [SECONDS]: a file of checks, as the mode's user, with the daemon in its
# environment. Its lines become ours.
api_run()
{
	local line log=$EVIDENCE/${1%.py}.log status

	mkdir -p "$M/client"
	cp "$LIB_DIR/api.py" "$LIB_DIR/websocket.py" "$TEST_DIR/$1" "$M/client/"
	chmod 0755 "$M/client"
	chmod 0644 "$M/client/"*.py
	case ${PINFOLD:-} in
	*/san-*) API_ENV+=(API_SLACK=20) ;;
	esac
	as_user env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOME="$USER_HOME" API_SOCKET="$HTTP" \
		API_PORT="$PORT" API_MODE="$MODE" API_PID="$API" API_DAEMON="$DAEMON" "${API_ENV[@]}" \
		timeout -k 5 "${2:-120}" /usr/bin/python3 -B "$M/client/$1" ${API_ONLY:-} >"$log" 2>&1 \
		{LIVE_FD}>&-
	status=$?
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok } [$MODE]" ;;
		"not ok "*) not_ok "${line#not ok } [$MODE]" ;;
		"skip "*) skip "$(sed 's/^skip //; s/ | .*//' <<<"$line") [$MODE]" "${line##* | }" ;;
		*) diag "$line" ;;
		esac
	done <"$log"
	call_files "$1"
	: >"$OUT"
	: >"$ERR"
	RC=$status
	exits 0 "$1 ran to its end"
}

# serve_stop: the daemon ends, and nothing of it is left.
serve_stop()
{
	daemon_stop
	exits 0 "the daemon ends when it is told to"
	check "no sanitizer complained" test -z \
		"$(grep -E 'runtime error|Sanitizer' "$DAEMON_LOG" | head -5)"
	check "nothing is left on the host" nothing_left
	check "the socket is gone" test ! -e "$HTTP"
}
