#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: tls-rights
#
# TLS on TCP: who ends it has no rights, the API behind it treats callers as those of TCP, and a
# certificate can be changed while it serves.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

# certificate NAME: $PEM/NAME.pem and its key, for localhost.
certificate()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$PEM/$1.key" -out "$PEM/$1.pem" \
		2>/dev/null
	chmod 600 "$PEM/$1.key"
	chmod 644 "$PEM/$1.pem"
}

# tls_files NAME: what the daemon is given.
tls_files()
{
	cp "$PEM/$1.pem" "$PEM/cert"
	cp "$PEM/$1.key" "$PEM/key"
	[ "$MODE" = R ] || own "$PEM/cert" "$PEM/key"
}

tls_pid()
{
	pgrep -P "$(pgrep -P "$DAEMON" -x pinfold-http)" -x pinfold-tls
}

# by_curl PATH [OPTION...]: sets RC (curl's), STATUS and OUT.
by_curl()
{
	call_files curl "$@"
	STATUS=$(curl -s -m 20 -o "$OUT" -w '%{http_code}' --cacert "$PEM/${CA:-one}.pem" "${@:2}" \
		"https://localhost:$PORT$1" 2>"$ERR")
	RC=$?
}

serves()
{
	by_curl /healthz
	[ "$STATUS" = 200 ]
}

# subject: of the certificate that a new connection gets.
subject()
{
	openssl s_client -connect "127.0.0.1:$PORT" </dev/null 2>/dev/null |
		openssl x509 -noout -subject 2>/dev/null | sed 's/.*CN *= *//'
}

subject_is()
{
	[ "$(subject)" = "$1" ]
}

# says_no OPTION...: the handshake of openssl's client fails.
says_no()
{
	! openssl s_client -connect "127.0.0.1:$PORT" "$@" </dev/null >"$EVIDENCE/s_client.log" 2>&1
}

# What is wrong with the files is said before anything serves.
wrong_files()
{
	local serve=(serve --listen "127.0.0.1:$(free_port)")

	tls_files one
	pinfold "${serve[@]}" --tls-cert "$PEM/cert"
	check "half of it is refused" grep -q 'go together' "$ERR"
	pinfold serve --tls-cert "$PEM/cert" --tls-key "$PEM/key"
	check "TLS nowhere is refused" grep -q 'without --listen' "$ERR"
	chmod 644 "$PEM/key"
	pinfold "${serve[@]}" --tls-cert "$PEM/cert" --tls-key "$PEM/key"
	refuses denied "$PEM/key" "a key that others may read"
	check "the remedy says what to do" grep -q "chmod 600 $PEM/key" "$ERR"
	chmod 600 "$PEM/key"
	pinfold "${serve[@]}" --tls-cert "$PEM/key" --tls-key "$PEM/key"
	refuses invalid_argument certificate "a key for a certificate"
	cp "$PEM/two.pem" "$PEM/cert"
	pinfold "${serve[@]}" --tls-cert "$PEM/cert" --tls-key "$PEM/key"
	refuses invalid_argument "not the certificate's" "somebody else's key"
	check "and no socket is left of it" test ! -e "$M/run/daemon-http.sock"
}

protocols()
{
	check "TLS 1.3 is spoken" grep -q 'TLSv1.3' <(openssl s_client -connect "127.0.0.1:$PORT" \
		-tls1_3 </dev/null 2>&1)
	check "TLS 1.2 is spoken" grep -q 'TLSv1.2' <(openssl s_client -connect "127.0.0.1:$PORT" \
		-tls1_2 </dev/null 2>&1)
	check "TLS 1.1 is refused" says_no -tls1_1 -cipher DEFAULT@SECLEVEL=0
	check "a cipher without forward secrecy is refused" says_no -tls1_2 -cipher AES128-GCM-SHA256
	check "a client that wants HTTP/2 alone is refused" says_no -alpn h2
	check "one that takes both gets HTTP/1.1" grep -q 'ALPN protocol: http/1.1' <(openssl s_client \
		-connect "127.0.0.1:$PORT" -alpn h2,http/1.1 </dev/null 2>&1)
	check "what is no TLS gets no answer" test "$(curl -s -m 10 -o /dev/null -w '%{http_code}' \
		"http://127.0.0.1:$PORT/healthz")" = 000
	curl -s -m 10 --cacert "$PEM/one.pem" --resolve "other.test:$PORT:127.0.0.1" \
		"https://other.test:$PORT/healthz" >/dev/null
	check "a client sees that the name is another's" test "$?" = 60
}

# Behind TLS everything is as on TCP.
as_tcp()
{
	by_curl /v1/runs
	check "without a token: 401" test "$STATUS" = 401
	by_curl /v1/runs -H "Authorization: Bearer $SECRET"
	check "with one: 200" test "$STATUS" = 200
	by_curl /v1/runs -H "Authorization: Bearer $SECRET" -H 'Host: evil.test'
	check "a Host that is not ours: 403" test "$STATUS" = 403
	by_curl /v1/runs -H "Authorization: Bearer $SECRET" -H 'Origin: https://evil.test'
	check "an Origin that nobody allowed: 403" test "$STATUS" = 403
	check "the log has the caller's address" grep -qE 'run\.list .* ok .* 127\.0\.0\.1:[0-9]+$' \
		"$DAEMON_LOG"
}

status_of()
{
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

rights()
{
	local pid

	pid=$(tls_pid)
	check "who ends TLS is a process of its own" test -n "$pid"
	check "it has no capability" grep -qE '^0+$' <(status_of "$pid" CapPrm)
	check "it gains no privilege" test "$(status_of "$pid" NoNewPrivs)" = 1
	check "it has a filter" test "$(status_of "$pid" Seccomp)" = 2
	[ "$MODE" = U ] || check "it has an id of nobody's" grep -q '^1879048188' <(status_of "$pid" Uid)
	if [ "$EUID" = 0 ]; then
		check "it has no file open but what it prints to" test -z "$(find "/proc/$pid/fd" -type l -lname \
			'/*' ! -lname "$EVIDENCE/*" ! -lname /dev/null)"
		check "the API has no descriptor of the key" test -z "$(find "/proc/$API/fd" -type l -lname \
			"*pinfold-pem*")"
		check "nor has the keeper" test -z "$(find "/proc/$(keeper_pid)/fd" -type l -lname \
			"*pinfold-pem*")"
		check "who would start it again has" test -n "$(find "/proc/$(pgrep -P "$DAEMON" -x \
			pinfold-http)/fd" -type l -lname "*pinfold-pem*")"
	else
		skip "open files [$MODE]" "only root may look at processes that are not dumpable"
	fi
}

# The certificate changes, for connections from then on.
renewal()
{
	tls_files two
	kill -HUP "$DAEMON"
	check "SIGHUP: the new certificate" wait_for 10 subject_is two
	CA=two by_curl /healthz
	check "is the one that serves" test "$STATUS" = 200
	tls_files one
	cp "$PEM/two.key" "$PEM/key"
	kill -HUP "$DAEMON"
	check "one that is wrong is told" wait_for 10 grep -q "not the certificate's" "$DAEMON_LOG"
	check "and the former stays" subject_is two
	tls_files one
	chmod 644 "$PEM/key"
	kill -HUP "$DAEMON"
	check "a key that others may read is told" wait_for 10 grep -q "others may read" "$DAEMON_LOG"
	check "and the former stays, too" subject_is two
	rm "$PEM/cert" "$PEM/key"
}

restarted()
{
	[ -n "$(tls_pid)" ] && [ "$(tls_pid)" != "$1" ]
}

# What dies is started again, without its files, which are gone by now.
deaths()
{
	local before

	before=$(tls_pid)
	API=$(api_pid)
	kill -KILL "$before"
	check "killed, it is started again" wait_for 10 restarted "$before"
	check "with the certificate that was good" wait_for 10 subject_is two
	check "the API lived on" test "$(api_pid)" = "$API"
	kill -KILL "$API"
	CA=two
	check "when the API dies TLS serves the next" wait_for 10 serves
	CA=one
}

checks()
{
	PEM=$M/tls
	mkdir -p "$PEM"
	chmod 755 "$PEM"
	certificate one
	certificate two
	wrong_files
	tls_files one
	serve_start --tls-cert "$PEM/cert" --tls-key "$PEM/key" --open-probes --log text
	check "HTTPS is served" wait_for 10 serves
	token --tenant one
	protocols
	as_tcp
	rights
	API_ENV=("TOKEN_ONE=$SECRET" "API_TLS=$PEM/one.pem" "TLS_PID=$(tls_pid)")
	api_run 08-tls.py
	renewal
	deaths
	serve_stop
}

run_checks
