#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: time, ref-naive
#
# A run is over when its command is, or its time. Who waits for the end of a stream instead waits
# for whoever else holds it: a grandchild, a writer on the host, a reader that has gone.
. "$(dirname "$0")/../lib/escape.sh"

claim "D06 no open, closed or unread stream keeps a run, and none loses what was written"

FOREVER='tail -f /dev/null'
INSIDE_SECONDS=60 # a run that hangs is seen soon

# ends STATUS BYTES [OPTION...] -- COMMAND...: at once, with so much on standard output.
ends()
{
	local rc=$1 bytes=$2 start=${EPOCHREALTIME/[.,]/}

	shift 2
	inside --time 55s "$@"
	ran "$rc"
	same "output of $*" "$(wc -c <"$OUT")" "$bytes"
	holds "ended at once: $*" test $((${EPOCHREALTIME/[.,]/} - start)) -lt 50000000
}

held_by_others()
{
	ends 7 60000 -- sh -c "$FOREVER & head -c 60000 /dev/zero; exit 7"
	ends 7 60000 -- sh -c "(setsid $FOREVER &) ; head -c 60000 /dev/zero; exit 7"
	ends 7 60000 -- sh -c "(trap '' HUP TERM; exec $FOREVER) & head -c 60000 /dev/zero; exit 7"
	inside_json --time 55s -- sh -c "$FOREVER & echo whole; echo too >&2; exit 7"
	ran 7
	same "the document" "$(json '[d["stdout"]["text"], d["stderr"]["text"], d["status"]]')" \
		'["whole\n", "too\n", "exited"]'
	# It does not only hold the stream, it goes on writing.
	inside_json --time 55s -- sh -c 'yes & exit 7'
	ran 7
	same "a grandchild that floods: how it ended" "$(json 'd["status"]')" exited
}

closed_or_unread()
{
	ends 3 5 -- sh -c 'echo here; exec >&-; exec 2>&-; exit 3'
	ends 3 0 -- sh -c 'exec 0<&- 1>&- 2>&-; exit 3'
	ends 0 3000 -- python3 -Ic 'import os
for i in range(3000): os.write(1, b"x")'
	# Input that nobody takes: much of it, without an end, and none that ever comes.
	ends 4 0 -- sh -c 'exit 4' < <(head -c 3000000 /dev/zero)
	ends 4 1 -- sh -c 'head -c 1; exec 0<&-; exit 4' < <(exec cat /dev/zero)
	mkfifo "$W/silent"
	exec {SILENT}<>"$W/silent"
	ends 4 0 -- sh -c 'exit 4' <&"$SILENT"
	exec {SILENT}>&-
	rm "$W/silent"
}

# The reader of our own output has gone, or takes nothing: the limit holds all the same.
gone_reader()
{
	INSIDE_OUTER=(bash -c '"$@" | head -1; exit "${PIPESTATUS[0]}"' bash)
	ends 141 2 -- yes
	INSIDE_OUTER=()
	inside --time 300ms --grace 100ms -- sh -c "mkfifo f; exec >&- 2>&- <&-; read x <>f"
	ran 124
	inside --time 300ms --grace 100ms -- sh -c "trap '' TERM; $FOREVER" < <(exec cat /dev/zero)
	ran 124
}

attack()
{
	held_by_others
	closed_or_unread
	gone_reader
}

run_case
