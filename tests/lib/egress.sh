# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests of the way out: pinfold runs in a network namespace of its own (`here`), servers are in
# another one (tests/egress/servers.py), a pair of interfaces between them. Addresses are those of
# documents (TEST-NET), which nobody has, and which the gate does not refuse.
#
#	. "$(dirname "$0")/../lib/egress.sh"
#	checks() { network || return; inside --allow good.test -- curl http://good.test/ ... }
#	run_egress
. "$(dirname "${BASH_SOURCE[0]}")/cli.sh"

EGRESS_DIR=$PROJECT_DIR/tests/egress
NET= # directory of what the servers saw, "" before they are there
NET_PIDS=()
# What the commands inside are called with; no proxy is named to them.
BARE=(env -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY -u http_proxy -u https_proxy -u all_proxy)

# holder COMMAND...: a process in a new network namespace; sets HOLDER. It ends with us.
holder()
{
	setpriv --pdeathsig KILL unshare -n "$@" >>"$NET/log" 2>&1 {LIVE_FD}>&- &
	HOLDER=$!
	NET_PIDS+=("$HOLDER")
}

in_net()
{
	nsenter --net="/proc/$1/ns/net" "${@:2}"
}

certificates()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
		-keyout "$NET/key.pem" -out "$NET/cert.pem" -subj /CN=good.test -addext \
		"subjectAltName=DNS:good.test,DNS:four.test,DNS:six.test,DNS:*.wild.test" \
		2>>"$NET/log"
}

net_open()
{
	NET=$T/net
	mkdir -p "$NET/far" "$NET/near"
	chmod 0755 "$NET"
	certificates
	holder /usr/bin/python3 -I "$EGRESS_DIR/servers.py" far "$NET/far" "$NET/cert.pem" "$NET/key.pem"
	FAR=$HOLDER
	holder /usr/bin/python3 -I "$EGRESS_DIR/servers.py" near "$NET/near"
	NEAR=$HOLDER
	wait_for 10 test -e "$NET/far/up" -a -e "$NET/near/up" || return
	in_net "$NEAR" ip link add near type veth peer name far netns "$FAR" &&
		in_net "$NEAR" ip addr add 198.51.100.1/24 dev near &&
		in_net "$NEAR" ip addr add 2001:db8:e2::1/64 dev near nodad &&
		in_net "$NEAR" ip link set near up && in_net "$NEAR" ip link set lo up &&
		in_net "$FAR" ip addr add 198.51.100.2/24 dev far &&
		in_net "$FAR" ip addr add 198.51.100.3/24 dev far &&
		in_net "$FAR" ip addr add 2001:db8:e2::2/64 dev far nodad &&
		in_net "$FAR" ip link set far up || return
	CALL_OUTER=(nsenter "--net=/proc/$NEAR/ns/net")
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/cert.pem")
}

net_close()
{
	local pid

	for pid in "${NET_PIDS[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	NET_PIDS=()
}

# seen FILE REGEX: how many lines of what the servers saw match.
seen()
{
	grep -cE -e "$2" "$NET/far/$1"
}

# gates: those that are in our network namespace; other tests have their own.
gates()
{
	local pid here

	here=$(readlink "/proc/$NEAR/ns/net")
	for pid in $(pgrep -x pinfold-gate); do
		[ "$(readlink "/proc/$pid/ns/net")" = "$here" ] && echo "$pid"
	done
}

# forget: what the servers saw so far.
forget()
{
	local file

	for file in dns http tcp; do
		: >"$NET/far/$file"
	done
	: >"$NET/near/tcp"
}

# Nothing of the host's own was touched.
untouched()
{
	check "$1: nothing came to the host's own ports" test ! -s "$NET/near/tcp"
}

# network: makes it all, at the first call. False, and said, when it cannot be.
network()
{
	[ -n "$NET" ] && return
	net_open && return
	not_ok "servers in a network namespace [$MODE]"
	diag "$(tail -n 5 "$NET/log")"
	return 1
}

run_egress()
{
	local program

	for program in ip nsenter unshare setpriv openssl; do
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
	run_checks
	local rc=$?
	net_close
	return "$rc"
}
