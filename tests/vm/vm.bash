# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests in a guest share. A result document is looked at with regular expressions: the
# guests have no interpreter beside the shell.
. "$(dirname "${BASH_SOURCE[0]}")/../lib/tap.sh"

# Made by the guest's own start; the checks here are about a machine of known make.
[ -e /run/pinfold-vm ] || {
	echo "1..0 # SKIP only in a guest of make check-vm"
	exit 0
}

GROUPS_DIR=/sys/fs/cgroup
CALL_SECONDS=60
MARK=4711.25 # seconds for sleep that nobody else uses
# For awk and for python3: more memory than any sandbox here has.
BOMB='BEGIN { a = "xxxxxxxx"; while (1) a = a a }'
MEMFD='import os
f = os.memfd_create("x")
for i in range(64):
    os.write(f, bytes(1 << 20))'

# run ARG...: pinfold run --json. Sets DOC, NOTES (standard error) and STATUS.
run()
{
	DOC=$(timeout -s KILL "$CALL_SECONDS" pinfold run --json "$@" 2>"$T/err" </dev/null)
	STATUS=$?
	NOTES=$(cat "$T/err")
}

# field NAME: the first value of that name in the document.
field()
{
	[[ $DOC =~ \"$1\":\"?([^\",}]*) ]] && echo "${BASH_REMATCH[1]}"
}

held_by()
{
	[[ $DOC =~ \"$1\":\{\"value\":[^,]*,\"held_by\":\"([a-z]*)\" ]] && echo "${BASH_REMATCH[1]}"
}

# The limit that was reached, as "KIND VALUE".
limit()
{
	local kind='"kind":"([a-z_]*)"' value='"value":([0-9.]*)'

	[[ $DOC =~ \"limit\":\{$kind,$value ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
}

# whole FIELD: its value without fraction, 0 when it is not there.
whole()
{
	local value

	value=$(field "$1")
	value=${value%%.*}
	echo "${value:-0}"
}

# kill_at_random ROUNDS WHERE: kill -9 of pinfold anywhere between its start and some time after.
kill_at_random()
{
	local i pid

	for ((i = 0; i < $1; i++)); do
		pinfold run -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
		pid=$!
		read -rt "0.$(printf %03d $((RANDOM % 100)))" <> <(:)
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
	done
	wait_for 2 no_processes
	is "$(sandbox_processes)" "" "$2: killed at random $1 times: no process after 2 s"
}

# timed: the milliseconds that a run of nothing takes here, the shortest of five. Only told.
timed()
{
	local i start took best=999999

	for i in 1 2 3 4 5; do
		start=${EPOCHREALTIME/[.,]/}
		pinfold run -- true </dev/null >/dev/null 2>&1
		took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
		[ "$took" -ge "$best" ] || best=$took
	done
	diag "$1: a run of nothing takes $best ms"
}

# between GOT LEAST MOST NAME
between()
{
	if [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; then
		ok "$4 ($1)"
	else
		not_ok "$4"
		diag "got: $1, want: $2 to $3"
	fi
}

# ended STATUS EXIT NAME: how the last run ended; says all there is to say when it is not so.
ended()
{
	is "$(field status) $STATUS" "$1 $2" "$3"
	[ "$(field status) $STATUS" = "$1 $2" ] || diag "$DOC" "$NOTES"
}

# Directories of sandboxes anywhere among the groups, and systemd's scopes of them.
sandbox_groups()
{
	find "$GROUPS_DIR" -mindepth 1 -type d -name 'pinfold-sbx*' 2>/dev/null | sort
}

no_groups()
{
	[ -z "$(sandbox_groups)" ]
}

# Pids of pinfold, of its guests, and of the command that has MARK as an argument.
sandbox_processes()
{
	local dir name word words

	for dir in /proc/[0-9]*; do
		{ read -r name <"$dir/comm"; } 2>/dev/null || continue
		words=
		{ while IFS= read -rd '' word; do words+="$word "; done <"$dir/cmdline"; } 2>/dev/null
		[[ $name == pinfold || " $words" == *" $MARK "* ]] && echo "${dir#/proc/} $name $words"
	done
	return 0
}

no_processes()
{
	[ -z "$(sandbox_processes)" ]
}

# stop_sandbox: nothing in the one sandbox that runs, its PID 1 among it, can do anything by itself.
stop_sandbox()
{
	local pid

	find "$(sandbox_groups)" -name cgroup.procs -exec cat {} + | while read -r pid; do
		kill -STOP "$pid"
	done
}

# The command itself runs, not only pinfold with its words.
marked()
{
	[[ $(sandbox_processes) == *" sleep sleep $MARK "* ]]
}
