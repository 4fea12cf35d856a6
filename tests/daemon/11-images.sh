#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Images of the caller's store in sandboxes that a daemon makes: runs, sandboxes that live, over HTTP; that
# they stay as long as they are needed, and that files of others in them are closed.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/mcp.sh"

IMAGES=$(dirname "$0")/../workspace/make-images.py
HOST='for f in /etc/shadow /etc/fstab /etc/debian_version /usr/bin/perl /proc/1/root/etc/shadow; do
	test -e $f && echo "$f is there"; done'

take()
{
	pinfold image import "$1" "$T/images/$2"
	exits 0 "$2 is taken in"
}

runs()
{
	inside_json --daemon "${BEST[@]}" --image one -- sh -c "$HOST"'; cat /usr/share/note; id -u; touch /etc/x /home/user/new'
	json_is $'of the image\n1000' 'd["stdout"]["text"]' "the image's files, and none of the host's"
	json_is cold 'd["start"]' "in a sandbox of the daemon"
	json_is '["/home/user/new"]' 'list(files)' "what has changed is told"
	inside --daemon "${BEST[@]}" --image py --lang python -c 'import sys; print(sys.executable)'
	prints /opt/py/bin/python3 "the image's own Python"
	inside --daemon "${BEST[@]}" --image links -- sh -c "$HOST"'; for d in proc dev sys tmp run home/user etc; do
		test -d /$d -a ! -L /$d || echo "$d is no directory"; done; echo end'
	prints end "an image full of links gets nothing of the host's"
	inside --daemon "${BEST[@]}" --image one --package x -- true
	refuses unsupported image "not with packages"
	inside --daemon "${BEST[@]}" --image nobody -- true
	refuses not_found --image "one that is not there"
}

# printed RUN TEXT: it has ended, and printed that.
printed()
{
	api GET "/v1/runs/$1"
	[ "$(body 'd["status"] + " " + d["stdout"]["text"].strip()' 2>/dev/null)" = "exited $2" ]
}

lives()
{
	local id

	pinfold run --detach "${BEST[@]}" --image py
	id=$(cat "$OUT")
	pinfold exec "$id" -- sh -c 'python3 -c "print(42)"; echo kept >kept'
	prints 42 "one that lives: commands, by the image's PATH"
	pinfold exec "$id" -- cat kept
	prints kept "and files"
	pinfold image rm py
	refuses busy "in use" "its image is not removed"
	pinfold kill "$id"
	api POST /v1/sandboxes "{\"image\": \"py\", \"metadata\": {\"a\": \"b\"}$LIMITS}"
	answers 201 "over HTTP"
	body_is '["py", {"a": "b"}]' 'd["image"], d["metadata"]' "it says on what it stands"
	id=$(body 'd["id"]')
	api POST "/v1/sandboxes/$id/exec" '{"command": ["python3", "-c", "print(6 * 7)"]}'
	body_is 42 'd["stdout"]["text"].strip()' "a command"
	pinfold image rm py
	refuses busy "in use" "it is not removed there either"
	api DELETE "/v1/sandboxes/$id"
	api POST /v1/runs "{\"image\": \"py\", \"lang\": \"python\", \"code\": \"import sys; print(sys.executable)\"$LIMITS}"
	body_is /opt/py/bin/python3 'd["stdout"]["text"].strip()' "a run"
	api POST /v1/runs "{\"image\": \"py\", \"command\": [\"python3\", \"-c\", \"print(7)\"], \"detach\": true$LIMITS}"
	answers 202 "one that nobody waits for"
	id=$(body 'd["id"]')
	wait_for 20 printed "$id" 7
	check "has it, too" printed "$id" 7
	api POST /v1/runs "{\"image\": \"nobody\", \"command\": \"true\"$LIMITS}"
	answers 404 "one that is not there"
	api POST /v1/sandboxes "{\"image\": \"../one\"$LIMITS}"
	answers 400 "what is no name"
	pinfold image rm py
	exits 0 "nobody has it any more"
}

# Root's daemon mounts what an ordinary caller gives it: to him, files of others stay what they are.
foreign()
{
	local layer

	[ "$MODE" = R ] || return 0
	chmod 0666 "$M/run/daemon.sock"
	call_by 64101
	take his root.tar
	layer=$(dirname "$(find "$M/home-64101/layers" -path '*/root/etc/os-release' | head -n1)")
	echo secret >"$layer/theirs"
	chown 1000:1000 "$layer/theirs"
	chmod 600 "$layer/theirs"
	pinfold run --daemon --image his -- sh -c 'cat /usr/share/note; cat /etc/theirs; stat -c %u /etc/theirs /usr/share/note; true'
	prints $'of the image\n65534\n1000' "an image of an ordinary caller of root's daemon: what others own is closed"
	CALL_WRAP=()
	rm "$layer/theirs"
}

checks()
{
	daemon_mode
	LIMITS=
	[ "$MODE" = R ] || LIMITS=', "limits": "best-effort"'
	CALL_SECONDS=240
	[ -d "$T/images" ] || { mkdir -m 0755 "$T/images" && /usr/bin/python3 -I "$IMAGES" "$T/images"; } || not_ok "images are made"
	own "$T/images"
	chmod 0711 "$M/run" # root's API is somebody else
	daemon_start --warm 1 --warm-python 0 --warm-node 0
	take one root.tar
	take py python.tar
	take links links.tar
	runs
	lives
	play image # in the daemon that is there
	foreign
	daemon_stop
	exits 0 "it ends"
	play image # in one of its own
}

run_checks
