#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: option-end, ref-naive
#
# CVE-2024-32462: a name that began with "--" was taken as an option of the sandbox program, and so
# gave itself the host. CVE-2026-30892: "-u root\n" was parsed into something else than it said.
# What a caller passes is data; what cannot be data is refused before anything starts.
. "$(dirname "$0")/../lib/escape.sh"

claim "A13 arguments, names and values are never taken as options"

refused_early()
{
	inside "$@" -- echo RAN
	refused "$(printf '%q ' "$@")" invalid_argument
}

names_and_arguments()
{
	local odd=(--bind / --dir=/ --user root -c $'a\nb' '' '$(id)' '; id' 'a=b' $'\e[2J' '*' --)

	inside -- /usr/bin/printf '%s|' "${odd[@]}"
	ran
	same "arguments" "$(cat "$OUT")" "$(printf '%s|' "${odd[@]}")"
	# Without "--", what follows the command belongs to it.
	inside /usr/bin/printf '%s|' --user root --dir /
	ran
	same "options after the command" "$(cat "$OUT")" '--user|root|--dir|/|'
	inside -- --bind / / sh -c 'echo RAN'
	same "a command that begins with --: status" "$RC" 127
	same "a command that begins with --: output" "$(cat "$OUT")" ""
	inside -- $'true\n--user\nroot'
	same "a command with a newline: status" "$RC" 127
	inside -- ''
	holds "an empty command is not found or refused" test "$RC" = 127 -o "$RC" = 125
}

values()
{
	mkdir -p "$W/--bind" "$W/-d"$'\n'"x=y:z,lowerdir=\\"
	echo here >"$W/--bind/name"
	echo here >"$W/-d"$'\n'"x=y:z,lowerdir=\\/name"
	inside --dir "$W/--bind" -- cat /work/name
	same "a directory named --bind" "$RC $(cat "$OUT")" "0 here"
	inside --dir --bind -- cat /work/name
	same "a relative directory named --bind" "$RC $(cat "$OUT")" "0 here"
	inside --dir "$W/-d"$'\n'"x=y:z,lowerdir=\\" -- cat /work/name
	same "a directory with the separators of mount options" "$RC $(cat "$OUT")" "0 here"
	inside --env $'A=--dir\n/=:,' --env 'B==' -- sh -c 'printf "%s|%s" "$A" "$B"'
	same "values of variables" "$(cat "$OUT")" $'--dir\n/=:,|='
	inside --workdir=--dir -- echo RAN
	refused "a working directory named --dir"
}

attack()
{
	local user

	names_and_arguments
	values
	for user in $'root\n' 'root ' ' root' Root 0 -0 00 1000 -u --user root:root $'user\nroot' '' \
		../root root/ nobody; do
		refused_early --user "$user"
	done
	refused_early --env =x
	refused_early --env NAME_WITHOUT_VALUE
	refused_early --env ''
	refused_early --workdir relative
	refused_early --workdir ''
	refused_early --isolation $'strict\n'
	refused_early --isolation none
	refused_early --limits --bind
	refused_early --memory=-1
	refused_early --memory 512M$'\n'
	inside --image / -- echo RAN
	refused "--image /" not_found
	refused_early --lang python3
	refused_early --no-such-option
	refused_early --dir ''
}

run_case
