#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: magiclinks, ref-bwrap
#
# CVE-2024-21626: a working directory of /proc/self/fd/N named a descriptor of the runtime, and the
# command started in a directory of the host. Here 3 is the host's /, 22 its /root, see launch.c.
. "$(dirname "$0")/../lib/escape.sh"

claim "A02 the working directory is inside, whatever path is asked for"

# Wherever the command starts, going up must end at the root of the sandbox.
PROBE='up=../../../../../../../../../../../..
	[ "$(stat -c %d:%i "$up")" = "$(stat -c %d:%i /)" ] || echo "open outside $(pwd -P)"
	cat .canary root/.canary "$up/root/.canary" "$up/srv/canary" "$@" 2>/dev/null
	echo shut tried; readlink /proc/self/cwd'

try()
{
	inside --dir "$W" --workdir "$1" -- sh -c "$PROBE" sh "$CANARY_ROOT_FILE" "$CANARY_SRV_FILE"
	checked
	case $RC in
	125) [ -s "$OUT" ] && fell ESCAPE "$1 was refused, but something ran" ;;
	0) shut tried ;;
	*) fell CRASH "$1: status $RC: $(head -c 300 "$ERR")" ;;
	esac
}

attack()
{
	local fd path

	mkdir -p "$W/dir"
	ln -sfn /proc/self/fd/3 "$W/link3"
	ln -sfn /proc/self/fd/10 "$W/link10"
	ln -sfn /proc/1/cwd "$W/link-cwd"
	ln -sfn /proc/1/root "$W/link-root"
	ln -sfn ../../../../../.. "$W/up"
	for fd in 3 4 {7..12} 17 20 22 23 30; do
		try "/proc/self/fd/$fd"
		refused "/proc/self/fd/$fd"
	done
	for path in link3 link10 link-cwd; do
		try "/work/$path"
	done
	for path in /proc/1/cwd /proc/1/root /proc/self/root/proc/1/cwd /proc/thread-self/fd/3 \
		/proc/self/task/../fd/3 /work/up /work/link-root /work/dir/../../.. /dev/fd/3 "$W"; do
		try "$path"
	done
	inside --dir "$W" --workdir /work/dir -- pwd
	ran
	same "an honest directory works" "$(cat "$OUT")" /work/dir
}

run_case
