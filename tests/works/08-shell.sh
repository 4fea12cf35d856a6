#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shell and the small tools: job control, pipes, perl, java, ps, free, top, nproc.
. "$(dirname "$0")/../lib/cli.sh"

jobs_on_terminal()
{
	on_terminal 'expect:[$] ' 'send:sh -c "echo up; exec tail -f /dev/null"\r' 'expect:[^ ]up' \
		'send:\x1a' 'expect:Stopped.*[$] ' \
		'send:jobs\r' 'expect:Stopped.*[$] ' 'send:bg; kill %1; wait %1; echo ended $?\r' \
		'expect:ended 143.*[$] ' 'send:exit 0\r' -- run --pty -- bash --norc -i
	exits 0 "job control: Ctrl-Z, jobs, bg, kill, wait"
	check "no complaint about job control" test -z "$(grep -i 'no job control' "$OUT")"
	inside -- bash -c \
		'set -m; tail -f /dev/null & p=$!; kill -STOP %1; kill -KILL %1; while wait $p; s=$?; [ $s = 147 ]; do :; done; echo $s'
	check "job control without a terminal" grep -q 137 "$OUT"
}

shell()
{
	inside -- bash -c 'seq 1 1000 | sort -rn | head -3 | tr "\n" ,; echo; cat < <(echo sub)
		x=$(mktemp); cat <<<"here" >$x; cat $x
		coproc cat; echo co >&"${COPROC[1]}"; read -r y <&"${COPROC[0]}"; echo $y
		printf "%(%Y)T\n" 0; echo {a,b}{1,2}; [[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}'
	prints $'1000,999,998,\nsub\nhere\nco\n1970\na1 a2 b1 b2\nc' \
		"bash: pipes, substitution, coprocesses"
	inside -- bash -c 'tail -f /dev/null & p=$!; trap "kill $p; echo trapped" EXIT; exit 4'
	exits 4 "traps"
	inside -- sh -ec 'mkdir -p a/b; echo x >a/b/c; tar czf t.tgz a; rm -r a; tar xzf t.tgz
		cat a/b/c; find . -name c -exec wc -c {} +; cp -a a d; diff -r a d && echo same
		du -s a >/dev/null; stat -c %U a'
	prints $'x\n2 ./a/b/c\nsame\nuser' "tar, find, cp -a, diff, stat"
	inside -- sh -ec 'printf "b 2\na 1\n" | awk "{s += \$2} END {print s}"
		echo hello | sed s/l/L/g; date -u -d @0 +%F; echo x | sha256sum | cut -c1-8
		timeout 0.1 tail -f /dev/null || echo $?'
	prints $'3\nheLLo\n1970-01-01\n73cb3858\n124' "awk, sed, date, sha256sum, timeout"
}

system()
{
	inside -- ps -ef
	check "ps shows itself and not the host" test "$(grep -c . "$OUT")" -le 5 -a \
		"$(grep -c 'ps -ef' "$OUT")" = 1
	inside -- free -k
	check "free tells the limit" test "$(awk '/^Mem:/ {print $2}' "$OUT")" -le 524288
	inside -- top -b -n 1
	check "top -b" grep -q '%Cpu' "$OUT"
	inside -- nproc
	check "nproc" test "$(cat "$OUT")" -ge 1
	inside --memory 256M -- awk '/MemAvailable/ {print $2}' /proc/meminfo
	check "available memory is not more than the limit" test "$(cat "$OUT")" -le 262144
	inside -- sh -c 'df -k ~ | tail -1'
	check "df" test "$(awk '{print $2}' "$OUT")" -gt 1000
	inside -- sh -c \
		'uptime >/dev/null && uname -a >/dev/null && id >/dev/null && getconf PAGESIZE'
	check "uptime, uname, id, getconf" grep -qE '^[0-9]+$' "$OUT"
	inside -- pgrep -c sh
	check "pgrep" test "$RC" -le 1
}

languages()
{
	if needs perl "perl"; then
		inside -- perl -MSocket -MPOSIX -e 'my $p = fork; if (!$p) { exit 3 } waitpid $p, 0;
			print $? >> 8, " "; socketpair my $a, my $b, AF_UNIX, SOCK_STREAM, 0;
			syswrite $a, "pair"; sysread $b, my $x, 9; print "$x\n"'
		prints "3 pair" "perl"
	fi
	if needs java "java"; then
		inside --time 50s --memory 1G -- java -version
		exits 0 "java -version"
		says 'version|openjdk' "java says who it is"
		if needs javac "javac"; then
			printf '%s\n' 'public class A {' \
				'public static void main(String[] a) throws Exception {' \
				'Thread t = new Thread(() -> System.out.println(6 * 7));' \
				't.start(); t.join(); } }' >"$W/A.java"
			own "$W"
			inside --time 50s --memory 1G --dir "$W" -- java /work/A.java
			prints 42 "a Java program with a thread"
		fi
	fi
}

checks()
{
	jobs_on_terminal
	shell
	system
	languages
}

run_checks
