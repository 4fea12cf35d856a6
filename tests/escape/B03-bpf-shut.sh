#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# The verifier of BPF programs is a long record of local exploits. The sysctl that closes it to
# ordinary users is the host's affair; here the call itself is refused, and said so.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B03 bpf is shut"

attack()
{
	attack_build
	all_shut map program next-id reached reached-size
	denied bpf
}

run_case
