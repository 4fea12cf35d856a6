# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How tests/cli and tests/works run: checks() of a file is called with MODE=R (root calls pinfold),
# then with MODE=U (an ordinary user with subordinate ids does); not root: only U, as the caller.
# Every check is one TAP line that ends with its mode.
#
#	. "$(dirname "$0")/../lib/cli.sh"
#
#	checks()
#	{
#		inside -- sh -c 'echo hello; exit 7'
#		exits 7 "the command's own status"
#		prints hello "its output"
#	}
#
#	run_checks
#
# PINFOLD=path tests another binary, PINFOLD_TEST_MODES=R one mode only, PINFOLD_TEST_KEEP=1 keeps
# what the calls printed.
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
. "$(dirname "${BASH_SOURCE[0]}")/session.sh"
. "$(dirname "${BASH_SOURCE[0]}")/evaluate.sh"

TEST_DIR=$(cd "$(dirname "$0")" && pwd)
CLI_DIR=$(dirname "$LIB_DIR")/cli
BACKGROUND=()
# What a test may set, for the calls that follow:
CALL_SECONDS=240 # after that the harness kills pinfold and the mode's last check fails
CALL_ENV=()     # KEY=VALUE for pinfold itself
CALL_WRAP=()    # a program to start pinfold with, as the calling user
CALL_OUTER=()   # a program to start all of that with, as the user who runs the tests
exec </dev/null

# --- calling -------------------------------------------------------------------------------------

# Sets CALL: the command line that starts pinfold in this mode, without pinfold's own arguments.
call_argv()
{
	local entry

	CALL=("${CALL_OUTER[@]}" "$LAUNCHER" -t "$CALL_SECONDS" -r "$EVIDENCE/report" -d "$W"
		-e PATH=/usr/bin:/bin -e "HOME=$USER_HOME" -e "USER=$USER_NAME" -e LANG=C.UTF-8
		-e "PINFOLD_HOME=$M/home" -e "PINFOLD_SOCKET=$M/run/daemon.sock")
	# Root's own is a directory of the host. Of two values programs take the first.
	[ "$MODE" = R ] && [[ " ${CALL_ENV[*]}" != *" PINFOLD_CONFIG="* ]] &&
		CALL+=(-e "PINFOLD_CONFIG=$M/config")
	[ "$MODE" = U ] && CALL+=(-e "XDG_RUNTIME_DIR=$M/run")
	[ "$MODE" = U ] && [ "$EUID" = 0 ] && CALL+=(-u "$USER_ID")
	for entry in "${CALL_ENV[@]}"; do
		CALL+=(-e "$entry")
	done
	CALL+=("$@" -- "${CALL_WRAP[@]}" "$PINFOLD_COPY")
}

call_files()
{
	OUT=$EVIDENCE/$((++CALLS)).out
	ERR=$EVIDENCE/$CALLS.err
	printf '%q ' "$@" >"$EVIDENCE/$CALLS.cmd"
}

# pinfold ARG...: sets OUT and ERR (files) and RC; standard input is the caller's.
pinfold()
{
	call_files "$@"
	call_argv
	"${CALL[@]}" "$@" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
}

# inside [OPTION...] -- COMMAND...: one run in a sandbox.
inside()
{
	pinfold run "$@"
}

# inside_json [OPTION...] -- COMMAND...: the same with --json; OUT is the document.
inside_json()
{
	pinfold run --json "$@"
}

# inside_start NAME [OPTION...] -- COMMAND...: a run in the background. NAME_OUT and NAME_ERR are
# its output, NAME_PID is pinfold. Signals have their default disposition, as from an interactive
# shell.
inside_start()
{
	local name=$1

	shift
	call_files run "$@"
	rm -f "$EVIDENCE/$name.pid"
	call_argv -p "$EVIDENCE/$name.pid"
	env --default-signal=INT,QUIT "${CALL[@]}" run "$@" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	printf -v "${name}_CALL" %s "$!"
	printf -v "${name}_OUT" %s "$OUT"
	printf -v "${name}_ERR" %s "$ERR"
	wait_for 40 test -s "$EVIDENCE/$name.pid" || not_ok "$name starts [$MODE]"
	printf -v "${name}_PID" %s "$(cat "$EVIDENCE/$name.pid")"
}

# inside_wait NAME: until a run in the background has ended; sets RC, OUT, ERR.
inside_wait()
{
	local call=${1}_CALL out=${1}_OUT err=${1}_ERR

	wait "${!call}" 2>/dev/null
	RC=$?
	OUT=${!out}
	ERR=${!err}
}

# on_terminal STEP... -- ARG...: the call on a terminal; steps are those of cli/terminal.py. OUT is
# what came to the terminal, without the line about best-effort limits.
on_terminal()
{
	local steps=()

	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	call_files "$@"
	call_argv
	/usr/bin/python3 -I "$CLI_DIR/terminal.py" "${steps[@]}" -- "${CALL[@]}" "$@" >"$OUT" \
		2>"$ERR" \
		{LIVE_FD}>&-
	RC=$?
	sed -i '/^pinfold: limits are best-effort: /d' "$OUT"
}

# forget_report REGEX: what the harness saw of calls that was our doing. In place: calls that still run have the
# file open, and what they report later must not be lost.
forget_report()
{
	local rest

	rest=$(grep -v -e "$1" "$EVIDENCE/report")
	printf %s "${rest:+$rest$'\n'}" >"$EVIDENCE/report"
}

# needs PROGRAM... NAME: succeeds when all programs are there, else skips the check NAME.
needs()
{
	local name=${*: -1} program

	for program in "${@:1:$#-1}"; do
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			command -v "$program" >/dev/null && continue
		skip "$name [$MODE]" "$program is not installed"
		return 1
	done
}

# find_library: sets LINK, what a program needs of us. The library is beside the binary under test; a
# variant with sanitizers links with them.
find_library()
{
	local binary=${PINFOLD:-$PROJECT_DIR/build/pinfold} dir

	[ "${binary#/}" != "$binary" ] || binary=$PROJECT_DIR/$binary
	dir=$(dirname "$binary")
	LINK=("$dir/libpinfold.a" -lcrypto -lsqlite3 -lzstd -ljansson -lyaml -lm)
	case ${dir##*/} in
	san-*)
		dir=${dir##*/san-}
		LINK+=("-fsanitize=${dir//-/,}")
		;;
	esac
}

# --- saying what must hold -----------------------------------------------------------------------

# excerpt FILE: its beginning and its end, which is where a program says why it failed.
excerpt()
{
	if [ "$(stat -c %s "$1")" -le 1500 ]; then
		cat "$1"
	else
		head -c 400 "$1"
		printf ' [...] '
		tail -c 1100 "$1"
	fi | tr -d '\0'
}

# explain: what the last call was and printed, below a failed check.
explain()
{
	diag "call: $(head -c 300 "$EVIDENCE/$CALLS.cmd")"
	diag "status $RC; stdout: $(excerpt "$OUT")"
	diag "stderr: $(excerpt "$ERR")"
}

# check NAME COMMAND...: the command succeeds.
check()
{
	local name="${1//$'\n'/ } [$MODE]"

	shift
	if "$@" >"$EVIDENCE/check.log" 2>&1; then
		ok "$name"
	else
		not_ok "$name"
		diag "failed: $(printf '%q ' "$@") $(head -c 800 "$EVIDENCE/check.log")"
		explain
	fi
}

# exits STATUS NAME
exits()
{
	check "$2" test "$RC" = "$1"
}

# prints TEXT NAME: standard output is exactly this, newlines at the end aside.
prints()
{
	check "$2" test "$(tr -d '\0' <"$OUT")" = "$1"
}

# says REGEX NAME: standard error has a line that matches.
says()
{
	check "$2" grep -qE -e "$1" "$ERR"
}

# silent NAME: nothing on standard error but the line about best-effort limits.
silent()
{
	check "$1" test -z "$(grep -v '^pinfold: limits are best-effort: ' "$ERR")"
}

# refuses CODE WORD NAME: nothing ran; the first line of standard error has the code and names the
# word, a second line has a remedy.
refuses()
{
	check "$3: status 125" test "$RC" = 125
	check "$3: code $1" grep -qE -e "^pinfold: $1(\.[a-z_]+)?: " "$ERR"
	check "$3: names $2" grep -qF -e "$2" <(head -1 "$ERR")
	check "$3: has a remedy" grep -q '^pinfold: remedy: .' "$ERR"
	check "$3: nothing ran" test ! -s "$OUT"
}

# json EXPRESSION [ARG...]: prints a Python expression over the last document, `d`; the arguments
# are in `a`, `out` and `err` are the command's output as bytes, `files` maps paths to rows, `limit`
# is never None. Fails when it cannot be evaluated.
json()
{
	evaluate any "$OUT" "$@"
}

# json_is WANT EXPRESSION NAME
json_is()
{
	local got

	got=$(json "$2")
	check "$3: $1" test "$got" = "$1"
}

# json_has EXPRESSION NAME [ARG...]: the expression is true.
json_has()
{
	local got

	got=$(json "$1" "${@:3}")
	check "$2" test "$got" = true
}

# document NAME: standard output is one result document of the contract's shape and nothing else.
document()
{
	local wrong

	if wrong=$(/usr/bin/python3 -I "$CLI_DIR/shape.py" "$OUT" 2>&1); then
		ok "$1: the document has the contract's shape [$MODE]"
	else
		not_ok "$1: the document has the contract's shape [$MODE]"
		diag "$wrong"
		explain
	fi
}

# --- one file ------------------------------------------------------------------------------------

mode_open()
{
	MODE=$1
	M=$T/$MODE
	W=$M/work
	EVIDENCE=$T/evidence.$MODE
	CALLS=0
	RC=
	USER_NAME=root
	if [ "$MODE" = U ]; then
		USER_NAME=$TEST_USER
		[ "$EUID" = 0 ] || USER_NAME=$(id -un)
	fi
	USER_ID=$(id -u "$USER_NAME") || return
	USER_HOME=$(getent passwd "$USER_NAME" | cut -d: -f6)
	mkdir -p "$EVIDENCE" "$M/home" "$M/run" "$W"
	chmod 0700 "$M/home" "$M/run"
	chmod 0755 "$M" "$W"
	own "$M"
	: >"$EVIDENCE/report"
	evaluate_open
}

# own PATH...: makes them the caller's of this mode.
own()
{
	[ "$EUID" != 0 ] || chown -R "$USER_NAME:" "$@"
}

mode_close()
{
	local pid

	for pid in "${BACKGROUND[@]}"; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	BACKGROUND=()
	check "no call hung, crashed or left a process" test -z \
		"$(grep -E '^(hung|left|signal ([^1]|1[^5]))' "$EVIDENCE/report" | head -3)"
	check "no file of a sandbox is left" test -z \
		"$(find "$M/run" "$M/home" -mindepth 1 -name 'sbx*' 2>/dev/null | head -3)"
}

mode_run()
{
	if [ "$1" = R ] && [ "$EUID" != 0 ]; then
		skip "${0##*/} [R]" "only root can be the launcher in mode R"
	elif [ "$1" = U ] && [ "$EUID" = 0 ] && ! id "$TEST_USER" >/dev/null 2>&1; then
		skip "${0##*/} [U]" "no ordinary user and no useradd to make one"
	else
		mode_open "$1"
		checks
		mode_close
	fi
}

checks_end()
{
	local pid

	for pid in "${BACKGROUND[@]}"; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	if [ -n "${PINFOLD_TEST_KEEP:-}" ]; then
		echo "# evidence kept in $T"
	else
		rm -rf "$T"
	fi
	session_close
}

run_checks()
{
	local mode

	T=$(mktemp -d "${TMPDIR:-/tmp}/pinfold-cli.XXXXXXXX") || exit 1
	chmod 0711 "$T"
	session_open
	trap checks_end EXIT
	trap 'exit 130' INT TERM HUP
	session_binary
	for mode in ${PINFOLD_TEST_MODES:-R U}; do
		mode_run "$mode"
	done
	done_testing
}
