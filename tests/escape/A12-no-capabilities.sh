#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: caps, nnp, ref-bwrap
#
# CVE-2022-24769, CVE-2022-27650: inheritable capabilities were left, so that a file inside could
# give them back. All five sets are empty in the first process and in a child from a setuid file.
. "$(dirname "$0")/../lib/escape.sh"

claim "A12 all five capability sets are empty, and nothing gives them back"

WANT="euid 1000 egid 1000
Groups:
CapInh: 0000000000000000
CapPrm: 0000000000000000
CapEff: 0000000000000000
CapBnd: 0000000000000000
CapAmb: 0000000000000000
NoNewPrivs: 1"

# CAP_CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP,
# SYS_CHROOT, MKNOD (nodev makes it useless), SETFCAP: what a package manager asks for.
ROOT_MAY=$((0x880401ff))

# An ordinary user cannot give up the group that the one id it may map belongs to.
who()
{
	local own=none

	[ "$MODE" = U ] && own=1000
	sed "s/[ \t]*\$//; s/\t/ /; s/^Groups: $own\$/Groups:/" "$OUT"
}

attack()
{
	local caps

	attack_build
	install -m 0755 "$ATTACK_HOST" "$BIN/child"
	chmod 6755 "$BIN/child"
	inside --dir "$BIN" -- "$ATTACK"
	ran
	same "the first process" "$(who)" "$WANT"
	inside --dir "$BIN" -- sh -c '/work/child'
	ran
	same "a setuid child" "$(who)" "$WANT"
	inside --dir "$BIN" -- sh -c 'cp /work/child c && chmod 6755 c && ./c'
	ran
	same "a setuid file made inside" "$(who)" "$WANT"

	inside --user root --dir "$BIN" -- "$ATTACK"
	if [ "$RC" = 125 ]; then
		refused "sandbox root without a range of ids"
		return
	fi
	ran
	for caps in $(sed -n 's/^Cap...:\t//p' "$OUT"); do
		same "capabilities of sandbox root beyond the list" \
			"$((0x$caps & ~ROOT_MAY))" 0
	done
	same "inheritable, ambient" "$(grep -E 'CapInh|CapAmb' "$OUT" | tr -d '0\t\n')" CapInh:CapAmb:
	same "no new privileges" "$(grep -c 'NoNewPrivs:.1' "$OUT")" 1
}

run_case
