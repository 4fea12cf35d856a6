#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of the distribution (--apt), from an archive of the test's own.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# In the archive's mount namespace apt knows it, and nothing else.
archive()
{
	index archive.py || return
	CALL_OUTER+=("--mount=/proc/$INDEX_PID/ns/mnt")
}

first()
{
	local before

	inside_json --apt pf-tool -- sh -c 'pf-tool; pf-alt'
	exits 0 "a package, with what it needs, its configuration and what its script made"
	doc_is "tool text conf state|tool text conf state|" 'd["stdout"]["text"].replace("\n", "|")' "is there"
	doc_is "pf-lib 1:1.5~beta apt,pf-tool 1.0 apt" \
		'",".join(" ".join((p["name"], p["version"], p["language"])) for p in d["packages"])' "and in the result"
	before=$(asked)
	inside --apt pf-tool -- pf-tool
	prints "tool text conf state" "again"
	check "without a word to the archive" test "$(asked)" = "$before"
	inside -- pf-tool
	exits 127 "not without --apt"
}

# Its script ran, as root inside; what it saw and could do is what it says.
hostile()
{
	inside --apt pf-evil -- pf-evil
	prints "seen:" "a script that looks for secrets and the network, and writes outside"
	inside --apt pf-evil -- sh -c 'grep -c evil /etc/passwd; test -u "$(command -v pf-evil)" || echo plain'
	prints $'0\nplain' "makes no users, and no programs with another's rights"
	check "nothing of it is on the host" test ! -e /usr/bin/pf-evil
	inside --apt pf-tool -- pf-evil
	exits 127 "nor in other sandboxes"
}

refused()
{
	inside --apt nosuchpackage -- true
	refuses not_found.package nosuchpackage "what no archive has"
	inside --apt pf-tool=9 -- true
	refuses not_found.version 9 "a version that no archive has"
	for name in --evil -x pf-tool- ../x 'a b' /etc/passwd 'pf;x' ''; do
		inside "--apt=$name" -- true
		refuses invalid_argument --apt "no name: '$name'"
	done
}

checks()
{
	archive || return
	first
	[ "$MODE" = R ] || return 0
	hostile
	refused
	fresh w
	pinfold exec --apt pf-tool,pf-lib w -- sh -c 'pf-tool; echo mine >/home/user/f'
	prints "tool text conf state" "in a workspace"
	pinfold diff w
	check "whose change is its own alone" test "$(grep -c '^[AMDT] ' "$OUT")" = 1
	pinfold deps ls
	check "layers are listed" grep -q "apt .* pf-tool 1.0" "$OUT"
}

run_deps apt-get
