#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debuggers look into children of their own.
. "$(dirname "$0")/../lib/cli.sh"

checks()
{
	if needs strace "strace"; then
		inside -- strace -f -o /tmp/trace -e trace=execve,openat sh -c \
			'cat /etc/hostname; true'
		exits 0 "strace -f of a shell"
		like "$(cat "$OUT")" '^sbx' "the traced program works [$MODE]"
		inside -- sh -c \
			'strace -f -o t sh -c "cat /etc/hostname; true" >/dev/null
			grep -c execve t'
		check "strace saw the programs" test "$(cat "$OUT")" -ge 2
		inside -- bash -c 'tail -f /dev/null & p=$!; strace -o t -p $p 2>said & s=$!
			until grep -q attached said; do kill -0 $s || exit 9; done; kill $p; wait $s
			grep -c SIGTERM t'
		check "strace -p attaches to a sibling" grep -q '^[1-9]' "$OUT"
	fi
	if needs gdb gcc "gdb"; then
		printf '%s\n' 'int twice(int x)' '{' '	return 2 * x;' '}' 'int main(void)' '{' \
			'	return twice(21);' '}' >"$W/p.c"
		own "$W"
		inside --time 50s --dir "$W" -- sh -ec 'gcc -g -O0 -o p /work/p.c
			gdb -q -batch -nx -ex "break twice" -ex run -ex "print x" -ex bt \
				-ex finish ./p 2>&1'
		exits 0 "gdb of an own child"
		check "a breakpoint, a variable" grep -q '= 21' "$OUT"
		check "a backtrace" grep -q '#1 .* main ()' "$OUT"
		check "the value that is returned" grep -q 'Value returned is .* 42' "$OUT"
	fi
}

run_checks
