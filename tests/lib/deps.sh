# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests of packages: an index of the test's own (tests/deps/index.py, or another that is named) in a
# network namespace, where pinfold runs, too.
#
#	. "$(dirname "$0")/../lib/deps.sh"
#	checks() { index registry.py || return; inside --deps auto ...; }
#	run_deps npm			the package manager that has to be there; pip
. "$(dirname "${BASH_SOURCE[0]}")/cli.sh"

INDEX= # its directory, "" before it is there
INDEX_PID=

# index [FILE]: makes it, at the first call. False, and said, when it cannot be.
index()
{
	[ -n "$INDEX" ] && return
	INDEX=$T/index
	mkdir -p "$INDEX"
	# shellcheck disable=SC2016 # for the shell inside
	setpriv --pdeathsig KILL unshare -n sh -c 'ip link set lo up && exec "$@"' sh \
		/usr/bin/python3 -I "$PROJECT_DIR/tests/deps/${1:-index.py}" "$INDEX/port" \
		>>"$INDEX/log" 2>&1 {LIVE_FD}>&- &
	INDEX_PID=$!
	if ! wait_for 20 test -s "$INDEX/port"; then
		not_ok "an index in a network namespace [$MODE]"
		diag "$(tail -n 5 "$INDEX/log")"
		return 1
	fi
	CALL_OUTER=(nsenter "--net=/proc/$INDEX_PID/ns/net")
	index_at "$(cat "$INDEX/port")"
	CALL_SECONDS=240
}

# index_at PORT: where package managers look; nobody listens at 9.
index_at()
{
	CALL_ENV=("PIP_INDEX_URL=http://127.0.0.1:$1/simple/" "npm_config_registry=http://127.0.0.1:$1/" SECRET_OF_OURS=x)
}

# asked: how often the index was asked for anything.
asked()
{
	grep -c . "$INDEX/port.log" 2>/dev/null || true
}

run_deps()
{
	local program rc

	for program in ip nsenter unshare setpriv; do
		command -v "$program" >/dev/null && continue
		skip "${0##*/}" "$program is not installed"
		done_testing
		return
	done
	if [ "$EUID" != 0 ]; then
		skip "${0##*/}" "only root can make network namespaces for servers"
		done_testing
		return
	fi
	if [ "${1:-pip}" != pip ] && ! command -v "$1" >/dev/null; then
		skip "${0##*/}" "$1 is not installed"
		done_testing
		return
	fi
	if [ "${1:-pip}" = pip ] && ! /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
		skip "${0##*/}" "python3-pip is not installed"
		done_testing
		return
	fi
	run_checks
	rc=$?
	[ -z "$INDEX_PID" ] || { kill "$INDEX_PID"; wait "$INDEX_PID"; } 2>/dev/null
	return "$rc"
}
