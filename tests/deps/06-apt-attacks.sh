#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Archives that are not what they say, and scripts of packages that do harm. Not in make check: make
# check-packages.
. "$(dirname "$0")/../lib/deps.sh"

# suite NAME: the archive that apt knows from now on.
suite()
{
	nsenter "--mount=/proc/$INDEX_PID/ns/mnt" sed -i -E "s/ [a-z]+ main/ $1 main/" /etc/apt/sources.list
}

checks()
{
	index archive.py || return
	CALL_OUTER+=("--mount=/proc/$INDEX_PID/ns/mnt")
	suite forged
	inside --apt pf-lib -- true
	refuses denied.signature signed "a signature of another's key"
	suite changed
	inside --apt pf-lib -- true
	refuses conflict.hash "" "a package that is not what the signed list says"
	suite gone
	inside --apt pf-lib -- true
	exits 125 "an archive that is not there"
	suite good
	inside --apt pf-fails -- true
	refuses conflict.script "went wrong" "a script that fails"
	CALL_ENV+=(PINFOLD_DEPS_TIME=20s)
	inside --apt pf-bomb -- true
	unset 'CALL_ENV[-1]'
	exits 125 "a script that forks without end"
	check "ends" test -s "$ERR"
	inside --apt pf-lib -- cat /usr/share/pf-lib/text
	prints text "and a good one is installed after all that"
}

run_deps apt-get
