#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, ref-bwrap
#
# Each network namespace costs some hundred kilobytes of kernel memory and work that goes on after
# its end. None can be made inside, by any call, nested or not, also by the sandbox's root.
. "$(dirname "$0")/../lib/escape.sh"

claim "G04 no flood of namespaces: none can be made"

attack()
{
	local name doors=(unshare-with-user unshare-time flood)

	for name in user net pid mnt ipc uts cgroup; do
		doors+=("unshare-$name" "clone-$name" "clone3-$name")
	done
	attack_build
	inside --dir "$BIN" -- "$ATTACK"
	ran
	shut "${doors[@]}"
	inside --user root --dir "$BIN" -- "$ATTACK"
	if [ "$RC" = 125 ]; then
		refused "sandbox root without a range of ids"
		return
	fi
	ran
	shut "${doors[@]}"
}

run_case
