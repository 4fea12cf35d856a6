#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Workspaces over HTTP: made, used, followed, taken back; each tenant has its own.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"

LIMITS=
V=/v1/workspaces

# exec_in NAME COMMAND [FIELDS]: a line for the shell.
exec_in()
{
	api POST "$V/$1/exec" "{\"command\": \"$2\"${3:+, $3}$LIMITS}"
}

# hold_in LETTER NAME: a command that stays, in the background.
hold_in()
{
	api_start "$1" POST "$V/$2/exec?stream=1" \
		"{\"command\": \"echo held > held; echo ready; exec tail -f /dev/null\", \"time\": \"5m\"$LIMITS}"
	out=${1}_OUT
	wait_for 15 grep -q ready "${!out}" || not_ok "$1 is ready [$MODE]"
}

# for_http NAME: who calls has no command line.
for_http()
{
	check "$1: the remedy can be done by HTTP" test -z "$(body 'd["error"]["remedy"]' | grep pinfold)"
}

status_is()
{
	api GET "$V/$1"
	[ "$(body 'd["status"]')" = "$2" ]
}

keeper_is_idle()
{
	[ -z "$(children_of "$(keeper_pid)")" ]
}

made()
{
	api POST $V '{"name": "demo"}'
	answers 201 "a workspace is made"
	body_is demo 'd["name"]' "it has its name"
	body_is idle 'd["status"]' "and what there is to know of it"
	api POST $V '{"name": "demo"}'
	answers_error 409 conflict "not twice"
	for_http "not twice"
	api POST $V/demo/undo
	answers_error 400 invalid_argument "nothing to undo"
	for_http "nothing to undo"
	api POST $V/demo/rollback '{"snapshot": 77}'
	answers_error 404 not_found "no such snapshot"
	for_http "no such snapshot"
	api GET $V/nope
	answers_error 404 not_found "no such workspace"
	for_http "no such workspace"
	api POST $V '{"name": "small", "disk": 1}'
	answers_error 400 invalid_argument "no room for anything"
	api POST $V '{"name": "small", "disk": "1G"}'
	body_is 1073741824 'd["disk_limit_bytes"]' "with a limit"
	api GET $V
	answers 200 "they are listed"
	body_is "demo small" '" ".join(sorted(w["name"] for w in d["items"]))' "both"
	body_has 'd["next"] is None' "as a list"
	api GET "$V?limit=1"
	body_is "demo demo" '" ".join([w["name"] for w in d["items"]] + [d["next"]])' "page by page"
	api GET "$V?limit=1&after=demo"
	body_is "small None" '" ".join([w["name"] for w in d["items"]] + [str(d["next"])])' "to the end"
	api GET "$V?limit=0"
	answers_error 400 invalid_argument "a page of nothing"
	pinfold ls --json
	body_is "demo small" '" ".join(sorted(w["name"] for w in d["items"]))' "who runs the daemon has them, too"
	api DELETE $V/small
	answers 204 "one is removed"
	api GET $V/small
	answers_error 404 not_found "and gone"
}

refused()
{
	local name

	for name in -x --dir=x a%20b A sbxaaaaaaaaaaaaaaaaaaaaaaaaaa; do
		api POST "$V/$name/exec" "{\"command\": \"id\"$LIMITS}"
		answers_error 400 invalid_argument "a name that is none ($name)"
	done
	for name in a%2Fb ..; do
		api POST "$V/$name/exec" "{\"command\": \"id\"$LIMITS}" --path-as-is
		check "a path is no name ($name)" test "$RC" = 404 -o "$RC" = 400
	done
	api POST $V '{"name": "-x"}'
	answers_error 400 invalid_argument "a dash for a name"
	body_has '"name: " in d["error"]["message"]' "which is called a name"
	api POST $V '{"name": "--help"}'
	answers_error 400 invalid_argument "an option for a name"
	api POST $V '{"name": "other", "image": "/etc"}'
	answers_error 400 invalid_argument "a path for an image"
	api POST $V '{"name": "other", "image": "never-imported"}'
	answers_error 404 not_found "an image that is not there"
	api POST $V '{"name": "other", "dir": "/etc"}'
	answers_error 400 invalid_argument "a directory of the host"
	api POST $V/demo/exec "{\"command\": \"true\", \"dir\": \"/etc\"}"
	answers_error 400 invalid_argument "the same for a command"
	api POST $V/demo/exec "{\"command\": \"true\", \"isolation\": \"landlock\"}"
	answers_error 501 unsupported "another level"
	api POST $V/demo/exec '{}'
	answers_error 400 invalid_argument "no command"
	api POST $V/nope/exec "{\"command\": \"true\"$LIMITS}"
	answers_error 404 not_found "a workspace that is not there"
	api POST $V/demo/snapshots '{"label": "--all"}'
	answers_error 400 invalid_argument "an option for a label"
	api GET "$V/demo/diff?from=--command=1"
	answers_error 400 invalid_argument "an option for a snapshot"
	api POST $V/demo/sync
	answers_error 400 invalid_argument "a synchronisation that is no stream"
	api GET $V/demo/log
	body_is 1 'len(d["items"])' "nothing of it happened"
}

commands()
{
	exec_in demo 'echo hello > f; cat f; echo no >&2; exit 3'
	answers 200 "a command"
	body_is 3 'd["exit_code"]' "its status"
	body_is "hello " 'd["stdout"]["text"].replace("\n", " ")' "its output"
	body_is "no " 'd["stderr"]["text"].replace("\n", " ")' "its other output, and nothing of ours"
	body_is demo 'd["workspace"]' "where it was"
	body_has 'd["id"].startswith("run") and d["snapshot"] == 2' "its id and its snapshot"
	local id
	id=$(body 'd["id"]')
	api GET "/v1/runs/$id/stdout"
	prints hello "the whole output by its id"
	api GET "/v1/runs/$id"
	body_is 3 'd["exit_code"]' "the result by its id"
	exec_in demo 'cat ~/f -; pwd; echo $A' '"stdin": "input\n", "env": {"A": "b c"}, "workdir": "/tmp"'
	body_is "hello input /tmp b c " 'd["stdout"]["text"].replace("\n", " ")' "files stay; input, variables, directory"
	api POST $V/demo/exec "{\"lang\": \"python\", \"code\": \"import sys\\nprint(6*7, sys.argv[1:])\", \"args\": [\"--dir\", \"/etc\"]$LIMITS}"
	body_is "42 ['--dir', '/etc'] " 'd["stdout"]["text"].replace("\n", " ")' "a program with arguments"
	api POST $V/demo/exec "{\"command\": [\"cat\", \"/etc/shadow\"]$LIMITS}"
	body_has 'd["exit_code"] != 0 and not d["stdout"]["text"]' "nothing of the host is there"
	exec_in demo 'no-such-program'
	body_is 127 'd["exit_code"]' "a program that is not there"
	exec_in demo 'sleep 20' '"time": "300ms"'
	body_is timeout 'd["status"]' "its time is over"
	exec_in demo 'head -c 3000000 /dev/zero' '"output": 1000'
	body_has 'd["stdout"]["bytes"] == 3000000 and d["stdout"]["truncated"]' "much output"
	api GET "/v1/runs/$(body 'd["id"]')/stdout"
	check "all of it" test "$(stat -c %s "$OUT")" = 3000000
	api POST /v1/runs "{\"command\": \"echo kept > k\", \"name\": \"made\"$LIMITS}"
	body_is made 'd["workspace"]' "a run that keeps its files"
	exec_in made 'cat k'
	body_is "kept " 'd["stdout"]["text"].replace("\n", " ")' "has them"
	api POST /v1/runs "{\"command\": \"true\", \"name\": \"made\"$LIMITS}"
	answers_error 409 conflict "a name that is taken"
	api POST /v1/runs "{\"command\": \"true\", \"name\": \"made2\", \"image\": \"never\"$LIMITS}"
	answers_error 404 not_found "an image that is not there, for a run that keeps its files"
	api GET $V/made2
	answers_error 404 not_found "nothing is made then"
	api DELETE $V/made
}

streams()
{
	api POST "$V/demo/exec?stream=1" "{\"command\": \"echo one; echo two >&2; python3 -c 'import socket; socket.socket().connect_ex((\\\"203.0.113.5\\\", 443))'\"$LIMITS}"
	answers 200 "events"
	check "they are server-sent" test "$(header content-type)" = text/event-stream
	check "the first is started" test "$(events_of "$OUT" | cut -d' ' -f1)" = started
	check "the last is the result" test "$(events_of "$OUT" | sed 's/.* //')" = result
	check "output and refusals between" test "$(events_of "$OUT" | tr ' ' '\n' | sort -u | tr '\n' ' ')" = \
		"denial result started stderr stdout "
	hold_in A demo
	check "output comes while it runs" grep -q '^event: stdout' "$A_OUT"
	id=$(sed -n 's/.*"id":"\(run[a-z0-9]*\)".*/\1/p' "$A_OUT" | head -1)
	api GET "/v1/runs/$id"
	body_is running 'd["status"]' "it is known by its id"
	exec_in demo true
	answers_error 503 busy "another command meanwhile"
	check "and when to come again" test "$(header retry-after)" -ge 1
	api DELETE "/v1/runs/$id"
	api_wait A
	check "it can be ended" grep -q '^event: result' "$A_OUT"
	check "then the keeper has nothing left" wait_for 10 keeper_is_idle
	exec_in demo 'cat held'
	body_is "held " 'd["stdout"]["text"].replace("\n", " ")' "what it wrote is there"
}

leaves()
{
	hold_in A demo
	kill "$A_PID"
	wait "$A_PID" 2>/dev/null
	check "who leaves ends his command" wait_for 15 keeper_is_idle
	check "and the workspace is free" wait_for 5 status_is demo idle
	hold_in A demo
	kill -9 "$(keeper_pid)"
	api_wait A
	check "a keeper that dies takes its commands with it, and another comes" wait_for 15 status_is demo idle
	exec_in demo 'echo again'
	body_is "again " 'd["stdout"]["text"].replace("\n", " ")' "and works"
}

history()
{
	api POST $V '{"name": "h"}'
	exec_in h 'echo 1 > n'
	exec_in h 'echo 2 > n'
	api POST $V/h/snapshots '{"label": "two"}'
	answers 201 "a snapshot"
	body_is two 'd["label"]' "with its label"
	exec_in h 'echo 3 > n'
	api GET $V/h/log
	body_is "exec snap exec exec new" '" ".join(s["kind"] for s in d["items"])' "the log"
	api GET "$V/h/diff"
	body_is "modified /home/user/n" '"%s %s" % (d["items"][0]["change"], d["items"][0]["path"])' "the last change"
	body_has '"+3" in d["items"][0]["patch"]' "as a patch"
	api GET "$V/h/diff?from=2&to=two&names=1"
	body_has 'd["items"][0]["patch"] is None' "between two snapshots, names only"
	api GET "$V/h/diff?to=2"
	body_is added 'd["items"][0]["change"]' "of one command"
	api POST $V/h/undo '{"count": 1}'
	answers 200 "undo"
	exec_in h 'cat n'
	body_is "2 " 'd["stdout"]["text"].replace("\n", " ")' "it is as before"
	api POST $V/h/rollback '{"snapshot": 2}'
	answers 200 "a rollback, by number"
	exec_in h 'cat n'
	body_is "1 " 'd["stdout"]["text"].replace("\n", " ")' "it is as then"
	api POST $V/h/fork '{"name": "h2", "snapshot": "-1"}'
	answers_error 400 invalid_argument "a snapshot that is none"
	body_has 'd["error"]["message"].startswith("snapshot: ")' "is named"
	api POST $V/h/fork '{"name": "h2", "snapshot": "two"}'
	answers 201 "a fork"
	exec_in h2 'cat n'
	body_is "2 " 'd["stdout"]["text"].replace("\n", " ")' "with the files of that snapshot"
	api POST $V/h/rollback '{"snapshot": "never"}'
	answers_error 404 not_found "a snapshot that is not there"
	api DELETE $V/h
	api DELETE $V/h2
}

# token NAME [OPTION...]: sets TOKEN.
token()
{
	pinfold token new --json --tenant "$1" "${@:2}"
	TOKEN=$(body 'd["token"]')
}

tenants()
{
	local a b

	token alpha
	a=$TOKEN
	token beta
	b=$TOKEN
	TOKEN=$a
	api GET $V
	body_is 0 'len(d["items"])' "a tenant sees nothing of who runs the daemon"
	api POST $V '{"name": "own"}'
	answers 201 "it makes one"
	exec_in own 'echo secret > s'
	local id
	id=$(body 'd["id"]')
	TOKEN=$b
	api GET $V
	body_is 0 'len(d["items"])' "another tenant does not see it"
	api GET $V/own
	answers_error 404 not_found "nor by its name"
	exec_in own 'cat s'
	answers_error 404 not_found "nor can it run there"
	api DELETE $V/own
	answers_error 404 not_found "nor remove it"
	api GET $V/own/diff
	answers_error 404 not_found "nor see its changes"
	api GET "/v1/runs/$id"
	answers_error 404 not_found "nor what ran there"
	api POST $V '{"name": "own"}'
	answers 201 "it may have one of the same name"
	exec_in own 'cat s'
	body_has 'd["exit_code"] != 0' "which is another"
	TOKEN=$a
	exec_in own 'cat s'
	body_is "secret " 'd["stdout"]["text"].replace("\n", " ")' "the first has its own"
	token alpha --scope run
	api GET $V
	answers_error 403 denied "a token without the scope"
	TOKEN=
	api GET $V
	body_is demo '" ".join(sorted(w["name"] for w in d["items"]))' "who runs the daemon sees neither"
	check "directories of tenants are closed" test "$(stat -c %a "$M/home/tenants/alpha")" = 700
}

ends()
{
	hold_in A demo
	daemon_stop
	exits 0 "the daemon ends while a command runs"
	api_wait A
	check "nothing is left" nothing_left
	pinfold info --json demo
	body_is idle 'd["status"]' "the workspace is free"
}

checks()
{
	needs curl setpriv "workspaces over HTTP" || return
	daemon_mode
	[ "$MODE" = R ] || LIMITS=', "limits": "best-effort"'
	PORT=$(free_port)
	daemon_start --warm 1 --warm-python 0 --listen "127.0.0.1:$PORT"
	made
	refused
	commands
	streams
	leaves
	history
	tenants
	ends
}

run_checks
