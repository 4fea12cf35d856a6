#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# replay: the same came of it, or what differs; and what cannot be run again is refused by name.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

# repeatable [OPTION...] -- COMMAND...: sets RUN.
repeatable()
{
	inside_json --deterministic "$@"
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
}

identical()
{
	pinfold replay "$RUN"
	exits 0 "$1"
	check "$1: it says so" grep -q '^identical: ' "$OUT"
}

same()
{
	repeatable --lang python --env SECRET=canary-of-replay -- "$TEST_DIR/probe.py"
	identical "a program that looks at everything"
	check "what is kept is the caller's alone" test \
		"$(stat -c %a:%u "$M/home/artifacts/$RUN/replay")" = "600:$([ "$MODE" = U ] && echo "$USER_ID" || echo 0)"
	pinfold replay --json "$RUN"
	json_has 'd["identical"] is True and d["differences"] == [] and d["replay"] != d["run"]' "as a document"
	printf 'a\0b\n' >"$W/in"
	repeatable --stdin "$W/in" -- sh -c 'cat | od -c; echo made >f; ln -s f l; mkdir d; exit 3'
	identical "input, files and an exit status"
	check "its exit status is told" grep -q 'exit status 3.* 3 files' "$OUT"
	repeatable --time 300ms --grace 100ms -- sh -c 'echo begun; exec tail -f /dev/null'
	identical "one that a limit ended"
	repeatable -- no-such-program
	identical "one that was not found"
	pinfold audit --json --kind run.replay --all
	check "each is on record" test "$(grep -c '"phase":"end"' "$OUT")" = 5
	check "and no value of a variable" test -z "$(grep -rl canary-of-replay "$M/home/ledger")"
}

different()
{
	needs gcc "what differs" || return
	mkdir -p "$W/static" && cc -static -O1 -o "$W/static/clocks" "$TEST_DIR/clocks.c" -pthread &&
		own "$W/static" "$W/static/clocks"
	repeatable --dir "$W/static" -- sh -c 'echo first; /work/clocks; /work/clocks >f; printf "\033[31mx" >&2'
	pinfold replay "$RUN"
	exits 1 "what is not pinned differs"
	check "the line is told" grep -q '^stdout, line 2:' "$OUT"
	check "the file is told" grep -q '^file /home/user/f:' "$OUT"
	pinfold replay --json "$RUN"
	exits 1 "and as a document"
	json_has 'd["differences"][0]["what"] == "stdout" and d["differences"][0]["line"] == 2 and
		d["differences"][1]["path"] == "/home/user/f" and not d["identical"]' "with its places"
}

on_a_directory()
{
	mkdir -p "$W/dir/sub" && echo one >"$W/dir/sub/f" && ln -s f "$W/dir/sub/l"
	own "$W/dir" "$W/dir/sub" "$W/dir/sub/f"
	repeatable --dir "$W/dir" -- sh -c 'cd /work; ls -lR --full-time; echo two >>sub/f'
	identical "on a directory"
	echo other >"$W/dir/sub/f"
	pinfold replay "$RUN"
	refuses conflict.changed "$W/dir" "a directory that changed"
	echo one >"$W/dir/sub/f"
	identical "once it is what it was"
	mv "$W/dir" "$W/elsewhere"
	pinfold replay "$RUN"
	refuses not_found "$W/dir" "a directory that is gone"
}

# edit_kept FILE STATEMENT: what is kept of a run says something else.
edit_kept()
{
	/usr/bin/python3 -I - "$@" <<-END
		import base64, json, sys
		coded = lambda word: base64.b64encode(word).decode()
		kept = json.load(open(sys.argv[1]))
		exec(sys.argv[2])
		json.dump(kept, open(sys.argv[1], "w"))
	END
}

left_behind()
{
	compgen -G "$M/home/locks/replay-*"
}

# A replay that is killed leaves a workspace and a lock that nobody holds: the next one removes both, and so does gc.
killed_replay()
{
	local turn pid

	pinfold exec --deterministic --json demo -- true
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	edit_kept "$M/home/artifacts/$RUN/replay" 'kept["request"]["argv"] = [coded(b"sleep"), coded(b"50")]'
	for turn in replay gc; do
		call_files replay "$RUN"
		rm -f "$EVIDENCE/replay.pid"
		call_argv -p "$EVIDENCE/replay.pid"
		"${CALL[@]}" replay "$RUN" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
		pid=$!
		wait_for 10 left_behind >/dev/null
		wait_for 10 test -s "$EVIDENCE/replay.pid"
		kill -9 "$(cat "$EVIDENCE/replay.pid")"
		wait "$pid"
		forget_report '^signal 9' # that was us
		check "a killed replay leaves something ($turn)" left_behind
		if [ "$turn" = gc ]; then pinfold gc; else pinfold replay "$RUN_BEFORE"; fi
		exits 0 "$turn after a killed replay"
		pinfold ls --json
		json_is 1 'len(d["items"])' "its workspace is gone ($turn)"
		check "and its lock ($turn)" test -z "$(left_behind)"
	done
	RUN=$RUN_BEFORE
}

in_a_workspace()
{
	pinfold new demo
	pinfold exec demo -- sh -c 'echo one >f'
	pinfold exec --deterministic --json demo -- sh -c 'cat f; date >>f; ls -l --full-time'
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	pinfold exec demo -- sh -c 'echo other >f'
	identical "in a workspace, as it stood before"
	pinfold ls --json
	json_is 1 'len(d["items"])' "no other workspace is left"
	pinfold exec demo -- cat f
	prints other "and it is not touched"
	RUN_BEFORE=$RUN
	killed_replay
	pinfold rm demo
	pinfold replay "$RUN"
	refuses not_found demo "a workspace that is gone"
}

# ordinary [OPTION...]: a run of which nothing but the ledger is kept; sets RUN.
ordinary()
{
	inside_json "$@"
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	check "nothing is kept of it" test ! -e "$M/home/artifacts/$RUN"
}

by_the_ledger()
{
	ordinary --workdir /tmp --nofile 100 --time 50s -- sh -c 'pwd; ulimit -n; mkdir d; echo x >d/f; echo e >&2; exit 3'
	identical "an ordinary run"
	ordinary -- sh -c 'date +%N >f; date +%N'
	pinfold replay "$RUN"
	exits 1 "one that comes out differently"
	check "its output is told by its hash" grep -q '^  - 10 bytes, sha256 ' "$OUT"
	check "and so are its files" grep -q '^  - added, 10 bytes, sha256 ' "$OUT"
	repeatable -- date +%N
	rm -r "$M/home/artifacts/$RUN"
	identical "a deterministic one, when what was kept is gone"
	pinfold new plain
	pinfold exec plain -- sh -c 'echo 1 >n'
	pinfold exec --json plain -- sh -c 'echo 2 >>n; cat n'
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	pinfold exec plain -- sh -c 'echo 3 >>n'
	identical "in a workspace, as it stood before"
	pinfold rm plain
	ordinary --lang python -c 'print(1)'
	pinfold replay "$RUN"
	refuses unsupported "program text" "the ledger has no program texts"
	ordinary -- curl -u name:hunter22 http://127.0.0.1:9/
	pinfold replay "$RUN"
	refuses unsupported secret "nor what looks like a secret"
}

refused()
{
	ordinary --env A=b -- true
	pinfold replay "$RUN"
	refuses unsupported "$RUN" "a run of which not enough is kept"
	says -- '--deterministic' "what to add"
	pinfold replay ../../etc
	refuses invalid_argument RUN "what is no run"
	pinfold replay
	refuses invalid_argument RUN "none"
	repeatable --allow example.org -- true
	pinfold replay "$RUN"
	refuses unsupported --record "one that could reach the network"
	repeatable --stdin /dev/zero -- head -c 2000000
	pinfold replay "$RUN"
	refuses unsupported input "one that read too much"
	repeatable -- true
	for bad in '' '{}' '{"version":1}' '{"version":1,"request":{"argv":["!"]}}' '[1'; do
		printf %s "$bad" >"$M/home/artifacts/$RUN/replay"
		pinfold replay "$RUN"
		check "a damaged file: ${bad:-empty}" test "$RC" = 125
	done
}

with_daemon()
{
	daemon_start --warm 1 --warm-python 0 --warm-r 0
	repeatable --limits best-effort --lang python "$TEST_DIR/probe.py"
	identical "in the daemon"
	daemon_stop
	identical "and without it"
}

# post FIELDS: sets RUN.
post()
{
	api POST /v1/runs "{$1$LIMITS}"
	RUN=$(json 'd["id"]')
}

over_http()
{
	local kept

	serve_start --warm-python 0 --warm-r 0
	post '"deterministic": true, "lang": "python", "stdin": "a\\u0000b", "env": {"K": "canary-of-http"},
		"code": "import random, sys; print(random.random(), sys.stdin.read()); open(\"f\", \"w\")"'
	identical "a run over HTTP"
	kept=$M/home/api/artifacts/$RUN/replay
	check "what is kept of it is its own" test "$(stat -c %a "$kept")" = 600
	check "and in no ledger" test -z "$(grep -rl canary-of-http "$M/home/ledger" "$M/home/api/ledger")"
	edit_kept "$kept" 'kept["dir"] = {"path": coded(b"/etc"), "digest": "0" * 64}'
	pinfold replay "$RUN"
	refuses denied "$RUN" "one who serves cannot ask for a directory of ours"
	rm "$kept" && ln -s /etc/passwd "$kept"
	pinfold replay "$RUN"
	check "a link is not followed" test "$RC" = 125
	post '"deterministic": true, "command": "date >f; cat f", "name": "over"'
	identical "one in a workspace over HTTP"
	post '"command": ["true"]'
	identical "one of which nothing was asked"
	post '"command": ["true"], "env": {"K": "v"}'
	pinfold replay "$RUN"
	refuses unsupported "$RUN" "unless it had a variable"
	says 'pinfold run --deterministic' "which says how it would have been kept"
	pinfold replay "run${RUN:3:20}aaaaaa"
	says 'the ledger knows no such run' "that is another thing than one that never was"
	inside_json --record -- date +%s%N
	RUN=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	pinfold replay --deterministic "$RUN"
	exits 1 "pinned where the run was not: it comes out differently"
	serve_stop
}

checks()
{
	same
	by_the_ledger
	different
	on_a_directory
	in_a_workspace
	refused
	with_daemon
	over_http
}

run_checks
