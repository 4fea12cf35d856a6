#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, ref-bwrap
#
# io_uring does what system calls do without passing the filter, and was behind more than half of
# the kernel exploits that Google paid for in 2022. Runtimes probe it at every start, so it does
# not exist: they fall back in silence, and nothing is reported. The older interface counts against
# a limit that the whole host shares.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B07 io_uring does not exist, and nobody is told"

attack()
{
	attack_build
	all_shut uring-setup uring-enter uring-register aio-setup aio-submit aio-getevents \
		aio-cancel aio-destroy
	denied
}

run_case
