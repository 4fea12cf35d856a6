#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of the distribution over HTTP and for agents, from an archive of the test's own.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/mcp.sh"

checks()
{
	local id limits=

	needs curl setpriv "packages over HTTP" || return
	index archive.py || return
	CALL_OUTER+=("--mount=/proc/$INDEX_PID/ns/mnt")
	daemon_mode
	[ "$MODE" = R ] || limits=', "limits": "best-effort"'
	chmod 0711 "$M/run" # root's API is somebody else
	daemon_start --warm 0 --warm-python 0
	api POST /v1/runs "{\"apt\": [\"pf-tool\"], \"command\": [\"pf-tool\"]$limits}"
	answers 200 "a run with a package of the distribution"
	body_is "tool text conf state" 'd["stdout"]["text"].strip()' "has it"
	body_is "apt pf-lib,apt pf-tool" '",".join(p["language"] + " " + p["name"] for p in d["packages"])' "and says so"
	api POST /v1/sandboxes "{\"apt\": [\"pf-tool=1.0\"]$limits}"
	answers 201 "a sandbox that lives"
	id=$(body 'd["id"]')
	api POST "/v1/sandboxes/$id/exec" '{"command": ["pf-tool"]}'
	body_is "tool text conf state" 'd["stdout"]["text"].strip()' "its commands have it"
	api DELETE "/v1/sandboxes/$id"
	api POST /v1/runs "{\"apt\": [\"--evil\"], \"command\": [\"true\"]$limits}"
	answers_error 400 invalid_argument "no option"
	daemon_stop
	play apt
}

run_deps apt-get
