#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: disk
#
# Measured on a runtime without a quota: 600 MB written, nobody said stop. Whatever can be written
# inside is one budget, whatever the directory; a full sandbox hurts nobody else.
. "$(dirname "$0")/../lib/escape.sh"

claim "G05 everything written inside is one budget of disk"

DISK_MIB=16

attack()
{
	local places="/home/user /tmp /var/tmp /dev/shm /run /work" sum

	inside_json --memory 256M --disk ${DISK_MIB}M --dir "$W" -- bash -c 'for dir in $1; do
			head -c 64M /dev/zero 2>/dev/null >"$dir/fill"
			echo "$dir $(stat -c %s "$dir/fill")"
		done; dd if=/dev/zero of=/home/user/more bs=1M count=1 2>&1 | grep -o "No space left"' \
		bash "$places"
	ran
	sum=$(awk '/^\// {sum += $2} END {print int(sum / 1024)}' "$OUT")
	diag "$MODE: wrote $sum KiB of $((DISK_MIB << 10)), told are" \
		"$(json 'd["usage"]["disk_bytes"] >> 10') KiB"
	holds "wrote $sum KiB, not more than the limit" [ "$sum" -le $(((DISK_MIB << 10) + 512)) ]
	holds "wrote $sum KiB, nearly all of it" [ "$sum" -ge $(((DISK_MIB << 10) * 9 / 10)) ]
	same "the limit is told" "$(json 'd["status"], d["limit"]["kind"], d["limit"]["value"]')" \
		"[\"exited\", \"disk\", $((DISK_MIB << 20))]"
	same "it hits as a full disk" "$(tail -1 "$OUT")" "No space left"
	KIND=WRITE same "the directory of the host" "$(ls -A "$W")" ""

	# By sparse files, copies, many small files, files without a name: the same budget.
	inside --memory 256M --disk ${DISK_MIB}M -- bash -c 'truncate -s 10G sparse
		dd if=/dev/urandom of=sparse bs=1M count=64 seek=9000 conv=notrunc 2>/dev/null
		du -k sparse | cut -f1; rm sparse
		exec 3<>gone; rm gone; head -c 64M /dev/zero >&3 2>/dev/null; stat -Lc %s /proc/self/fd/3'
	ran
	same "sparse files and files without a name" "$(awk '{print $1 <= most * (NR == 1 ? 1 : 1024)}' \
		most=$(((DISK_MIB << 10) + 512)) "$OUT" | tr '\n' ' ')" "1 1 "

	# Beside a full one others work.
	inside_start FULL --memory 256M --disk ${DISK_MIB}M -- sh -c \
		'cat /dev/zero >fill 2>/dev/null; echo full; exec tail -f /dev/null'
	wait_for 10 grep -q full "$FULL_OUT"
	inside -- sh -c 'head -c 8M /dev/zero >x && stat -c %s x'
	ran
	same "another sandbox" "$(cat "$OUT")" 8388608
	kill "$FULL_LAUNCH"
	inside_wait FULL
}

run_case
