#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: usr-overlay, ref-bwrap
#
# Dirty COW and Dirty Pipe wrote to files through pages that were only to be read; all sandboxes on
# one base share those pages. So the host's file has the same hash after the attacks, for the host
# and for the next sandbox.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B22 nothing inside changes a file of the base"

DOORS="private-mapping shared-mapping cow-race pipe tracer"
FILE=/usr/bin/env

# Runs "$@" where /usr has one more file, which everybody may write: what then holds is only how
# /usr is shown inside. Its state goes to $1. Nothing of this is seen elsewhere or stays.
# shellcheck disable=SC2016
LOOSE_USR='set -e
	mount -t tmpfs none /mnt
	mkdir -p /mnt/up/share /mnt/work
	cd /mnt/up/share
	echo base >pinfold-base
	chmod 666 pinfold-base
	mount -t overlay none -o lowerdir=/usr,upperdir=/mnt/up,workdir=/mnt/work /usr
	chmod 777 /usr/share
	state=$1
	shift
	"$@" || rc=$?
	stat -c "%n %s %a" /usr/share/pinfold-base >"$state"
	cat /usr/share/pinfold-base >>"$state"
	exit "${rc:-0}"'

attack()
{
	local before

	attack_build
	echo "the base of a directory" >"$BIN/base"
	chmod 666 "$BIN/base"
	before=$(sha256sum "$FILE" "$BIN/base")
	ARGS=("$FILE" /work/base)
	# shellcheck disable=SC2086
	all_shut $DOORS
	KIND=WRITE same "the host's files" "$(sha256sum "$FILE" "$BIN/base")" "$before"
	inside --dir "$BIN" -- sha256sum "$FILE" /work/base
	ran
	KIND=WRITE same "the files in the next sandbox" "$(cut -d' ' -f1 "$OUT")" \
		"$(cut -d' ' -f1 <<<"$before")"

	[ "$EUID" = 0 ] || return 0
	INSIDE_WORLD=1
	INSIDE_OUTER=(unshare -m --propagation private sh -c "$LOOSE_USR" sh "$EVIDENCE/loose")
	ARGS=(/usr/share/pinfold-base)
	ROOT_REFUSED=yes # an overlay, as /usr is here, takes no other owners
	# shellcheck disable=SC2086
	all_shut $DOORS
	INSIDE_OUTER=() INSIDE_WORLD=
	KIND=WRITE same "a file that everybody may write" "$(cat "$EVIDENCE/loose")" \
		"/usr/share/pinfold-base 5 666
base"
}

run_case
