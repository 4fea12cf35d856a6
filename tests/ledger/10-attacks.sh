#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: record-redact
#
# Group L against a daemon with HTTP, and what README here lists: secrets in every place where callers put
# them (L01), every field that a caller writes (L02), a ledger that cannot be written while something runs (L04),
# memory of the daemon's processes (L05), several writers (L07).
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"

WORD=canary-5f3c9a1e7b2d4860
EVIL=$'a\nb\t"\\\r\x1b[31m{"at":99,"kind":"ledger.key"}'

is_ready()
{
	api GET /readyz
	[ "$RC" = 200 ]
}

# nowhere NAME FILE...: neither in the data directory nor in these.
nowhere()
{
	local name=$1 found

	shift
	found=$(grep -rlaF "${WORD#canary-}" "$M/home" "$@")
	check "$name" test -z "$found"
	[ -z "$found" ] || diag "$found"
}

# L01. Nothing of this prints it: who prints a secret has it in his output.
secrets()
{
	mkdir -p "$W/d" && echo "$WORD" >"$W/d/f"
	own "$W/d" "$W/d/f"
	inside --dir "$W/d" --env "KEY=$WORD" --stdin "$W/d/f" -- sh -c 'cat /work/f >/tmp/f; cat >/tmp/g' \
		"$WORD" "--password=$WORD" "https://me:$WORD@example.org/?q=$WORD"
	exits 0 "a secret in environment, file, standard input and arguments"
	inside --env "KEY=$WORD" --workdir "/$WORD" -- true
	inside --image "$WORD" -- true
	api POST "/v1/runs?key=$WORD" "{\"command\": [\"true\", \"--token\", \"$WORD\"],
		\"env\": {\"KEY\": \"$WORD\"}, \"stdin\": \"$WORD\"$BEST}" -H "X-Api-Key: $WORD" \
		-H "Cookie: session=$WORD" -H "User-Agent: $WORD"
	api POST /v1/runs "{\"command\": \"true\", \"$WORD\": 1}"
	api POST /v1/runs "{\"command\": \"$WORD"
	api GET "/v1/nothing/$WORD?q=$WORD"
	api GET "/v1/runs/$WORD"
	api GET "/v1/sandboxes/sbx23456723456723456723456723/files?path=/$WORD"
	TOKEN=$WORD
	api GET /v1/runs
	TOKEN=
	check "a token that is none" test "$RC" = 401
	api GET /metrics
	cp "$OUT" "$M/metrics"
	api GET /v1/runs
	cp "$OUT" "$M/runs"
	pinfold audit --all
	cp "$OUT" "$M/audit"
	nowhere "is in no record, log, metric or list" "$DAEMON_LOG" "$M/metrics" "$M/runs" "$M/audit"
}

# L02. Events are those that there were, and have the same bytes.
fields()
{
	local before

	pinfold audit --all --json
	before=$(wc -l <"$OUT")
	mkdir -p "$W/$EVIL" && own "$W/$EVIL"
	inside --dir "$W/$EVIL" --env "$EVIL=x" -- printf %s "$EVIL"
	inside --image "$EVIL" -- true
	inside --user "$EVIL" -- true
	inside --isolation "$EVIL" -- true
	inside --workdir "$EVIL" -- true
	pinfold new "$EVIL"
	pinfold new fields
	pinfold snap fields "$EVIL"
	pinfold exec fields -- touch "$EVIL"
	pinfold token new --label "$EVIL"
	api POST /v1/runs "$(/usr/bin/python3 -I -c 'import json, sys
print(json.dumps({"command": ["echo", sys.argv[1]], "env": {"K": sys.argv[1]}, "image": sys.argv[1]}))' "$EVIL")" \
		-H 'X-Request-Id: a"}{"at":1'
	pinfold audit --all --json
	check "each line is an event, at its place" /usr/bin/python3 -I -c 'import json, sys
l = [json.loads(x) for x in open(sys.argv[1], newline="\n")]
assert all(e["kind"] != "ledger.key" for e in l)
for chain in {e["chain"] for e in l}:
    places = [e["at"] for e in l if e["chain"] == chain]
    assert places == list(range(len(places))), places
assert len(l) >= int(sys.argv[2]) + 12, len(l)
text = json.dumps(sys.argv[3])[1:-1]
data = [json.dumps(e["data"]) for e in l]
assert sum(text in d for d in data) >= 4, [d for d in data if "31m" in d]' "$OUT" "$before" "$EVIL"
	check "no line of the log is the caller's" not grep -q '^b' "$DAEMON_LOG"
	pinfold verify
	exits 0 "and the ledger is good"
}

# L05. Who else is not root has no way into their memory, and no core of them is left.
memory()
{
	local pid loose='' core='' all

	all=$(pgrep -P "$DAEMON"; pgrep -P "$DAEMON" | while read -r pid; do pgrep -P "$pid"; done)
	for pid in $DAEMON $all; do
		[ -r "/proc/$pid/limits" ] || continue
		grep -qE '^Max core file size +[01] +[01] ' "/proc/$pid/limits" || core+=" $pid"
		setpriv --reuid 64101 --regid 64101 --clear-groups head -c 1 "/proc/$pid/environ" \
			>/dev/null 2>&1 && loose+=" $pid"
	done
	check "no process of the daemon leaves a core" test -z "$core"
	check "and none lets another user look" test -z "$loose"
	pid=$(front_pid)
	check "front is closed to its own user" test "$(stat -c %u "/proc/$pid/environ")" = 0
	pid=$(pgrep -f -P "$(pgrep -x pinfold-http -P "$DAEMON" | head -1)" . | head -1)
	check "so is who serves HTTP" test "$(stat -c %u "/proc/${pid:-self}/environ")" = 0
	needs gcore "gcore as another user" || return
	check "gcore is refused" not setpriv --reuid 64101 --regid 64101 --clear-groups \
		gcore -o "$M/core" "$(front_pid)"
}

# L07
writers()
{
	local i pids=()

	for i in 1 2 3 4 5 6; do
		inside_start "W$i" --no-daemon -- sh -c "exit $i"
		pids+=("W$i")
	done
	for i in "${pids[@]}"; do
		inside_wait "$i"
	done
	pinfold verify
	exits 0 "several that write at once make one chain"
}

shut()
{
	if [ "$MODE" = R ]; then
		head -c 8M /dev/zero >"$M/full/fill" 2>/dev/null
		while head -c 512 /dev/zero >>"$M/full/fill" 2>/dev/null; do :; done
	else
		chmod 0400 "$M/full/ledger/events"
	fi
}

open_again()
{
	[ "$MODE" = U ] || rm -f "$M/full/fill"
	[ "$MODE" = R ] || chmod 0600 "$M/full/ledger/events"
}

# L04
unwritable()
{
	mkdir -p "$M/full"
	[ "$MODE" = U ] || mount -t tmpfs -o size=1m,mode=0700 none "$M/full" || return
	own "$M/full"
	chmod 0700 "$M/full"
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/full")
	inside --no-daemon -- true
	inside_start LATE --no-daemon --grace 10s -- bash -c "trap 'echo ended; exit 0' TERM
		echo began; while :; do read -t 1 x; done"
	wait_for 10 grep -q began "$LATE_OUT"
	shut
	# What is left of a page may still take some.
	for _ in $(seq 30); do
		inside --no-daemon -- true
		[ "$RC" = 0 ] || break
	done
	exits 125 "what comes then is refused"
	kill -INT "$LATE_PID"
	inside_wait LATE
	exits 130 "what ran already ends as it would have"
	prints $'began\nended' "with its output"
	open_again
	inside --no-daemon -- true
	exits 0 "with room again it runs"
	pinfold audit --all --json
	check "and the gap is on record" grep -qE '"data":\{"events":[0-9]+,"since":"20.*"kind":"ledger.gap"' "$OUT"
	pinfold verify
	exits 0 "in a ledger that is good"
	CALL_WRAP=()
	[ "$MODE" = U ] || umount -l "$M/full"
}

checks()
{
	local BEST='' PORT

	[ "$MODE" = U ] && BEST=', "limits": "best-effort"'
	needs curl setpriv "attacks on the ledger" || return
	chmod 0711 "$M/run"
	ulimit -S -c unlimited 2>/dev/null # what is 0 then was made 0
	PORT=$(free_port)
	daemon_start --warm 1 --warm-python 0 --listen "127.0.0.1:$PORT"
	wait_for 20 is_ready
	secrets
	fields
	memory
	writers
	daemon_stop
	unwritable
}

run_checks
