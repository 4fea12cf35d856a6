# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# TAP for shell tests: ok, not_ok, is, like, skip, diag, done_testing.

TAP_COUNT=0
TAP_FAILED=0

ok()
{
	echo "ok $((++TAP_COUNT)) - ${1//#/\\#}"
}

not_ok()
{
	TAP_FAILED=$((TAP_FAILED + 1))
	echo "not ok $((++TAP_COUNT)) - ${1//#/\\#}"
}

# skip WHAT REASON
skip()
{
	echo "ok $((++TAP_COUNT)) - ${1//#/\\#} # SKIP $2"
}

diag()
{
	local line

	while IFS= read -r line; do
		# Never let a test's output say something in the runner's language.
		echo "# ${line//[^[:print:]	]/?}"
	done <<<"$*"
}

# is GOT WANT NAME
is()
{
	if [ "$1" = "$2" ]; then
		ok "$3"
	else
		not_ok "$3"
		diag "got: $1"
		diag "want: $2"
	fi
}

# like GOT REGEX NAME
like()
{
	if [[ $1 =~ $2 ]]; then
		ok "$3"
	else
		not_ok "$3"
		diag "got: $1"
		diag "does not match: $2"
	fi
}

done_testing()
{
	echo "1..$TAP_COUNT"
	[ "$TAP_FAILED" = 0 ]
}

# pause_open: a pipe that nobody writes to, PAUSE_FD: what waits for it starts no process.
pause_open()
{
	[ -n "${PAUSE_FD:-}" ] || exec {PAUSE_FD}<> <(:)
}

# wait_for SECONDS COMMAND...: until the command succeeds; never a fixed pause. What was waited for in vain is written to
# the file PINFOLD_TEST_WAITS: where nobody minds that, the wait is of no use, or for the wrong thing.
wait_for()
{
	# From 5 s on it is patience, not a promise: a busy machine gets more of it.
	local until=$((${EPOCHREALTIME/[.,]/} + $1 * ($1 < 5 ? 1 : 3) * 1000000)) pause=0.01 looks=0

	pause_open
	shift
	until "$@"; do
		if [ "${EPOCHREALTIME/[.,]/}" -ge "$until" ]; then
			[ -z "${PINFOLD_TEST_WAITS:-}" ] || echo "$0: $*" >>"$PINFOLD_TEST_WAITS"
			return 1
		fi
		[ $((++looks)) != 50 ] || pause=0.05 # it takes long: a look costs others time, too
		read -rt $pause -u "$PAUSE_FD"
	done
	return 0
}
