#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages over HTTP, by configuration, and where they may not be had.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"

PEAR='import pear; print(pear.__version__)'
LIMITS=

# run_code FIELDS: over HTTP.
run_code()
{
	api POST "/v1/runs${2:-}" "{\"lang\": \"python\", \"code\": \"$PEAR\", $1$LIMITS}"
}

# Of a sandbox that lives nobody knows which command it was.
SO_FAR='" ".join(str(d["packages"][0].get(k, "absent")) for k in ("imported_so_far", "imported"))'

# A sandbox that the API makes has packages that the keeper had.
living()
{
	local id session

	api POST /v1/sandboxes "{\"packages\": [\"pear\"]$LIMITS}"
	answers 201 "a sandbox that lives, with packages"
	body_is "pear 1.5" '" ".join(p["name"] + " " + p["version"] for p in d["packages"])' "says so"
	id=$(body 'd["id"]')
	api POST "/v1/sandboxes/$id/exec" '{"command": "true"}'
	body_is "False absent" "$SO_FAR" "a command that imports nothing"
	api POST "/v1/sandboxes/$id/exec" "{\"lang\": \"python\", \"code\": \"$PEAR\"}"
	body_is "True absent" "$SO_FAR" "what was imported in the sandbox is said"
	body_is 1.5 'd["stdout"]["text"].strip()' "its commands have them"
	body_is "pear 1.5 64" '" ".join(p["name"] + " " + p["version"] + " " + str(len(p["sha256"])) for p in d["packages"])' \
		"their results say which"
	api POST "/v1/sandboxes/$id/exec" '{"command": "true"}'
	body_is "True absent" "$SO_FAR" "and stays said"
	api GET "/v1/sandboxes/$id"
	body_is "pear 1.5" '" ".join(p["name"] + " " + p["version"] for p in d["packages"])' "and so does who looks at it later"
	api POST "/v1/sandboxes/$id/sessions" '{"lang": "python"}'
	api POST "/v1/sandboxes/$id/sessions/$(body 'd["id"]')/execute" "{\"code\": \"$PEAR\"}"
	body_is 1.5 'd["stdout"]["text"].strip()' "its sessions, too"
	body_is "pear 1.5" '" ".join(p["name"] + " " + p["version"] for p in d["packages"])' "and what they execute says so"
	body_is "True absent" "$SO_FAR" "with what was imported"
	api POST /v1/sandboxes "{\"packages\": [\"pear\"]$LIMITS}"
	api POST "/v1/sandboxes/$(body 'd["id"]')/sessions" '{"lang": "python"}'
	session=/v1/sandboxes/$(body 'd["sandbox"]')/sessions/$(body 'd["id"]')
	api POST "$session/execute" '{"code": "1"}'
	body_is "False absent" "$SO_FAR" "a session that imports nothing"
	api POST "$session/execute" "{\"code\": \"$PEAR\"}"
	body_is "True absent" "$SO_FAR" "until it does"
	api DELETE "${session%/sessions/*}"
	api DELETE "/v1/sandboxes/$id"
}

over_http()
{
	run_code '"deps": "auto"'
	answers 200 "a run with packages"
	body_is 1.5 'd["stdout"]["text"].strip()' "has them"
	body_is "pear 1.5" '" ".join(p["name"] + " " + p["version"] for p in d["packages"])' "and says so"
	[ "$MODE" = R ] || return 0
	api GET "/v1/runs/$(body 'd["id"]')"
	body_is exited 'd["status"]' "its result is kept"
	run_code '"deps": "manifest"'
	body_is pear 'd["missing"]["package"]' "what is missing is named"
	run_code '"deps": "retry"'
	body_is "pear 1.5 True" 'd["retried"]["package"] + " " + d["stdout"]["text"].strip() + " " + str(d["packages"][0]["imported"])' \
		"and had, once more"
	run_code '"deps": "auto"' '?stream=1'
	check "events" grep -q '^event: result' "$OUT"
	run_code '"deps": "auto", "image": "other"'
	answers_error 501 unsupported "with an image"
	api POST /v1/runs "{\"lang\": \"python\", \"code\": \"import reqeusts\", \"deps\": \"auto\"$LIMITS}"
	answers_error 403 denied "a typing error"
	api POST /v1/workspaces '{"name": "w"}'
	api POST /v1/workspaces/w/exec "{\"lang\": \"python\", \"code\": \"$PEAR\", \"deps\": \"auto\"$LIMITS}"
	body_is 1.5 'd["stdout"]["text"].strip()' "in a workspace"
	pinfold deps w
	check "which has a lock then" grep -q '^pear ' "$OUT"
	api POST /v1/sandboxes "{\"deps\": \"auto\"$LIMITS}"
	answers_error 400 invalid_argument "in a sandbox that lives they are named"
	api POST /v1/sandboxes "{\"packages\": [\"reqeusts\"]$LIMITS}"
	answers_error 403 denied "no typing error"
	api POST /v1/sandboxes "{\"packages\": [\"../x\"]$LIMITS}"
	answers_error 400 invalid_argument "no path"
	api POST /v1/runs "{\"packages\": [\"--name=x\"], \"command\": \"true\"$LIMITS}"
	answers_error 400 invalid_argument "no option"
}

configured()
{
	local before=("${CALL_ENV[@]}")

	CALL_ENV+=(PINFOLD_DEPS=auto)
	inside --lang python -c "$PEAR"
	prints 1.5 "auto, by configuration"
	[ "$MODE" = R ] || { CALL_ENV=("${before[@]}"); return; }
	inside --deps off --lang python -c "$PEAR"
	exits 1 "but not who does not want them"
	CALL_ENV=("${before[@]}" PINFOLD_DEPS=never)
	inside --deps auto --lang python -c "$PEAR"
	refuses denied "may not be installed" "where it is forbidden"
	CALL_ENV=("${before[@]}")
}

checks()
{
	needs curl setpriv "packages over HTTP" || return
	index || return
	daemon_mode
	[ "$MODE" = R ] || LIMITS=', "limits": "best-effort"'
	chmod 0711 "$M/run" # root's API is somebody else
	daemon_start --warm 0 --warm-python 0
	over_http
	living
	daemon_stop
	configured
}

run_deps
