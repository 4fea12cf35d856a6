# SPDX-License-Identifier: Apache-2.0
# A bash that stays in a sandbox and executes one piece of code after the other. It is executed with
# -c; descriptor 200 is the host side's, in frames (wire/frame.h).
#
# A function of the program's own may have the name of anything here that is no keyword: what would leave its caller
# waiting is said to be a builtin.
#
# Code is sourced, not evaluated in a function, where its `declare` would be local. What is to be
# interrupted, or ends by its `set -e`, returns from all that it is in: bash has no other way back.

# No program may have descriptor 200: what bash saves behind a redirection is closed on exec, and so
# is a copy of that. 10 is the first number that it takes.
{ exec 201<&10; } 200</dev/null
exec 200<&201 201<&- 101<&-

__pinfold_send()
{
	builtin printf '%s%08x%s' "$1" "${#2}" "$2" >&200
}

# __pinfold_take BYTES: sets __pinfold_got.
__pinfold_take()
{
	builtin local LC_ALL=C part

	__pinfold_got=
	while [[ ${#__pinfold_got} -lt $1 ]]; do
		part=
		IFS= builtin read -r -u 200 -N $(($1 - ${#__pinfold_got})) part || [[ $? -gt 128 ]] || builtin exit 0
		__pinfold_got+=$part
	done
}

# Sets the trap by which every function and file is left, one after the other.
__pinfold_leave()
{
	__pinfold_why=$1 __pinfold_code=$2
	trap 'if [ "${#BASH_SOURCE[@]}" -gt 0 ]; then return $__pinfold_code; else trap - DEBUG; fi' DEBUG
}

set -ET
trap 'if [ "$__pinfold_busy" ]; then __pinfold_leave interrupted 130; return 130; fi' INT
__pinfold_busy='' __pinfold_with='' __pinfold_got=''
__pinfold_send H ''
while :; do
	__pinfold_take 9
	__pinfold_kind=${__pinfold_got:0:1}
	__pinfold_take $((16#${__pinfold_got:1}))
	[[ $__pinfold_kind = X ]] || continue
	__pinfold_why='' __pinfold_busy=1
	builtin trap 'case $- in *e*) __pinfold_code=$?; set +e; __pinfold_leave failed "$__pinfold_code"; return "$__pinfold_code" ;; esac' ERR
	# shellcheck disable=SC1091,SC2086
	. /proc/self/fd/199 199<<<"exec 199<&-;${__pinfold_with:+set $__pinfold_with;}${__pinfold_got:1}"
	{ __pinfold_status=$? __pinfold_busy='' __pinfold_with=$-; builtin set +xveu; } 2>/dev/null
	builtin trap - DEBUG ERR
	__pinfold_with=${__pinfold_with//[^xveu]/}
	__pinfold_with=${__pinfold_with:+-$__pinfold_with}
	if [[ $__pinfold_why = interrupted ]]; then
		__pinfold_send D '{"status":"interrupted"}'
	elif [[ $__pinfold_status = 0 ]]; then
		__pinfold_send D '{"status":"ok","exit_code":0}'
	else
		__pinfold_send D "{\"status\":\"error\",\"exit_code\":$__pinfold_status}"
	fi
done
