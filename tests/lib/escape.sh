# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How an escape case runs: twice, with root and with an ordinary user as the launcher, with canaries
# on the host and the same oracle after each. tests/escape/README says how to write a case.
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
. "$(dirname "${BASH_SOURCE[0]}")/session.sh"
. "$(dirname "${BASH_SOURCE[0]}")/oracle.sh"
. "$(dirname "${BASH_SOURCE[0]}")/evaluate.sh"

CASE_FILE=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
CASE_STEM=${CASE_FILE%.*}
CLAIM=
BACKGROUND=()
THROUGH=() # with PINFOLD_TEST_DAEMON: what makes every run one of the mode's daemon
DAEMON_OF_MODE=
# What a case may set, for the calls that follow:
INSIDE_SECONDS=90    # after that the harness kills the run and calls it hung
INSIDE_GRACE_MS=20000 # when a process that outlives pinfold is one that is left
INSIDE_ENV=()        # KEY=VALUE for pinfold itself
INSIDE_WRAP=()       # a program to start pinfold with, as the launching user
INSIDE_OUTER=()      # a program to start all of that with, as the user who runs the tests
INSIDE_BIND=()       # DIR PLACE: pinfold alone sees DIR in the place of PLACE (as root only)
INSIDE_WORLD=        # set: OUTER and WRAP make a world that a daemon has to be in, too
EXPECT_SIGNAL=       # set: the case kills pinfold itself
exec </dev/null

claim()
{
	CLAIM=$1
}

# --- running -------------------------------------------------------------------------------------

# The command line that starts pinfold in the current mode, without pinfold's own arguments.
launch_argv()
{
	local entry

	LAUNCH=("${INSIDE_OUTER[@]}" "$LAUNCHER" -t "$INSIDE_SECONDS" -g "$INSIDE_GRACE_MS"
		-r "$EVIDENCE/report" -d "$W" -c "$SECRET_FILE" -w "$CANARY_SRV_FILE"
		-s "$CANARY_FD_VALUE" -e "CANARY_ENV=$CANARY_ENV_VALUE" -e PATH=/usr/bin:/bin
		-e "HOME=$USER_HOME" -e "USER=$USER_NAME" -e LANG=C.UTF-8 -e "PINFOLD_HOME=$M/home"
		-e "PINFOLD_SOCKET=$M/run/daemon.sock")
	[ "$MODE" = R ] && LAUNCH+=(-e "PINFOLD_CONFIG=$M/config")
	[ "$MODE" = U ] && LAUNCH+=(-e "XDG_RUNTIME_DIR=$M/run")
	[ "$MODE" = U ] && [ "$EUID" = 0 ] && LAUNCH+=(-u "$USER_ID")
	for entry in "${INSIDE_ENV[@]}"; do
		LAUNCH+=(-e "$entry")
	done
	[ ${#INSIDE_BIND[@]} = 2 ] && LAUNCH+=(-b "${INSIDE_BIND[0]}" -o "${INSIDE_BIND[1]}")
	LAUNCH+=("$@" -- "${INSIDE_WRAP[@]}" "${THROUGH[@]}")
	[ ${#THROUGH[@]} -gt 0 ] && [ -n "$INSIDE_WORLD${INSIDE_BIND[*]}" ] && LAUNCH+=(-d)
	LAUNCH+=("$PINFOLD_COPY")
}

# daemon_open: a daemon of the mode's own, for all of its runs, as unlucky in what it inherits as
# they are.
daemon_open()
{
	local seconds=$INSIDE_SECONDS

	[ -n "${PINFOLD_TEST_DAEMON:-}" ] || return
	INSIDE_SECONDS=600
	THROUGH=()
	evidence_files serve
	launch_argv -p "$EVIDENCE/daemon.pid"
	INSIDE_SECONDS=$seconds
	"${LAUNCH[@]}" serve --warm 1 --warm-python 0 --warm-node 0 >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	DAEMON_LAUNCH_OF_MODE=$!
	wait_for 10 grep -qs 'serving on' "$ERR" || fell CRASH "no daemon: $(head -c 300 "$ERR")"
	wait_for 10 test -s "$EVIDENCE/daemon.pid" # the launcher may be late
	DAEMON_OF_MODE=$(cat "$EVIDENCE/daemon.pid")
	session_compile "$LIB_DIR/through.c"
	THROUGH=("$COMPILED")
	[ "$MODE" = R ] || THROUGH+=(-b)
}

# daemon_guests: the init of each of its sandboxes, waiting or running.
daemon_guests()
{
	pgrep -P "$DAEMON_OF_MODE" -x pinfold
}

# How many wait is its own affair, but who waits has no process below him.
daemon_is_idle()
{
	[ -z "$(daemon_guests | sed 's,.*,/proc/&/task/&/children,' | xargs -r cat 2>/dev/null)" ]
}

# daemon_close: whoever a run left in it is below one of its guests; whoever it leaves itself, the
# launcher sees.
daemon_close()
{
	[ -n "$DAEMON_OF_MODE" ] || return
	wait_for 5 daemon_is_idle ||
		fell ESCAPE "a process is left in a sandbox of the daemon"
	kill "$DAEMON_OF_MODE" 2>/dev/null
	wait "$DAEMON_LAUNCH_OF_MODE"
	[ $? = 0 ] || fell CRASH "the daemon ended with $?"
	DAEMON_OF_MODE=
}

evidence_files()
{
	OUT=$EVIDENCE/$((++CALLS)).out
	ERR=$EVIDENCE/$CALLS.err
	printf '%q ' "$@" >"$EVIDENCE/$CALLS.cmd"
}

# pinfold ARG...: sets OUT and ERR (files) and RC; standard input is the caller's.
pinfold()
{
	evidence_files "$@"
	launch_argv
	"${LAUNCH[@]}" "$@" >"$OUT" 2>"$ERR"
	RC=$?
}

# inside [OPTION...] -- COMMAND...: one run in a sandbox.
inside()
{
	pinfold run "$@"
}

# inside_json [OPTION...] -- COMMAND...: the same with --json; JSON is the document, OUT and ERR
# the command's own output.
inside_json()
{
	inside --json "$@"
	JSON=$OUT
	evaluate_open
	: >"$JSON.stdout"
	: >"$JSON.stderr"
	[ "$(evaluate split "$JSON")" = true ] ||
		fell CRASH "no JSON document: $(head -c 200 "$JSON"; head -c 200 "$ERR")"
	OUT=$JSON.stdout
	ERR=$JSON.stderr
}

# json EXPRESSION [ARG...]: prints a Python expression over the last document, `d`; the arguments
# are in `a`. Prints nothing when it cannot be evaluated.
json()
{
	evaluate any "$JSON" "$@"
}

# inside_start NAME [OPTION...] -- COMMAND...: a run in the background. NAME_OUT is its output,
# NAME_PID the pid of pinfold, NAME_LAUNCH that of the harness's launcher around it. Standard input is the caller's.
inside_start()
{
	local name=$1

	shift
	evidence_files run "$@"
	rm -f "$EVIDENCE/$name.pid"
	launch_argv -p "$EVIDENCE/$name.pid"
	"${LAUNCH[@]}" run "$@" <&0 >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	printf -v "${name}_LAUNCH" %s "$!"
	printf -v "${name}_OUT" %s "$OUT"
	BACKGROUND+=("$!")
	wait_for 5 test -s "$EVIDENCE/$name.pid" || fell CRASH "$name did not start"
	printf -v "${name}_PID" %s "$(cat "$EVIDENCE/$name.pid")"
}

# inside_wait NAME: until a run in the background has ended; sets RC.
inside_wait()
{
	local launch=${1}_LAUNCH

	wait "${!launch}"
	RC=$?
}

# guest_in_daemon PID: the init of a caller's sandbox, once its command is there: whose output is a
# pipe that the caller holds.
guest_in_daemon()
{
	local guest child pipes

	pipes=$(readlink "/proc/$1/fd/"* 2>/dev/null | grep '^pipe:')
	for guest in $(daemon_guests); do
		for child in $(cat "/proc/$guest/task/$guest/children" 2>/dev/null); do
			readlink "/proc/$child/fd/"[012] 2>/dev/null | grep -qxF "${pipes:-none}" &&
				echo "$guest" && return
		done
	done
}

# sandbox_pids NAME: the processes below a background run's pinfold, as the host numbers them: its
# guest first.
sandbox_pids()
{
	local pid=${1}_PID todo child

	todo=("${!pid}")
	if [ ${#THROUGH[@]} -gt 0 ]; then
		mapfile -t todo < <(guest_in_daemon "${!pid}")
		[ ${#todo[@]} = 0 ] || echo "${todo[0]}"
	fi
	while [ ${#todo[@]} -gt 0 ]; do
		for child in $(cat "/proc/${todo[0]}/task/"*/children 2>/dev/null); do
			# Who settles the ledger is a child of pinfold's, too, for a moment.
			[ "${todo[0]}" = "${!pid}" ] && ! grep -qx pinfold "/proc/$child/comm" 2>/dev/null &&
				continue
			echo "$child"
			todo+=("$child")
		done
		todo=("${todo[@]:1}")
	done
}

# A guest on its way has children of its own for moments, which bear its name; the command does not.
sandbox_is_up()
{
	local guest pid name

	guest=$(sandbox_pids "$1" | head -1)
	[ -n "$guest" ] || return 1
	for pid in $(cat "/proc/$guest/task/"*/children 2>/dev/null); do
		name=$(cat "/proc/$pid/comm" 2>/dev/null)
		[ -z "$name" ] || [ "$name" = pinfold ] || return 0
	done
	return 1
}

# guest_of NAME: sets GUEST to the pid of a background run's PID 1 once its command is there.
guest_of()
{
	wait_for 10 sandbox_is_up "$1" && GUEST=$(sandbox_pids "$1" | head -1) && return
	fell CRASH "$1 has no sandbox: $(head -c 300 "$ERR")"
	return 1
}

# sandbox_end NAME: ends a background run as Ctrl-C would.
sandbox_end()
{
	local launch=${1}_LAUNCH

	kill "${!launch}" 2>/dev/null
	inside_wait "$1"
}

# A second sandbox of the same launcher, with a canary file and a process that carries a canary.
# Its canary is searched for like the others.
neighbour_start()
{
	NEIGHBOUR_VALUE=$(canary_value)
	echo "NEIGHBOUR_VALUE=$NEIGHBOUR_VALUE" | canary_patterns >>"$EVIDENCE/patterns"
	inside_start NEIGHBOUR -- sh -c 'umask 0; echo "$1" >/home/user/canary; echo "$1" >/tmp/canary
		echo ready; exec tail -f /dev/null "$1" 2>/dev/null' sh "$NEIGHBOUR_VALUE"
	mv "$OUT" "$EVIDENCE/neighbour.log"
	mv "$EVIDENCE/$CALLS.cmd" "$EVIDENCE/neighbour.log.cmd"
	wait_for 5 grep -q ready "$EVIDENCE/neighbour.log" || fell CRASH "the neighbour did not start"
}

neighbour_stop()
{
	sandbox_end NEIGHBOUR
}

# attack_build [SOURCE [FLAG...]]: compiles the case's C program (or SOURCE, beside the case)
# statically. It is $BIN/NAME on the host and, with `inside --dir "$BIN"`, /work/NAME inside; NAME
# is the stem of the source. Sets ATTACK to the path inside and ATTACK_HOST to that on the host.
attack_build()
{
	local source=${1:-$CASE_STEM.c} name

	[ -f "$source" ] || source=$(dirname "$CASE_FILE")/$source
	name=$(basename "$source" .c)
	shift
	ATTACK=/work/$name
	ATTACK_HOST=$BIN/$name
	session_compile "$source" -static "$@"
	install -m 0755 "$COMPILED" "$BIN/$name"
}

# --- saying what must hold -----------------------------------------------------------------------

# fell KIND TEXT: the claim does not hold. READ, WRITE, ESCAPE or CRASH.
fell()
{
	FELL+=("$1: $2")
}

checked()
{
	CHECKS=$((CHECKS + 1))
}

# ran [STATUS]: the last call ended like this (0), so the attack was really made.
ran()
{
	checked
	[ "$RC" = "${1:-0}" ] && return
	fell CRASH "ended with $RC, not ${1:-0}: $(cat "$EVIDENCE/$CALLS.cmd")
$(head -c 600 "$ERR")"
}

# shut NAME...: the output has a line `shut NAME` for each door, and no line `open` at all.
shut()
{
	local name line

	for name in "$@"; do
		checked
		grep -q "^shut $name\b" "$OUT" || grep -q "^open $name\b" "$OUT" ||
			fell CRASH "door $name was not tried"
	done
	[ $# -gt 0 ] || { checked; grep -q '^shut ' "$OUT" || fell CRASH "no door was tried"; }
	while IFS= read -r line; do
		fell "${KIND:-ESCAPE}" "$line"
	done < <(grep -a '^open ' "$OUT")
}

# refused WHAT [CODE]: pinfold said no, with this error code, before anything of the command ran.
refused()
{
	checked
	if [ "$RC" != 125 ] || ! [ -s "$ERR" ]; then
		fell "${KIND:-ESCAPE}" "$1 was not refused (status $RC): $(head -c 300 "$ERR")"
	elif [ -n "${2:-}" ] && ! grep -q "$2" "$ERR"; then
		fell CRASH "$1 was refused without the code $2: $(head -c 300 "$ERR")"
	fi
	[ -s "$OUT" ] && fell ESCAPE "$1 was refused, but something ran: $(head -c 300 "$OUT")"
}

# absent WHAT STRING [FILE...]: the string is in neither output (or in none of the files).
absent()
{
	local what=$1 string=$2 file

	shift 2
	checked
	for file in "${@:-$OUT}" "${@:-$ERR}"; do
		grep -aqF -e "$string" "$file" 2>/dev/null || continue
		fell "${KIND:-READ}" "$what: $(grep -aF -m1 -e "$string" "$file" | head -c 200)"
		return
	done
}

# same WHAT GOT WANT
same()
{
	checked
	[ "$2" = "$3" ] && return
	fell "${KIND:-ESCAPE}" "$1
  got:  $2
  want: $3"
}

# holds WHAT COMMAND...: the command succeeds.
holds()
{
	local what=$1

	shift
	checked
	"$@" >>"$EVIDENCE/holds.log" 2>&1 || fell "${KIND:-ESCAPE}" "$what ($*)"
}

# skip_mode REASON: this mode cannot be tried here. Reasons are listed in tests/skips.
skip_mode()
{
	SKIPPED=$1
}

# --- one case ------------------------------------------------------------------------------------

mode_open()
{
	MODE=$1
	M=$T/$MODE
	W=$M/work
	BIN=$M/bin
	EVIDENCE=$T/evidence.$MODE
	CALLS=0
	CHECKS=0
	FELL=()
	SKIPPED=
	USER_NAME=root
	SECRET_FILE=$CANARY_ROOT_FILE
	if [ "$MODE" = U ]; then
		USER_NAME=$TEST_USER
		[ "$EUID" = 0 ] || USER_NAME=$(id -un)
		SECRET_FILE=$CANARY_HOME_FILE
	fi
	USER_ID=$(id -u "$USER_NAME" 2>/dev/null) || return
	USER_HOME=$(getent passwd "$USER_NAME" | cut -d: -f6)
	mkdir -p "$EVIDENCE" "$M/home" "$M/run" "$W" "$BIN"
	chmod 0700 "$M/home" "$M/run"
	chmod 0755 "$M" "$W" "$BIN"
	[ "$EUID" = 0 ] && chown -R "$USER_NAME" "$M"
	: >"$EVIDENCE/report"
	cat "$SESSION/patterns" >"$EVIDENCE/patterns"
	listener_open
	oracle_before
	daemon_open
}

# Whoever the case left running ends before the oracle looks.
mode_close()
{
	local pid

	for pid in "${BACKGROUND[@]}"; do
		kill "$pid" 2>/dev/null && wait "$pid"
	done
	BACKGROUND=()
	daemon_close
	oracle_after
	kill "$LISTENER_PID" 2>/dev/null
	wait "$LISTENER_PID" 2>/dev/null
}

mode_result()
{
	local name="$CLAIM [$1]" entry

	[ "$CHECKS" = 0 ] && [ -z "$SKIPPED" ] && fell CRASH "the case checked nothing"
	if [ -n "$SKIPPED" ] && [ ${#FELL[@]} = 0 ]; then
		skip "$name" "$SKIPPED"
	elif [ ${#FELL[@]} = 0 ]; then
		ok "$name"
	else
		not_ok "$name"
		diag "fell: $(printf '%s\n' "${FELL[@]%%: *}" | grep -xE 'READ|WRITE|ESCAPE|CRASH' |
			sort -u | tr '\n' ' ')"
		for entry in "${FELL[@]:0:20}"; do
			diag "$entry"
		done
	fi
}

mode_run()
{
	if [ "$1" = R ] && [ "$EUID" != 0 ]; then
		skip "$CLAIM [R]" "only root can be the launcher in mode R"
		return
	fi
	if [ "$1" = U ] && [ "$EUID" = 0 ] && ! id "$TEST_USER" >/dev/null 2>&1; then
		skip "$CLAIM [U]" "no ordinary user and no useradd to make one"
		return
	fi
	if [ -n "${PINFOLD_TEST_DAEMON:-}" ] && grep -q '^# daemon: none: ' "$CASE_FILE"; then
		skip "$CLAIM [$1]" "not through a daemon: $(sed -n 's/^# daemon: none: //p' "$CASE_FILE")"
		return
	fi
	mode_open "$1"
	attack
	mode_close
	mode_result "$1"
}

case_end()
{
	local pid

	for pid in "${BACKGROUND[@]}" $DAEMON_OF_MODE $LISTENER_PID; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	if [ -n "${PINFOLD_TEST_KEEP:-}" ]; then
		echo "# evidence kept in $T"
	else
		rm -rf "$T"
	fi
	rm -f "$SESSION/case.${T##*.}"
	session_close
}

run_case()
{
	local mode

	LISTENER_PID=
	T=$(mktemp -d "${TMPDIR:-/tmp}/pinfold-case.XXXXXXXX") || exit 1
	chmod 0711 "$T"
	session_open
	trap case_end EXIT
	echo "$T" >"$SESSION/case.${T##*.}"
	trap 'exit 130' INT TERM HUP
	session_binary
	for mode in ${PINFOLD_TEST_MODES:-R U}; do
		mode_run "$mode"
	done
	done_testing
}
