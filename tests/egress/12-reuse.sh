#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-spare, gate-errand, gate-resume
#
# Connections to servers that serve one client after another, where TLS ends at the gate: what one
# exchange left behind reaches no other, and who we were for one is not who we are for the next.
. "$(dirname "$0")/../lib/egress.sh"

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - {host: good.test, port: 444, protocol: https, paths: [/*]}
		  - {host: good.test, port: 444, protocol: https, paths: [/other/*]}
		  - {host: other.test, port: 444, protocol: https}
	EOT
	cat >"$W/secrets.yaml" <<-EOT
		allow:
		  - {host: good.test, port: 444, protocol: https, paths: [/key/a], inject: {secret: KEY_A, header: X-Key}}
		  - {host: good.test, port: 444, protocol: https, paths: [/key/b], inject: {secret: KEY_B, header: X-Key}}
		  - {host: good.test, port: 444, protocol: https, paths: [/key/none]}
	EOT
	sed 's/paths: ..\*./&, connections: 2/' "$W/policy.yaml" >"$W/counted.yaml"
	own "$W"
}

# says POLICY KIND: what is wrong, then "done".
says()
{
	inside --policy "$W/$1.yaml" -- "${BARE[@]}" /usr/bin/python3 -I -c "$(cat "$EGRESS_DIR/reuse.py")" "$2"
}

secrets()
{
	local name

	mkdir -p "$M/keys"
	head -c 32 /dev/urandom >"$M/keys/pinfold-vault.key"
	chmod 600 "$M/keys/pinfold-vault.key"
	own "$M/keys"
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/cert.pem" CREDENTIALS_DIRECTORY="$M/keys")
	for name in KEY_A KEY_B; do
		printf '%s\n' "value-of-$name-0123456789" >"$W/value"
		own "$W"
		pinfold secret set "$name" --file "$W/value"
	done
}

checks()
{
	network || return
	policy
	says policy works
	prints done "a server serves clients one after the other, and knows us again"
	says policy attacks
	prints done "not one that said more than it was asked, or less, or answered too early"
	says policy names
	prints "502
done" "one that is known again is known by the name that it proved"
	secrets
	says secrets errands
	prints done "with a secret, with another, with none: never on one connection"
	says counted counted
	prints done "nor where a rule counts connections"
	untouched "reuse"
}

run_egress
