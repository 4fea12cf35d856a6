#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: landlock, seccomp, scope
#
# Level landlock has no namespace to hide the host behind: everything stands there, and belongs, for
# an ordinary user, to the very id that the command has. Landlock and the filter alone say no. What
# they do not hold at this level is in docs/isolation.md.
. "$(dirname "$0")/../lib/escape.sh"

claim "A22 at level landlock nothing of the host is read, written, called or signalled"

# The ones that Landlock holds, then those of the filter.
DOORS="read read-shadow read-proc read-mem list list-root list-proc create create-tmp create-shm
	append truncate link rename remove execute signal pidfd
	tcp udp abstract path trace limits segment namespace"

refuses_the_level()
{
	inside --isolation landlock --limits best-effort -- true
	[ "$RC" = 125 ] && grep -q 'needs Landlock ABI' "$ERR"
}

attack()
{
	local before neighbours

	if refuses_the_level; then
		skip_mode "this kernel has no Landlock ABI 6"
		return
	fi
	cp "$CASE_STEM.py" "$BIN/attack.py"
	mkdir -p "$W/dir"
	echo "$(canary_value)" >"$W/dir/kept"
	cp /usr/bin/true "$W/dir/program"
	chmod 0755 "$W/dir" "$W/dir/program"
	[ "$EUID" = 0 ] && chown -R "$USER_NAME" "$W/dir"
	before=$(find "$W/dir" -printf '%P %m %s %u %T@\n' | sort)
	neighbour_start
	neighbours=$(sandbox_pids NEIGHBOUR | wc -l)
	attack_listen
	# The program comes as an argument: its file is one of those that are shut.
	inside --isolation landlock --limits best-effort -- python3 -Ic "$(cat "$BIN/attack.py")" \
		"$CANARY_SRV_FILE" "$W/dir" "$LISTENER_PORT" "$LISTENER_NAME" "$W/dir.sock" \
		"$NEIGHBOUR_PID" "$NEIGHBOUR_LAUNCH"
	ran
	# shellcheck disable=SC2086
	shut $DOORS
	KIND=CRASH same "what works" "$(grep '^works' "$OUT")" "works own"
	KIND=WRITE same "the directory" "$(find "$W/dir" -printf '%P %m %s %u %T@\n' | sort)" "$before"
	# Ending the run was a signal to "all".
	same "processes of the neighbour that live" "$(sandbox_pids NEIGHBOUR | wc -l)" "$neighbours"
	neighbour_stop
}

attack_listen()
{
	/usr/bin/python3 -I - "$W/dir.sock" <<-'END' >"$EVIDENCE/listen" {LIVE_FD}>&- &
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.bind(sys.argv[1])
		os.chmod(sys.argv[1], 0o777)
		s.listen()
		print("ready", flush=True)
		s.accept()
	END
	BACKGROUND+=("$!")
	wait_for 5 grep -q ready "$EVIDENCE/listen" || fell CRASH "the listener did not start"
}

run_case
