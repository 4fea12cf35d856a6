#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: netns, ref-bwrap
#
# A socket of docker, containerd, dbus or an ssh agent is worth as much as the rights of who
# listens. Abstract names belong to the network namespace; a path works wherever the inode can be
# reached, so one in a directory that is passed in with --dir must lead nowhere.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B19 no socket of the host can be reached, by name, path or address"

WORKS="own-abstract own-path "

PATHS=(/run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock /run/podman/podman.sock
	/run/dbus/system_bus_socket /run/user/0/bus /run/user/1000/bus /run/systemd/private
	/run/systemd/journal/socket /run/nscd/socket /dev/log /tmp/.X11-unix/X0
	/run/pinfold/pinfold.sock /proc/1/root/run/dbus/system_bus_socket)

attack()
{
	attack_build
	# Where the caller of the tests listens, and where inside that is.
	"$ATTACK_HOST" listen "$BIN/host.sock" >"$EVIDENCE/listen.log" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	wait_for 5 grep -q ready "$EVIDENCE/listen.log" || fell CRASH "the listener did not start"
	holds "the listener can be reached from the host" python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$BIN/host.sock"
	ARGS=("$LISTENER_NAME" "$LISTENER_PORT" "${PATHS[@]}" /work/host.sock "$BIN/host.sock")
	all_shut abstract-stream abstract-dgram tcp listed path
	# With a network, too.
	OPTIONS=(--allow example.test)
	all_shut abstract-stream abstract-dgram tcp listed path
	OPTIONS=()
	same "connections that the listener saw" "$(grep -c contact "$EVIDENCE/listen.log")" 1
}

run_case
