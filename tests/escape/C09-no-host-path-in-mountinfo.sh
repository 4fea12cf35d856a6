#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: dir-overlay, ref-bwrap
#
# The table of mounts names upper and lower directories, where a workspace is on the host, whose it
# is.
. "$(dirname "$0")/../lib/escape.sh"

claim "C09 the tables of mounts name no place of the host"

# shellcheck disable=SC2016
LOOK='cat /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats /proc/1/mountinfo \
		/proc/1/mounts /proc/*/task/*/mountinfo 2>/dev/null
	ls -l /proc/self/root /proc/self/cwd /proc/self/exe /proc/self/fd
	cat /proc/self/maps; df 2>&1; stat -f / /usr /work; readlink -f /work'

attack()
{
	local user

	touch "$W/file"
	for user in user root; do
		inside --user "$user" --dir "$W" --workdir /work -- sh -c "$LOOK"
		if [ "$user$MODE" = rootU ] && [ "$RC" = 125 ]; then
			refused "sandbox root without a range of ids"
			continue
		fi
		ran
		absent "the directory's place" "$W"
		absent "the place of the tests" "${T##*/}"
		absent "the data directory" "$M/home"
		absent "our runtime directory" /run/pinfold
		absent "our session" "$SESSION"
		absent "the project" "$PROJECT_DIR"
		absent "the launcher" "$USER_HOME/"
		# Layers have names that mean something only to who made them.
		KIND=READ same "layers by path" \
			"$(grep -aoE '(upper|work|lower)dir[+]?=/[^,]*' "$OUT" |
				grep -vE '=/proc/self/fd/[0-9]+(:empty)?$' | sort -u)" ""
	done
}

run_case
