#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: fork-rights, fork-landlock, fork-fds, zygote-pids
#
# Group M: what a program could do from a Python that waited to the one after it, or to the zygote that
# root's are forked from. 01-siblings.sh has M01, M02 and M06.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

WARM=2

python()
{
	waited python "$@"
}

zygote()
{
	pgrep -P "$DAEMON" -x pinfold-zygote
}

# waiting_pythons: their pids on the host.
waiting_pythons()
{
	local guest

	for guest in $(guests); do
		children_of "$guest"
	done
}

# Counted, not only their guests.
pythons_wait()
{
	waiting_is $WARM && [ "$(waiting_pythons | wc -w)" = $WARM ]
}

# M03: what a program leaves in every place that it can write to, and the next one finds.
leftovers()
{
	python -c '
import ctypes, mmap, os, random, signal, socket, sys, time
for d in ("/tmp", "/dev/shm", "/run", "/home/user", "/var/tmp"):
    open(d + "/canary", "w").write("x")
os.environ["CANARY"] = "x"; os.chdir("/tmp"); os.umask(0); random.seed(1); sys.path.append("/canary")
signal.signal(signal.SIGUSR1, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, [10]); signal.setitimer(0, 99)
s = socket.socket(socket.AF_UNIX); s.bind("\0canary"); s.listen()
libc = ctypes.CDLL(None); libc.shmget(4711, 4096, 0o1666); libc.prctl(15, b"canary"); os.nice(5)
import json; json.canary = 1; sys.modules["canary"] = sys
if os.fork() == 0: os.setsid(); time.sleep(60)
print(1)'
	json_is 1 'd["stdout"]["text"].strip()' "M03: one leaves things everywhere"
	python -c '
import ctypes, json, os, random, signal, socket, sys
bad = [d for d in ("/tmp", "/dev/shm", "/run", "/home/user", "/var/tmp") if os.path.exists(d + "/canary")]
bad += [k for k in os.environ if k == "CANARY"] + [m for m in sys.modules if m == "canary"]
bad += [x for x in (hasattr(json, "canary"), "/canary" in sys.path, signal.getsignal(10) != signal.SIG_DFL,
        signal.pthread_sigmask(0, []) and "mask", signal.getitimer(0)[0], os.getcwd() != "/home/user", os.umask(0) != 0o22,
        os.nice(0) != '"$(nice)"', "canary" in open("/proc/self/comm").read(), "@canary" in open("/proc/net/unix").read(),
        ctypes.CDLL(None).shmget(4711, 4096, 0) >= 0, len([p for p in os.listdir("/proc") if p.isdigit()]) != 2) if x]
random_state = random.random(); random.seed(1); bad += ["seed"] * (random_state == random.random())
print(bad)'
	json_is '[]' 'd["stdout"]["text"].strip()' "M03: the next one finds none of it"
}

# M04: one gets a secret, the next looks for it in all of its memory.
secrets()
{
	python --env SECRET=canary-4-canary-of-the-first -c 'import os; x = os.environ["SECRET"] * 2; print(len(x))'
	python -c '
import re
word = b"canary-4-" + b"canary-of-the-first"
found = read = 0
for line in open("/proc/self/maps"):
    at, end = (int(x, 16) for x in line.split()[0].split("-"))
    if line.split()[1][0] != "r" or "[v" in line: continue
    with open("/proc/self/mem", "rb") as mem:
        mem.seek(at)
        data = mem.read(end - at)
    read += len(data)
    found += data.count(word)
print(found <= 1 and "[heap]" in open("/proc/self/maps").read(), read > 5000000, found)'
	json_has '"True True" in d["stdout"]["text"] and int(d["stdout"]["text"].split()[2]) <= 2' \
		"M04: no secret of another in its memory"
}

# M05: the zygote is out of reach, and outlives what is done to its forks.
reach()
{
	local before

	before=$(children_of "$(zygote)")
	python --env "PIDS=$(echo "$before $(zygote)" | tr ' \n' ',,')" -c '
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
hits = []
for pid in list(range(3, 400)) + [2 ** i for i in range(9, 22)] + list(range(1000, 70000, 7)) + [-3]:
    try: os.kill(pid, 9); hits.append(pid)
    except OSError: pass
for pid in (int(p) for p in os.environ.get("PIDS", "").split(",") if p):
    try: os.kill(pid, 9); hits.append(pid)
    except OSError: pass
    if libc.ptrace(16, pid, 0, 0) == 0: hits.append(pid)
try: signal.signal(15, signal.SIG_IGN); os.kill(-1, 15)
except OSError: pass
print(hits, sorted(int(p) for p in os.listdir("/proc") if p.isdigit()),
      [os.readlink(f)[:6] for f in ("/proc/self/fd/" + n for n in os.listdir("/proc/self/fd"))
       if os.path.lexists(f)].count("socket"))'
	check "M05: nobody else is there to be signalled or traced" test "$(json 'd["stdout"]["text"].strip()')" = "[] [1, 2] 0"
	check "M05: the zygote is the same" test "$(children_of "$(zygote)")" = "$before"
	python -c '
import os, time
n = 0
try:
    while True:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        n += 1
except OSError: print(n)'
	json_has '0 < int(d["stdout"]["text"]) <= 128' "M05: a bomb in a fork meets its own limit"
	python -c 'print(6 * 7)'
	json_is 42 'd["stdout"]["text"].strip()' "M05: and the next is forked as ever"
}

# M05: a bomb that is still there, in one, keeps no other from being forked. The first were waiting already.
beside_a_bomb()
{
	local i forked=

	inside_start BOMB --daemon "${BEST[@]}" -- /usr/bin/python3 -c '
import os, time
try:
    while True:
        if os.fork() == 0: time.sleep(60); os._exit(0)
except OSError: print("holds", flush=True)
time.sleep(60)'
	wait_for 60 grep -q holds "$BOMB_OUT"
	for i in 1 2 3 4 5; do
		python -c '
import os
try: os.open("/proc/self/exe", os.O_RDONLY); print("started")
except PermissionError: print("forked")'
		forked+=$(json 'd["stdout"]["text"].strip()')
	done
	check "M05: nor does one that goes on keep others from it: $forked" test "${forked: -18}" = forkedforkedforked
	kill "$BOMB_PID"
	inside_wait BOMB
}

# What a fork still has of where it came from: files of the zygote's tree.
origin()
{
	python -c '
import os
def attempt(call, *args):
    try: call(*args); return "done"
    except OSError as e: return "refused"
maps = os.listdir("/proc/self/map_files")
print(attempt(os.open, "/proc/self/exe", os.O_WRONLY), attempt(os.truncate, "/proc/self/exe", 0),
      {attempt(open, "/proc/self/map_files/" + m, "rb") for m in maps}, len(maps) > 5,
      os.path.realpath("/proc/self/root/.."), os.path.realpath("/proc/self/cwd/../../.."),
      [l for l in open("/proc/self/maps") if " rw-s " in l or " rwxs " in l],
      {l.split(None, 5)[5].strip().split("/")[1] for l in open("/proc/self/maps") if "/" in l})'
	check "no file of the zygote's can be written or mapped again" test "$(json 'd["stdout"]["text"].strip()')" = \
		"refused refused {'refused'} True / / [] {'usr'}"
	python -c '
import os
try: os.open("/proc/self/exe", os.O_RDONLY); print("opened")
except PermissionError: print("refused")
fd = os.open("/proc/self/exe", os.O_PATH)
try: os.open("/proc/self/fd/%d" % fd, os.O_RDONLY); print("opened")
except PermissionError: print("refused")
try: os.execv("/proc/self/exe", ["python3", "-c", "print(1)"])
except PermissionError: print("refused")'
	check "nor can one that all forks share be locked" test "$(json 'd["stdout"]["text"].split()')" = '["refused", "refused", "refused"]'
}

# forks_differ: sets BAD, in what the forks that wait are not where their guests are.
forks_differ()
{
	local pid guest ns

	BAD=
	for guest in $(guests); do
		pid=$(children_of "$guest" | tr -d ' ')
		[ -n "$pid" ] || BAD+=" none"
		for ns in user mnt pid net ipc uts cgroup; do
			[ "$(readlink "/proc/$pid/ns/$ns")" = "$(readlink "/proc/$guest/ns/$ns")" ] || BAD+=" $ns"
			[ "$(readlink "/proc/$pid/ns/$ns")" != "$(readlink "/proc/self/ns/$ns")" ] || BAD+=" host:$ns"
		done
		[ "$(readlink "/proc/$pid/ns/time")" = "$(readlink "/proc/$guest/ns/time_for_children")" ] || BAD+=" time"
		cmp -s "/proc/$pid/cgroup" "/proc/$guest/cgroup" || BAD+=" groups"
		[ "$(ls "/proc/$pid/fd" | tr '\n' ' ')" = "0 1 100 2 " ] || BAD+=" fds:$(ls "/proc/$pid/fd" | tr '\n' ' ')"
		grep -q '^Cap[A-Z][a-z]*:.*[1-9a-f]' "/proc/$pid/status" && BAD+=" caps"
		cmp -s <(grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Seccomp_filters):' "/proc/$pid/status") \
			<(grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Seccomp_filters):' "/proc/$guest/status") || BAD+=" ids"
	done
	[ -n "$BAD" ]
}

forks_are_in()
{
	! forks_differ
}

# Seen from the host: the fork is where the guest is, in everything, and nowhere else. One that has just come
# still gives up what it came with; nobody's program is there before it is done.
outside()
{
	wait_for 30 pythons_wait
	wait_for 20 forks_are_in
	check "where the guest is in everything, and without any right:$BAD" test -z "$BAD"
}

# M02: another zygote, other addresses.
renewal()
{
	local first

	python -c 'print([l for l in open("/proc/self/maps") if "libc.so" in l][0].split("-")[0], hash("x"))'
	first=$(json 'd["stdout"]["text"]')
	kill -HUP "$DAEMON"
	wait_for 10 waiting_is $WARM
	python -c 'print([l for l in open("/proc/self/maps") if "libc.so" in l][0].split("-")[0], hash("x"))'
	check "M02: another zygote, other addresses and another hash seed" test "$first" != "$(json 'd["stdout"]["text"]')"
}

# A zygote that dies is replaced; nobody notices.
death()
{
	kill -9 "$(children_of "$(zygote)" | tr -d ' ')"
	python -c 'print(6 * 7)'
	json_is 'interpreter 42' '"%s %s" % (d["start"], d["stdout"]["text"].strip())' "the zygote was killed"
	wait_for 10 waiting_is $WARM
	python -c 'print(6 * 7)'
	python -c 'print(6 * 7)'
	python -c 'print(6 * 7)'
	json_is 'interpreter 42' '"%s %s" % (d["start"], d["stdout"]["text"].strip())' "and another takes its place"
}

all_gone()
{
	local pid

	for pid in "$@"; do
		[ ! -e "/proc/$pid" ] || return 1
	done
}

# The warden is killed: so are the zygote and its forks.
orphans()
{
	local pids

	daemon_start --warm 0 --warm-python $WARM
	wait_for 30 pythons_wait
	pids="$(guests) $(zygote) $(children_of "$(zygote)") $(waiting_pythons)"
	check "all of them are there" test "$(wc -w <<<"$pids")" = $((2 * WARM + 2))
	kill -9 "$DAEMON"
	wait "$DAEMON_CALL" 2>/dev/null
	forget_report '^signal 9' # that was us
	# shellcheck disable=SC2086
	check "the warden is killed, and nobody outlives it" wait_for 10 all_gone $pids
	daemon_start --warm 0 --warm-python 0
	daemon_stop
}

# young_zygote: a daemon whose zygote has only just started its Python, which stands still: sets YOUNG. What Python
# does by itself when it has begun has not been done yet, if we were quick.
young_zygote()
{
	local until=$((SECONDS + 60)) init= command

	daemon_start --warm 0 --warm-python $WARM
	YOUNG=
	while [ -z "$YOUNG" ] && [ $SECONDS -lt $until ]; do
		for command in /proc/"$DAEMON"/task/*/children; do
			for init in $(<"$command"); do
				[ "$(<"/proc/$init/comm")" = pinfold-zygote ] && read -r YOUNG _ <"/proc/$init/task/$init/children"
			done
		done 2>/dev/null
	done
	kill -STOP $YOUNG
}

# A Python that is about to be a zygote ends with the warden, too, although it is in no namespace that ends.
young()
{
	local i gone=0

	for i in 1 2 3 4 5; do
		young_zygote
		kill -9 "$DAEMON"
		wait "$DAEMON_CALL" 2>/dev/null
		forget_report '^signal 9' # that was us
		wait_for 10 all_gone "${YOUNG:-1}" && ((gone++))
		kill -9 $YOUNG 2>/dev/null
	done
	check "the warden is killed before its zygote is one: $gone of 5 ended" test $gone = 5
}

checks()
{
	daemon_mode
	daemon_start --warm 0 --warm-python $WARM
	check "they wait" wait_for 30 waiting_is $WARM
	check "there is a zygote" test -n "$(zygote)"
	outside
	leftovers
	secrets
	reach
	beside_a_bomb
	origin
	renewal
	death
	daemon_stop
	exits 0 "it ends"
	young
	orphans
	check "nothing is left" nothing_left
}

run_checks
