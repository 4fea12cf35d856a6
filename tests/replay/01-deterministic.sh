#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --deterministic: what can be pinned is, and no protection is weaker for it.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

STATUS='grep -E "^(Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups)" /proc/self/status
	cat /proc/self/attr/current 2>/dev/null; grep -Evc " /proc/(loadavg|uptime) " /proc/self/mountinfo; ulimit -a
	unshare -U true 2>&1; echo x 2>&1 >/etc/pinned; echo x 2>&1 >/etc/ld.so.preload; touch /usr/x 2>&1'

PORTS='import multiprocessing as m, random, socket
def f(q, i):
    random.seed()
    q.put((i, random.random()))
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
print(s.getsockname(), s.accept()[1])
q = m.Queue()
for p in [m.Process(target=f, args=(q, i)) for i in range(4)]:
    p.start()
print(sorted(q.get() for i in range(4)))'

POOL='import multiprocessing as m
def f(i):
    sum(range(200000))
    return m.current_process().name
print(len(set(m.Pool(4).map(f, range(8), chunksize=1))))'

NAMES='import ctypes, os
c = ctypes.CDLL(None)
c.opendir.restype = c.readdir.restype = ctypes.c_void_p
c.telldir.restype = ctypes.c_long
os.mkdir("d")
for i in range(1099, 999, -1):
    open("d/%d" % i, "w")
d = ctypes.c_void_p(c.opendir(b"d"))
def names(n):
    return [ctypes.string_at(c.readdir(d) + 19).decode() for i in range(n)]
first = names(52)
at = c.telldir(d)
rest = names(50)
assert not c.readdir(d)
c.seekdir(d, ctypes.c_long(at))
assert names(50) == rest
c.rewinddir(d)
assert names(52) == first
for n in first[2:] + rest:
    os.remove("d/" + n)
assert names(50) == rest and not c.readdir(d)
c.rewinddir(d)
assert names(2) == [".", ".."] and not c.readdir(d) and c.closedir(d) == 0
print(*first[2:] + rest)'

# How long a child took does not go by how often its parent woke, nor a lock by who had it.
LOOKS='import subprocess, threading, time
def took(f):
    begin = time.time_ns()
    f()
    return time.time_ns() - begin
def run(i, **limit):
    # The ends of its pipes come one by one, or at once. Whose sleep it waits for is no child of its own.
    both = ["exec 2>&-", "read x </tmp/p"]
    subprocess.run("; ".join(["(sleep 0.03 >/tmp/p 2>/dev/null &)"] + both[::1 if i % 2 else -1]),
        shell=True, capture_output=True, **limit)
subprocess.run(["mkfifo", "/tmp/p"])
lock = threading.Lock()
def many():
    for i in range(50):
        with lock:
            pass
print(len({took(lambda: run(i)) for i in range(6)}),
    # It looks for the end of one with a time limit, and sleeps between, so the shortest count.
    len({min(took(lambda: run(i, timeout=20)) for n in range(5)) for i in range(2)}),
    took(many) == took(lambda: None))'

# same_twice NAME [OPTION...]: two runs print the same.
same_twice()
{
	local name=$1 first

	shift
	inside --deterministic "$@"
	first=$OUT
	exits 0 "$name"
	inside --deterministic "$@"
	check "$name, once more" cmp "$first" "$OUT"
}

pinned()
{
	same_twice "a program that looks at everything" --lang python "$TEST_DIR/probe.py"
	check "it begins on a fixed day" grep -q '^2026-01-01T00:00:00' "$OUT"
	# Node 18 looks at its clock now two times more, now two less, before it begins (docs/replay.md).
	same_twice "another language" --lang node -c \
		'console.log(Date.now(), Math.random(), require("crypto").randomUUID());
		if (parseInt(process.versions.node) >= 20) console.log(process.hrtime());
		setTimeout(() => console.log(Date.now()), 50)'
	same_twice "times of files, in node" --lang node -c 'const fs = require("fs"); fs.writeFileSync("x", "");
		console.log(fs.statSync("x").mtimeMs)'
	same_twice "ports, and children that start threads" --lang python -c "$PORTS"
	same_twice "what the machine has to do, and how much memory it took" -- sh -c 'ls -ld /proc; ps aux
		cat /proc/uptime /proc/self/stat /proc/self/statm /proc/self/status'
	same_twice "the order of names on a disk" --disk 1G -- sh -c 'mkdir d; for i in 1 2 3 4 5 6 7 8 9; do echo >d/$i; done
		ls -U d; find d; tar c d | sha256sum; cat /proc/vmstat'
	check "it is theirs" test "$(head -9 "$OUT" | tr -d '\n')" = 123456789
	inside --deterministic --lang python -c "$NAMES"
	prints "$(seq 1000 1099 | tr '\n' ' ' | sed 's/ $//')" "many names, gone back to, and removed meanwhile"
	inside --deterministic --lang python -c "$POOL"
	prints 4 "every worker of a pool gets some of the tasks"
	inside --deterministic -- perl -MTime::HiRes=nanosleep,alarm -e '$SIG{ALRM} = sub {}; alarm 0.2; print nanosleep(1e9), "\n"'
	prints 200000000 "a sleep that an alarm ends has lasted to the alarm"
	same_twice "four that make starts at once" -- sh -c 'printf "all: a b c d\n%%:\n\tcat %s >\$@; date +%%N >>\$@\n" \
		/proc/sys/kernel/random/uuid >Makefile; make -s -j4; cat a b c d'
	check "each has its own numbers" test "$(grep -c - "$OUT")" = "$(grep - "$OUT" | sort -u | wc -l)"
	same_twice "without a variable" -- env -i /bin/date +%s.%N
	inside --deterministic -- sh -c 'a=$(date +%s); sleep 1; b=$(date +%s); echo $((b - a))'
	prints 1 "what was slept has passed"
	same_twice "addresses and devices" -- cat /proc/self/maps
	check "as they are there" grep -qE '^[0-9a-f]+-[0-9a-f]+ r-xp [0-9a-f]{8} 00:0[1-9] [0-9]+ {10,}/usr/' "$OUT"
	inside --deterministic --env TZ=Asia/Tokyo -- sh -c 'echo $TZ $PYTHONHASHSEED $(hostname)'
	prints "Asia/Tokyo 0 pinned" "a variable of the caller's wins"
	same_twice "make and cc" --lang bash -c 'printf "a: a.c\n\tcc -o a a.c\n" >Makefile
		printf "#include <stdio.h>\nint main(void){puts(__TIME__);}\n" >a.c; make && ./a && make
		touch a.c && make && tar c a a.c | sha256sum'
	check "make builds again what is newer" test "$(grep -c '^cc -o' "$OUT")" = 2
}

clocks()
{
	inside --deterministic --lang python -c "$LOOKS"
	prints "1 1 True" "how often a program of Python's waits for a child or takes a lock is no time"
	needs gcc "clocks.c" || return
	mkdir -p "$W/dir" && cc -Wall -O1 -o "$W/dir/clocks" "$TEST_DIR/clocks.c" -pthread && own "$W/dir" "$W/dir/clocks"
	inside --deterministic --dir "$W/dir" -- /work/clocks alarms
	prints "0 20000 0" "no alarm has rung before its time, and none is left of one that has"
	inside --deterministic --dir "$W/dir" -- /work/clocks order
	check "who sleeps until earlier gets up first" test "$(head -1 "$OUT")" = "190 ms"
	same_twice "other ways to the clock and to random bytes" --dir "$W/dir" -- /work/clocks devices
}

# What holds is what holds without it.
protections()
{
	local plain

	inside -- sh -c "$STATUS"
	plain=$(cat "$OUT")
	inside --deterministic -- sh -c "$STATUS"
	is "$(cat "$OUT")" "$plain" "rights, filter and limits are those of any run [$MODE]"
	inside_json --deterministic -- sh -c 'rm -f /run/pinned; date >/dev/null; echo x >/run/pinned; date'
	json_has 'd["status"] == "exited" and "2026" in d["stdout"]["text"]' "who breaks the table breaks nothing"
	inside -- sh -c 'ls /etc/pinned* /run/pinned /etc/ld.so.preload 2>&1 | grep -vc "No such"'
	prints 0 "an ordinary run has none of it"
}

refused()
{
	inside --deterministic --isolation landlock -- true
	refuses unsupported deterministic "at level landlock"
	inside --deterministic --detach -- true
	refuses unsupported deterministic "with --detach"
}

with_daemon()
{
	local alone

	inside --deterministic --no-daemon --lang python "$TEST_DIR/probe.py"
	alone=$OUT
	daemon_start --warm 1 --warm-python 1 --warm-r 0
	inside --deterministic --daemon --limits best-effort --lang python "$TEST_DIR/probe.py"
	check "the daemon's is the same" cmp "$alone" "$OUT"
	daemon_stop
}

checks()
{
	pinned
	clocks
	protections
	refused
	with_daemon
}

run_checks
