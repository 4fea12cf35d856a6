#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, ref-bwrap
#
# Without randomised addresses an exploit of a parser inside is easy; old personalities are code
# that nobody tests. gdb asks, is told no, and goes on.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B15 no personality but the ordinary one"

WORKS="query linux "

attack()
{
	attack_build
	all_shut no-randomize read-implies-exec mmap-page-zero compat-layout uname26 linux32 \
		high-bits almost-query
	denied
	inside -- setarch -R true
	holds "setarch -R fails" test "$RC" != 0
}

run_case
