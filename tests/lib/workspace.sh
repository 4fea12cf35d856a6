# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Workspaces in tests. After tests/lib/cli.sh; the store is $M/home.

# ws NAME COMMAND...: the command in that workspace.
ws()
{
	pinfold exec "$1" -- "${@:2}"
}

# sh_in NAME TEXT [ARG...]: the same with a shell.
sh_in()
{
	pinfold exec "$1" -- sh -c "$2" sh "${@:3}"
}

# fresh NAME [OPTION...]: a new workspace; one of that name goes first.
fresh()
{
	pinfold rm "$1"
	pinfold new "$@"
	[ "$RC" = 0 ] || not_ok "workspace $1 is made [$MODE]"
}

# doc EXPRESSION [ARG...]: prints a Python expression over the last document, `d`; the arguments are in
# `a`. Fails unless standard output is exactly one document.
doc()
{
	evaluate line "$OUT" "$@"
}

# doc_is WANT EXPRESSION NAME
doc_is()
{
	local got

	got=$(doc "$2")
	check "$3: $1" test "$got" = "$1"
}

# doc_has EXPRESSION NAME [ARG...]: the expression is true.
doc_has()
{
	local got

	got=$(doc "$1" "${@:3}")
	check "$2" test "$got" = true
}

# call_start NAME ARG...: pinfold in the background. As inside_start of cli.sh; inside_wait waits.
call_start()
{
	local name=$1

	shift
	call_files "$@"
	rm -f "$EVIDENCE/$name.pid"
	call_argv -p "$EVIDENCE/$name.pid"
	env --default-signal=INT,QUIT "${CALL[@]}" "$@" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	printf -v "${name}_CALL" %s "$!"
	printf -v "${name}_OUT" %s "$OUT"
	printf -v "${name}_ERR" %s "$ERR"
	wait_for 40 test -s "$EVIDENCE/$name.pid" || not_ok "$name starts [$MODE]"
	printf -v "${name}_PID" %s "$(cat "$EVIDENCE/$name.pid")"
}

# held NAME WORKSPACE [OPTION...]: a command there that says `ready` and stays, in the background.
held()
{
	local name=$1 workspace=$2

	shift 2
	call_start "$name" exec "$@" "$workspace" -- sh -c 'echo held >held; echo ready; exec tail -f /dev/null'
	ready "$name"
}

ready()
{
	local out=${1}_OUT

	wait_for 40 grep -q ready "${!out}" || not_ok "$1 is ready [$MODE]"
}

# not COMMAND...
not()
{
	! "$@"
}

# own_kill: the harness reports a call that SIGKILL ended; that was us.
own_kill()
{
	wait_for 40 grep -q '^signal 9' "$EVIDENCE/report"
	forget_report '^signal 9'
}

# sql STATEMENT: its rows, from the store of this mode, as the user whose it is.
sql()
{
	local as=()

	[ "$MODE" = U ] && [ "$EUID" = 0 ] && as=(setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups)
	"${as[@]}" /usr/bin/python3 -I -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/store.db", timeout=10)
for row in db.execute(sys.argv[2]):
    print(*row)
db.commit()
' "$M/home" "$1"
}

# settled: nothing of the store is open, dead or without its row. Settling goes on behind a command.
settled()
{
	[ -z "$(sql 'SELECT id FROM layer WHERE state <> 1 AND (state = 0 OR parts OR sandbox IS NOT NULL)')" ] &&
		[ "$(ls "$M/home/layers" | sort)" = "$(sql 'SELECT id FROM layer' | sort)" ]
}

# drive PROGRAM.py ARG...: a driver of this directory, with pinfold as the user of this mode calls it.
drive()
{
	local as=() environment=(PATH=/usr/bin:/bin "HOME=$USER_HOME" "PINFOLD_HOME=$M/home" "PINFOLD_SOCKET=$M/none")

	if [ "$MODE" = U ]; then
		environment+=("XDG_RUNTIME_DIR=$M/run")
		[ "$EUID" = 0 ] && as=(--uid "$USER_ID" --gid "$(id -g "$USER_NAME")")
	fi
	mkdir -p "$M/model"
	call_files "$@"
	env -i "${environment[@]}" /usr/bin/python3 -B "$TEST_DIR/$1" --pinfold "$PINFOLD_COPY" --dir "$M/model" \
		"${@:2}" "${as[@]}" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
	[ "$RC" = 0 ] || diag "$(cat "$OUT")"
}
