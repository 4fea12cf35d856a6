#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# Performance counters measure other processes and have been an exploit of their own more than
# once.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B04 perf_event_open is shut"

attack()
{
	attack_build
	all_shut own-software own-hardware machine reached-flags reached
	denied perf_event_open
}

run_case
