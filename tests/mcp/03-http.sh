#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# MCP over HTTP: headers, sessions, streams, tools. The conformance suite looks closer (check-compat).
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"

CLAIM='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

# modern METHOD [NAME [PARAMS [CURL-OPTION...]]]
modern()
{
	local params=$CLAIM

	[ -z "${3:-}" ] || params="$3,$CLAIM"
	api POST /mcp "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":{$params}}" \
		-H "Mcp-Protocol-Version: 2026-07-28" -H "Mcp-Method: $1" ${2:+-H "Mcp-Name: $2"} "${@:4}"
}

# legacy METHOD [PARAMS [CURL-OPTION...]]
legacy()
{
	api POST /mcp "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":{${2:-}}}" "${@:3}"
}

# answers STATUS PATTERN NAME
answers()
{
	check "$3: status $1" test "$RC" = "$1"
	check "$3" grep -qE -- "$2" "$OUT"
}

stateless()
{
	modern server/discover
	answers 200 '"supportedVersions":\["2026-07-28"\]' "discover"
	modern tools/call sandbox_exec '"name":"sandbox_exec","arguments":{"command":"echo hi"}'
	answers 200 'exit 0 in .*stdout:\\nhi' "a tool"
	modern tools/call sandbox_exec '"name":"sandbox_status"'
	answers 400 '"code":-32020' "a name that is another"
	modern tools/call "=?base64?c2FuZGJveF9zdGF0dXM=?=" '"name":"sandbox_status"'
	answers 200 '"content"' "a name in base64"
	modern tools/call "=?base64?***?=" '"name":"sandbox_status"'
	answers 400 '"code":-32020' "one that is none"
	modern nosuch
	answers 404 '"code":-32601' "an unknown method"
	api POST /mcp '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' -H "Mcp-Protocol-Version: 2026-07-28"
	answers 400 '"code":-32602.*protocolVersion' "a header without a claim"
	api POST /mcp "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{$CLAIM}}"
	answers 400 '"code":-32020' "a claim without a header"
	modern tools/call sandbox_exec '"name":"sandbox_exec","arguments":{"command":"echo a; sleep 1; echo b; sleep 1"}' \
		-H 'X: y'
	answers 200 '"content"' "without a token the answer is one document"
	CLAIM=${CLAIM/'"_meta":{'/'"_meta":{"progressToken":"t",'}
	modern tools/call sandbox_exec '"name":"sandbox_exec","arguments":{"command":"echo a; sleep 1; echo b; sleep 1"}'
	answers 200 '^data: .*notifications/progress' "with one it is a stream"
	check "of events" grep -qi '^content-type: text/event-stream' "$HEAD"
	check "whose last is the answer" sh -c 'grep ^data: "$1" | tail -n 1 | grep -q "\"result\""' sh "$OUT"
	CLAIM=${CLAIM/'"progressToken":"t",'/}
}

# Who closes his stream ends what runs for it.
left_alone()
{
	modern tools/call sandbox_exec '"name":"sandbox_exec","arguments":{"command":"sleep 300"}' -m 1
	wait_for 10 nobody_sleeps
	check "a stream that is closed ends its command" nobody_sleeps
}

nobody_sleeps()
{
	modern tools/call sandbox_exec '"name":"sandbox_exec","arguments":{"command":"pgrep -x sleep || echo none"}'
	grep -q none "$OUT"
}

sessions()
{
	legacy tools/list
	answers 400 'Mcp-Session-Id' "without a session"
	check "which the request's id is in" grep -q '"id":' "$OUT"
	legacy initialize '"protocolVersion":"2025-11-25","capabilities":{}'
	answers 200 '"protocolVersion":"2025-11-25"' "a handshake"
	ID=$(tr -d '\r' <"$HEAD" | awk 'tolower($1) == "mcp-session-id:" { print $2 }')
	check "its session" test "${#ID}" = 32
	legacy tools/list '' -H "Mcp-Session-Id: $ID"
	answers 200 '"sandbox_exec"' "the list"
	legacy tools/list '' -H "Mcp-Session-Id: $ID" -H "Mcp-Protocol-Version: 1999-01-01"
	answers 400 'Protocol-Version' "a version that is none"
	legacy tools/list '' -H "Mcp-Session-Id: ${ID%?}x"
	answers 404 session "a session that is none"
	api GET /mcp '' -H "Mcp-Session-Id: $ID" -H "Accept: text/event-stream"
	check "no stream without a request" test "$RC" = 405
	api DELETE /mcp '' -H "Mcp-Session-Id: $ID"
	check "it is ended" test "$RC" = 204
	legacy tools/list '' -H "Mcp-Session-Id: $ID"
	answers 404 session "and gone"
}

shapes()
{
	api POST /mcp '[]'
	answers 400 '"code":-32600' "a batch"
	api POST /mcp '{'
	answers 400 '"code":-32700' "no JSON"
	api PUT /mcp '{}'
	check "another method" test "$RC" = 405
}

checks()
{
	daemon_mode
	chmod 711 "$M" "$M/run" # root's is spoken to by an id of its own
	daemon_start --warm 1 --warm-python 0
	wait_for 10 test -S "$M/run/daemon-http.sock"
	stateless
	left_alone
	sessions
	shapes
	daemon_stop
}

run_checks
