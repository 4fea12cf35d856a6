#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: private, seccomp, ref-bwrap
#
# A mount tree that is still shared with the host carries every mount made inside to it. Nothing
# inside may mount at all, and no mount of a sandbox is in a peer group of the host.
. "$(dirname "$0")/../lib/escape.sh"

claim "A18 no mount is made inside, and none reaches the host"

attack()
{
	attack_build
	cut -d' ' -f3- /proc/self/mountinfo >"$EVIDENCE/host.mounts"
	inside --dir "$BIN" -- "$ATTACK"
	ran
	shut plain-rshared plain-tmpfs plain-bind plain-move plain-remount plain-umount unshare-mnt \
		unshare-user
	inside --user root --dir "$BIN" -- "$ATTACK"
	if [ "$RC" = 125 ]; then
		refused "sandbox root without a range of ids"
	else
		ran
		shut plain-rshared plain-tmpfs plain-bind unshare-mnt unshare-user
	fi
	inside -- cat /proc/self/mountinfo
	ran
	same "mounts in a peer group of somebody" "$(grep -E ' (shared|master):' "$OUT")" ""
	# Where the host's own tree is shared, as systemd makes it; here in a copy of that tree.
	if [ "$EUID" = 0 ]; then
		INSIDE_WORLD=1
		INSIDE_OUTER=(unshare -m --propagation shared)
		inside --dir "$BIN" -- cat /proc/self/mountinfo
		INSIDE_OUTER=() INSIDE_WORLD=
		ran
		same "mounts in a peer group of a shared tree" "$(grep -E ' (shared|master):' "$OUT")" ""
	fi
	same "mounts of the host" "$(cut -d' ' -f3- /proc/self/mountinfo)" \
		"$(cat "$EVIDENCE/host.mounts")"
}

run_case
