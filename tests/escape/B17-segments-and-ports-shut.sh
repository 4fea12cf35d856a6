#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, ref-bwrap
#
# Segments for 16-bit code have given several kernel exploits, and only old emulators use them.
# vm86 exists for 32-bit programs only: B16.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B17 no segment can be made and no port be opened"

attack()
{
	attack_build
	all_shut modify_ldt-read modify_ldt-write modify_ldt-write-new iopl iopl-reached ioperm \
		ioperm-reached port mem
	denied
}

run_case
