#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: dumpable+landlock, ref-bwrap
#
# CVE-2016-9962: a process that enters a sandbox could be traced from inside before it had dropped
# what it held. Entering a running sandbox does not exist yet; the process of ours that is there for
# the whole run is PID 1, and it must be closed to everybody inside, who has the same user id.
. "$(dirname "$0")/../lib/escape.sh"

claim "A11 nothing inside can trace, read or take descriptors of our init"

attack()
{
	attack_build
	inside --dir "$BIN" -- "$ATTACK"
	ran
	shut attach seize vm_readv vm_writev kcmp getfd mem-r mem-w environ-r maps-r fd map_files root-r \
		cwd-r ns/mnt-r fd-entry
	inside --user root --dir "$BIN" -- "$ATTACK"
	if [ "$RC" = 125 ]; then
		refused "sandbox root without a range of ids"
	else
		ran
		shut attach seize mem-r mem-w fd map_files root-r fd-entry
	fi
}

run_case
