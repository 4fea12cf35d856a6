#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, keyring, ref-bwrap
#
# Keyrings are not part of any namespace: the launcher's session, with its Kerberos tickets and
# disk keys, is inherited by every child. The calls are shut, and under them the session is another
# one.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B05 keyrings are shut, and the session keyring is not the launcher's"

DOORS="ring-thread ring-process ring-session ring-user ring-user-session search-thread
	search-process search-session search-user search-user-session add request join
	read-by-number reached"

# The filter hides from everybody inside which session keyring there is. A new one belongs to the
# sandbox's root, an id that owns nothing else: with keys, it has a line in /proc/key-users.
own_session()
{
	local base

	inside_start SLEEPER -- tail -f /dev/null
	wait_for 5 sandbox_is_up SLEEPER
	read -r _ base _ <"/proc/$(sandbox_pids SLEEPER | head -1)/uid_map"
	holds "the sandbox has a session keyring of its own" \
		grep -qE "^ *$base:" /proc/key-users
	kill "$SLEEPER_LAUNCH"
	inside_wait SLEEPER
}

attack()
{
	attack_build
	INSIDE_WRAP=("$ATTACK_HOST" plant "$CANARY_ENV_VALUE")
	ARGS=(@KEY@)
	# shellcheck disable=SC2086
	all_shut $DOORS
	inside -- sh -c 'cat /proc/keys /proc/key-users 2>/dev/null; true'
	ran
	KIND=READ same "keys that are listed" "$(cat "$OUT")" ""
	INSIDE_WRAP=()
	ARGS=(0)
	denied keyctl add_key request_key
	# In mode U the sandbox's root is the launcher himself, who may have keys.
	if [ "$MODE" = R ]; then
		own_session
	fi
}

run_case
