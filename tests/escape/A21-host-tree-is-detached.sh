#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: pivot, caps+seccomp, ref-bwrap
#
# With chroot the tree of the host is hidden and still there: a directory that was open before, a
# second chroot or entering one's own mount namespace leads back to it. After pivot_root and its
# removal there is nothing to lead back to, whatever is allowed inside.
. "$(dirname "$0")/../lib/escape.sh"

claim "A21 the mount namespace of a sandbox holds no tree of the host"

attack()
{
	attack_build
	inside --dir "$BIN" -- "$ATTACK"
	ran
	shut setns unshare chroot
	inside --user root --dir "$BIN" -- "$ATTACK"
	if [ "$RC" = 125 ]; then
		refused "sandbox root without a range of ids"
	else
		ran
		shut setns unshare chroot
	fi
	# Only root may enter it from outside.
	[ "$EUID" = 0 ] || return 0
	inside_start SLEEPER --dir "$BIN" -- tail -f /dev/null
	guest_of SLEEPER || return
	OUT=$EVIDENCE/host.door
	"$ATTACK_HOST" "$GUEST" "$CANARY_SRV_FILE" >"$OUT" 2>&1
	shut root file
	sandbox_end SLEEPER
}

run_case
