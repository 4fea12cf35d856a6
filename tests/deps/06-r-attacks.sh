#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of R that attack who builds them, indexes that attack who asks them. Not in make check:
# make check-packages.
. "$(dirname "$0")/../lib/deps.sh"

# attack CODE NAME WORDS WHAT
attack()
{
	inside --package "r:$2" -- true
	refuses "$1" "$3" "$4"
}

attacks()
{
	inside --deps auto --lang r -c 'd <- "/usr/local/lib/R/site-library/"
cat(spy::spy(), file.exists(paste0(d, c("stowaway", "spoilt"))), "\n")'
	prints "nothing FALSE FALSE " "what runs while it is built sees and leaves nothing"
	attack conflict.archive climber "leads out" "a name that leads out"
	[ "$MODE" = R ] || return 0
	attack conflict.hash changed MD5 "a file that is not what the index says"
	attack not_found.package nowhere "no package nowhere" "one that is not there"
	attack conflict.archive rooted "leads out" "a name from the root"
	attack conflict.archive linker "neither file nor directory" "a link"
	attack conflict.archive liar "another package" "one that says it is another"
	attack conflict.build broken "could not be built" "one that is no program"
	attack not_found.package lonely "which lonely needs" "what it needs is not there"
	attack not_found.package future9 "no package future9" "one for an R of later"
	attack invalid_argument ../evil "no name" "a path"
}

checks()
{
	index cran.py || return
	CALL_ENV+=("CRAN=http://127.0.0.1:$(cat "$INDEX/port")")
	attacks
}

run_deps Rscript
