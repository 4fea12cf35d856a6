#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A Python that waited is to a program what a fresh one is, and no two are alike.
# PINFOLD_TEST_SIBLINGS: how many are compared. Each is made at low priority, which beside other tests takes long.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

SIBLINGS=${PINFOLD_TEST_SIBLINGS:-10}

python()
{
	waited python "$@"
}

# alike NAME ARG...: the same status and output as without the daemon.
alike()
{
	local name=$1 cold

	shift
	inside_json --no-daemon "${BEST[@]}" --lang python "$@"
	cold="$RC $(json 'd["status"], d["exit_code"], d["signal"], d["stdout"]["text"], d["stderr"]["text"]')"
	python "$@"
	json_is interpreter 'd["start"]' "$name: it waited"
	check "$name: the same as a fresh one" test \
		"$RC $(json 'd["status"], d["exit_code"], d["signal"], d["stdout"]["text"], d["stderr"]["text"]')" \
		= "$cold"
}

same_program()
{
	cat >"$W/program.py" <<-'END'
		import os, sys
		print(sys.argv, sys.orig_argv, sys.path, __file__, __name__, __spec__, sorted(globals()), os.getcwd())
		def fail():
		    raise ValueError("x")
		fail()
	END
	own "$W/program.py"
	alike "a file, with arguments and a traceback" "$W/program.py" a 'b c'
	alike "code, its names and streams" -c '
import os, sys
print(sys.argv, sys.orig_argv[3:], sys.path, __name__, sorted(globals()), sys.flags)
for s in (sys.stdin, sys.stdout, sys.stderr):
    print(s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.fileno(), s.isatty(), s.newlines)
print(sorted(os.listdir("/proc/self/fd")), os.environ, os.getcwd(), os.getpgid(0) == os.getpid())
print(sys.stdin.read(), file=sys.stderr)
sys.exit(3)' x y
	alike "a variable" --env KEY=value --workdir /tmp -c 'import os; print(os.environ["KEY"], os.getcwd())'
	alike "a syntax error" -c 'x ='
	alike "an exit with words" -c 'raise SystemExit("words")'
	alike "an interrupt" -c 'raise KeyboardInterrupt'
	alike "a signal" -c 'import os; os.kill(os.getpid(), 9)'
	alike "handlers at the end" -c '
import atexit, threading
class C:
    def __del__(self): print("deleted")
c = C()
atexit.register(print, "at exit")
threading.Thread(target=lambda: print("thread")).start()'
	alike "a nested exception" -c '
try:
    1 / 0
except ZeroDivisionError as e:
    raise KeyError("k") from e'
	alike "processes" -c '
import multiprocessing as m
def f(x): return x * x
if __name__ == "__main__":
    with m.Pool(2) as p: print(p.map(f, range(5)))'
	alike "signals and limits" -c '
import resource, signal
print([signal.getsignal(s) for s in (2, 13, 15)], signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([resource.getrlimit(i) for i in range(10)], open("/proc/self/status").read().split("CapInh")[1][:400])'
	alike "no text" -c ''
}

siblings()
{
	local i

	: >"$W/seen"
	for ((i = 0; i < SIBLINGS; i++)); do
		python -c '
import hashlib, os, random, secrets, sys, tempfile, time, uuid
maps = open("/proc/self/maps").read().split("\n")
print(random.random(), uuid.uuid4(), uuid.uuid1(), secrets.token_hex(8), os.urandom(8).hex(),
      tempfile.mktemp(), hash("x"), id(object()),
      [m for m in maps if "libc.so" in m][0].split("-")[0], [m for m in maps if "stack" in m][0].split("-")[0],
      os.uname().nodename, sep="\n")'
		json 'd["stdout"]["text"].replace("\n", " ") + "\n"' >>"$W/seen"
	done
	check "$SIBLINGS of them, no two alike in anything" /usr/bin/python3 -I -c '
import sys
rows = [l.split() for l in open(sys.argv[1])]
assert len(rows) == int(sys.argv[2]) and all(len(r) == 11 for r in rows), rows[:2]
for i, column in enumerate(zip(*rows)):
    # They are forks: addresses and the hash seed are those of their zygote.
    assert len(set(column)) == len(rows) or 6 <= i < 10, (i, sorted(column)[:6])
' "$W/seen" "$SIBLINGS"
}

other_ways()
{
	local began took

	wait_for 5 waiting_beyond $((WARM - 1))
	inside_json --daemon "${BEST[@]}" --env PYTHONOPTIMIZE=1 --lang python -c 'assert False; print(1)'
	json_is warm 'd["start"]' "a variable that shapes the start gets another"
	json_is 1 'd["stdout"]["text"].strip()' "and has its effect"
	wait_for 5 waiting_beyond $((WARM - 1))
	inside_json --daemon "${BEST[@]}" -- python3 -c 'print(1)'
	json_is warm 'd["start"]' "a command is not a program"
	python -c 'import sys; print("statistics" in sys.modules)'
	json_is True 'd["stdout"]["text"].strip()' "the usual modules are there"
	wait_for 5 waiting_beyond $((WARM - 1)) # they wait for longer than the call takes
	began=${EPOCHREALTIME/[.,]/}
	inside_json --daemon "${BEST[@]}" --lang python -c 'pass'
	took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
	json_has 'd["usage"]["wall_ms"] <= int(a[0])' "the time that it waited does not count" "$took"
}

for_each_guest()
{
	local guest

	for guest in $(guests); do
		"$1" "$guest"
	done
}

# are_dead PID...: their descriptors are closed, whoever has to reap them.
are_dead()
{
	local pid

	for pid; do
		[ ! -e "/proc/$pid" ] || grep -sq '^State:.[ZX]' "/proc/$pid/status" || return 1
	done
}

# An interpreter that died while it waited is no harm.
dead_driver()
{
	local pids

	wait_for 5 waiting_beyond $((WARM - 1))
	pids=$(for_each_guest children_of)
	kill -9 $pids 2>/dev/null
	wait_for 5 are_dead $pids # a moment after the signal it could still be given a program
	inside_json --daemon "${BEST[@]}" --lang python -c 'print(6 * 7)'
	json_is 42 'd["stdout"]["text"].strip()' "the interpreter was killed while it waited"
}

checks()
{
	daemon_mode
	WARM=3
	daemon_start --warm 1 --warm-python 2
	check "they wait" wait_for 20 waiting_is $WARM
	same_program
	siblings
	other_ways
	dead_driver
	daemon_stop
	exits 0 "it ends"
	check "nothing is left" nothing_left
}

run_checks
