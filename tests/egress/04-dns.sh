#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-names, gate-wild
#
# Names are answered from the policy, whatever server is asked, and no question leaves the machine.
. "$(dirname "$0")/../lib/egress.sh"

checks()
{
	network || return
	forget
	inside_json --allow good.test --allow '*.wild.test' -- /usr/bin/python3 -I -c \
		"$(cat "$EGRESS_DIR/dns.py")"
	json_is "127.0.0.53 (0, 1) (3, 0)
8.8.8.8 (0, 1) (3, 0)
198.51.100.2 (0, 1) (3, 0)
2001:4860:4860::8888 (0, 1) (3, 0)
::1 (0, 1) (3, 0)
tcp (0, 1) (3, 0)
kinds [(0, 1), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0)] [(3, 0), (3, 0), (3, 0)]
long (3, 0) (3, 0) (0, 1)
odd (1, 0) (4, 0)
wild True True
named (0, 1)
fast (5, 0) True" 'd["stdout"]["text"].strip()' "answers"
	check "no server was asked" test ! -s "$NET/far/dns"
	json_has 'any(x["what"] == "name lookup (DNS) evil.test" and x["count"] > 300
		for x in d["denials"])' "what was refused is told"
	json_has 'any("wildcard" in x["hint"] for x in d["denials"])' \
		"and that there are too many names"
	inside --allow good.test -- sh -c 'for f in 4 6; do getent ahostsv$f good.test | sed "s/ .*//;q"; done'
	prints "198.18.0.1
fd70:6966:6f6c:6400::1" "who asks for what the machine has gets either kind"
	inside --allow good.test -- "${BARE[@]}" curl -s http://good.test/
	check "one that is connected to is looked up" test "$(seen dns '^good.test ')" -ge 1
	: >"$NET/far/dns"
	inside --allow kept.test --allow four.test -- "${BARE[@]}" sh -c 'for i in 1 2 3; do
		curl -s http://kept.test/; curl -s http://four.test/; done'
	check "for as long as it is good, and no longer" test \
		"$(seen dns '^kept.test 1$') $(seen dns '^four.test 1$')" = "1 3"
	inside --allow dead.test --allow none.test -- "${BARE[@]}" sh -c \
		'curl -s -o /dev/null -w "%{http_code}\n" http://none.test/'
	prints 502 "a name without an address is said to be one"
}

run_egress
