#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, landlock, ref-bwrap
#
# A protection that this kernel cannot give must stop the run and be named, never be left out
# quietly. A filter around pinfold plays the kernel without user namespaces, seccomp or Landlock;
# an empty directory in the place of /sys/fs/cgroup plays the one without control groups.
. "$(dirname "$0")/../lib/escape.sh"

claim "A20 a missing protection is refused by name, and the level reached is stated"

# without FEATURE WORD...: the run is refused, and the message has one of the words.
without()
{
	local feature=$1 word

	shift
	INSIDE_OUTER=("$ATTACK_HOST" "$feature")
	inside -- echo RAN
	INSIDE_OUTER=()
	refused "a run without $feature"
	for word in "$@"; do
		grep -qi "$word" "$ERR" && return
	done
	fell CRASH "the refusal does not name $feature: $(head -c 300 "$ERR")"
}

attack()
{
	INSIDE_WORLD=1
	attack_build
	without userns namespace
	without seccomp seccomp
	without landlock landlock

	inside_json -- true
	same "the level of an ordinary run" "$(json 'd["isolation"]')" strict
	INSIDE_OUTER=("$ATTACK_HOST" landlock)
	inside_json -- echo RAN
	INSIDE_OUTER=()
	same "the document of a refusal" "$(json '[d["status"], "landlock" in str(d["error"]).lower()]')" \
		'["failed", true]'

	[ "$EUID" = 0 ] || return 0
	mkdir -p "$M/empty"
	INSIDE_BIND=("$M/empty" /sys/fs/cgroup)
	inside --limits strict -- echo RAN
	refused "strict limits without control groups"
	inside_json --limits best-effort -- true
	INSIDE_BIND=()
	same "best effort says what holds" \
		"$(json 'd["status"] == "exited" and d["limits"]["memory"]["held_by"] != "cgroup"')" true
}

run_case
