#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# There is one wall clock for the whole host: a sandbox that sets it breaks certificates, logs and
# every other sandbox.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B14 the clock cannot be set, and reading it works"

WORKS="read timer "

attack()
{
	attack_build
	all_shut clock_settime clock_settime-reached clock_settime-pointer settimeofday-reached \
		settimeofday-pointer adjtimex adjtimex-reached clock_adjtime clock_adjtime-reached \
		alarm rtc
	denied clock_settime settimeofday
}

run_case
