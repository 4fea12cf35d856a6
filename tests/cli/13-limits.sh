#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every limit holds, and when it is hit the result says which, at what value, and what raises it.
. "$(dirname "$0")/../lib/cli.sh"

# Stays there, for limits that are looked at from time to time.
hungry='import signal; x = bytearray(300 << 20); signal.pause()'

# hit KIND VALUE UNIT OPTION NAME: the last document says that this limit was hit.
hit()
{
	document "$5"
	json_is "[\"$1\", $2, \"$3\"]" '[limit.get(k) for k in ("kind", "value", "unit")]' \
		"$5: limit"
	json_has 'a[0] in limit["hint"]' "$5: the hint names $4" "$4"
	check "$5: a line on standard error names it, too" grep -qE "^pinfold: limit $1: .*$4" \
		"$ERR"
}

times()
{
	inside_json --time 500ms -- tail -f /dev/null
	exits 124 "the time limit"
	hit time 500 ms --time "the time limit"
	json_has '490 <= d["usage"]["wall_ms"] < 10000' "it came at the time given"
	inside_json --time 300ms --grace 60s -- sh -c \
		'trap "echo saved; exit 0" TERM; while :; do :; done'
	exits 124 "a command that uses the grace"
	json_is saved 'd["stdout"]["text"].strip()' "it may save its work"
	json_has 'd["usage"]["wall_ms"] < 30000' "and is not waited for longer than it needs"
	inside_json --time 300ms --grace 400ms -- sh -c 'trap "" TERM; while :; do :; done'
	exits 124 "a command that ignores SIGTERM"
	json_has '690 <= d["usage"]["wall_ms"] < 15000' "is killed after the grace"
	inside --time 500ms --grace 200ms -- sh -c 'for i in 1 2 3 4 5; do (trap "" TERM HUP
		setsid tail -f /dev/null) & done; wait'
	exits 124 "processes in sessions of their own"
	inside --time 500ms --grace 200ms -- sh -c 'kill -STOP $$'
	exits 124 "a stopped command"
	inside_json --cpu-time 300ms -- sh -c 'while :; do :; done'
	exits 137 "the CPU time limit"
	json_is '["killed", null]' '[d["status"], d["exit_code"]]' "the CPU time limit"
	hit cpu_time 300 ms --cpu-time "the CPU time limit"
	inside_json --cpu-time 400ms -- sh -c '(while :; do :; done) & (while :; do :; done) & wait'
	exits 137 "the CPU time of all processes together"
	inside --cpu-time 1s --time 400ms -- tail -f /dev/null
	exits 124 "waiting costs no CPU time"
}

memory()
{
	inside_json --memory 64M -- /usr/bin/python3 -c "$hungry"
	exits 137 "the memory limit"
	json_is oom 'd["status"]' "the memory limit"
	hit memory 67108864 bytes --memory "the memory limit"
	[ "$(json 'd["limits"]["memory"]["held_by"]')" != cgroup ] ||
		json_has 'd["usage"]["memory_peak_bytes"] <= (66 << 20)' \
			"the peak stays below the limit"
	inside_json --memory 64M -- sh -c '/usr/bin/python3 -c "$1"; echo went on' sh "$hungry"
	exits 137 "a child over the limit ends the run"
	inside --memory 256M -- /usr/bin/python3 -c 'x = bytearray(100 << 20); print(len(x) >> 20)'
	prints 100 "below it all is well"
	if needs java "the hint for java"; then
		inside_json --memory 48M -- java -Xms200m -XX:+AlwaysPreTouch -version
		json_has '"-Xmx" in limit["hint"]' "java does not look at the limit, which the hint says"
	fi
	[ "$MODE" = R ] || return
	inside_json --memory 64M --disk 32M -- /usr/bin/python3 -c '
x = bytearray(25 << 20)
f = open("/tmp/f", "wb")
for i in range(30): f.write(bytes(1 << 20))
y = bytearray(25 << 20)
print("survived")'
	exits 137 "files in memory count as memory"
}

counts()
{
	inside_json --pids 12 -- /usr/bin/python3 -c '
import os, select
try:
    while True:
        if os.fork() == 0: select.select([], [], [])
except BlockingIOError: print("EAGAIN")
select.select([], [], [], 0.3)'
	json_is EAGAIN 'd["stdout"]["text"].strip()' "the limit of processes: fork fails"
	hit pids 12 processes --pids "the limit of processes"
	json_has 'd["usage"]["processes_peak"] <= 13' "no more were there"
	inside_json --pids 12 -- sh -c \
		'i=0; while [ $i -lt 40 ]; do tail -f /dev/null & i=$((i+1)); done'
	json_is pids 'limit.get("kind")' "a command that gives up at once: limit"
	inside_json --pids 2 -- sh -c '/bin/true; /bin/true'
	[ "$MODE" = U ] || json_has 'd["limit"] is None' "as many as it may be are not too many"
	inside --pids 40 -- sh -c \
		'i=0; while [ $i -lt 30 ]; do tail -f /dev/null & i=$((i+1)); done; echo $i'
	prints 30 "below it all is well"
	inside --nofile 20 -- /usr/bin/python3 -c '
import errno
try:
    files = [open("/dev/null") for i in range(30)]
except OSError as e:
    print(errno.errorcode[e.errno])'
	prints EMFILE "the limit of open files"
	inside --nofile 20 -- sh -c 'ulimit -n 4096 2>/dev/null; ulimit -n'
	prints 20 "which cannot be raised inside"
	inside --nofile 8 --pty -- sh -c 'ulimit -n; ulimit -Hn'
	prints $'8\r\n8\r' "the fewest open files, with a terminal"
	inside --nofile 8 --user root -- sh -c 'ulimit -Hn'
	[ "$RC" = 125 ] && grep -q '^pinfold: unsupported' "$ERR" ||
		prints 8 "the fewest open files, as root"
}

disk()
{
	inside_json --disk 2M -- sh -c 'head -c 10M /dev/zero >big; echo $?; stat -c %s big'
	json_has \
		'out.split()[0] != b"0" and int(out.split()[1]) == 2 << 20' \
		"the disk limit: ENOSPC, and what fits is there"
	hit disk 2097152 bytes --disk "the disk limit"
	json_has '(1 << 20) <= d["usage"]["disk_bytes"] <= (3 << 20)' "the use is told"
	json_has 'len(files["/home/user/big"]["sha256"]) == 64' "and what the file that filled it holds"
	inside_json --disk 64k -- sh -c 'head -c 40k /dev/zero >some; head -c 64k /dev/zero >/tmp/big
		stat -c %s some /tmp/big'
	json_is '40960 24576 disk' '" ".join(out.decode().split()) + " " + limit.get("kind")' \
		"the least disk is all there"
	inside_json --disk 64k -- sh -c 'head -c 40k /dev/zero >some'
	json_has 'd["limit"] is None' "and not full before it is"
	inside_json --disk 2M -- sh -c \
		'for d in ~ /tmp /dev/shm /run; do head -c 1M /dev/zero >$d/x; done
		df -k --output=used /tmp | tail -1'
	json_has 'limit.get("kind") == "disk"' "all places share it"
	inside --disk 4M -- sh -c \
		'head -c 2M /dev/zero >big && rm big && head -c 3M /dev/zero >big && echo ok'
	prints ok "what is removed is free again"
	inside --disk 512K -- /usr/bin/python3 -c '
import errno
try:
    for i in range(5000): open(f"f{i}", "w").close()
except OSError as e:
    print(errno.errorcode[e.errno])'
	prints ENOSPC "empty files count, too"
	inside_json --memory 64M --disk 100M -- sh -c 'head -c 80M /dev/zero >big && stat -c %s big'
	if [ "$RC" = 125 ]; then
		json_has \
			'd["error"]["code"].startswith("unsupported") and
			"--disk" in d["error"]["message"] and "--memory" in d["error"]["remedy"]' \
			"more disk than memory: refused with a remedy"
		return
	fi
	document "more disk than memory"
	json_is 83886080 'd["stdout"]["text"].strip()' "more disk than memory can be used"
	silent "more disk than memory: nothing on standard error"
	inside_json --memory 64M --disk 100M -- sh -c 'head -c 200M /dev/zero >big; stat -c %s big'
	hit disk 104857600 bytes --disk "more disk than memory"
	json_has '(90 << 20) < int(out) <= (105 << 20)' "and has its limit, too"
	[ "$(json 'd["limits"]["disk"]["held_by"]')" = quota ] || return
	inside_json --memory 64M --disk 100M -- sh -c 'df --output=fstype /tmp /run /dev/shm | sort -u
		head -c 40M /dev/zero >/tmp/big; stat -c %s /tmp/big'
	json_has 'out.split()[:2] == [b"Type", b"tmpfs"] and (31 << 20) < int(out.split()[2]) <= (33 << 20)' \
		"/tmp, /run and /dev/shm are memory all the same"
	hit disk 33554432 bytes --memory "a full /tmp beside a volume"
}

rate()
{
	inside_json --cpus 0.25 --time 1200ms --grace 100ms -- sh -c 'while :; do :; done'
	if [ "$(json 'd["limits"]["cpus"]["held_by"]')" = cgroup ]; then
		json_has 'd["usage"]["cpu_ms"] <= 0.25 * d["usage"]["wall_ms"] + 200' "the CPU rate"
	else
		json_is absent 'd["limits"]["cpus"]["held_by"]' \
			"the CPU rate cannot be held, which is said"
	fi
}

# Keyrings count per user of the host. That of a sandbox that is gone is given back late, so many
# short runs can use all of them up for a moment.
keyrings()
{
	local holder

	[ "$MODE" = U ] || return
	holder=("$LAUNCHER" -t 20 -d "$W")
	[ "$EUID" = 0 ] && holder+=(-u "$USER_ID")
	"${holder[@]}" -- /usr/bin/python3 -I -c '
import ctypes, os, platform, sys, time
add_key = 248 if platform.machine() == "x86_64" else 217
call = ctypes.CDLL(None, use_errno=True).syscall
n = 0
while call(add_key, b"user", b"pinfold-test-%d" % n, b"x", 1, -2) >= 0 and n < 5000:
    n += 1
print(ctypes.get_errno(), flush=True)
time.sleep(0.7)' >"$EVIDENCE/keys" &
	wait_for 10 test -s "$EVIDENCE/keys"
	if [ "$(cat "$EVIDENCE/keys")" != 122 ]; then
		skip "a user without keyrings left" "they have no quota here"
		wait $!
		return
	fi
	# As after a login; who has no keyring of his session is never refused one.
	CALL_WRAP=(/usr/bin/python3 -I -c '
import ctypes, os, platform, sys
keyctl = 250 if platform.machine() == "x86_64" else 219
ctypes.CDLL(None).syscall(keyctl, 1, None)
os.execv(sys.argv[1], sys.argv[1:])')
	inside -- echo ran
	CALL_WRAP=()
	wait $!
	prints ran "a user without keyrings left: it waits for one"
}

# The soft limit of whoever calls is not ours.
few_files()
{
	CALL_OUTER=(sh -c 'ulimit -S -n 24; exec "$@"' sh)
	inside -- sh -c 'ulimit -n'
	CALL_OUTER=()
	prints 1024 "a low soft limit of open files"
	CALL_OUTER=(sh -c 'ulimit -n 700; exec "$@"' sh)
	inside_json -- sh -c 'ulimit -n'
	CALL_OUTER=()
	json_is '[700, "700"]' '[d["limits"]["nofile"]["value"], out.decode().strip()]' \
		"a caller who may open fewer files: what is told is what holds"
	CALL_WRAP=(/bin/sh -c 'ulimit -s 64; exec "$@"' sh)
	inside -- echo ran
	CALL_WRAP=()
	refuses limit_exceeded "stack of 64 KiB" "a stack that is too small"
	CALL_OUTER=(sh -c 'ulimit -n 10; exec "$@"' sh)
	inside -- true
	CALL_OUTER=()
	exits 125 "a low hard limit of open files"
	check "a low hard limit: the remedy is no other one" test "$(grep -c memfd_noexec "$ERR")" = 0
}

strictness()
{
	local held

	inside_json --limits best-effort -- true
	exits 0 "best-effort runs"
	held=$(json 'd["limits"]["memory"]["held_by"]')
	if [ "$held" = cgroup ]; then
		check "where all limits hold nothing is said" test ! -s "$ERR"
		inside --limits strict -- true
		exits 0 "strict runs where all limits hold"
		return
	fi
	check "best-effort says so in one line" test \
		"$(grep -c '^pinfold: limits are best-effort' "$ERR")" = 1
	inside -- true
	exits 0 "best-effort is the default of an ordinary user"
	check "and says so" test "$(grep -c '^pinfold: limits are best-effort' "$ERR")" = 1
	inside --limits strict -- echo ran
	refuses unsupported memory "strict refuses to start where a limit cannot be held"
	says 'remedy: .*best-effort' "and names the way out"
	inside_json --limits strict -- true
	document "strict refuses"
}

# As in a container: what root is told is not that he should be root.
without_groups()
{
	local how

	[ "$MODE" = R ] && unshare -m true 2>/dev/null || return 0
	for how in 'read-only:cd /sys/fs/cgroup && for d in . */; do mountpoint -q "$d" &&
			mount -o remount,bind,ro "$d"; done; true' \
		'mounted on:mount -t tmpfs none /sys/fs/cgroup'; do
		CALL_OUTER=(unshare -m sh -c "(${how#*:}); exec \"\$@\"" sh)
		inside -- echo ran
		refuses unsupported "${how%%:*}" "root without control groups, ${how%%:*}"
		check "${how%%:*}: the remedy is another one" test -z "$(grep -F 'as root' "$ERR")"
		inside --limits best-effort -- echo ran
		prints ran "best-effort, ${how%%:*}"
		CALL_OUTER=()
	done
}

# As with docker run --read-only.
read_only()
{
	[ "$MODE" = R ] && unshare -m true 2>/dev/null || return 0
	CALL_OUTER=(unshare -m sh -c 'mount -t tmpfs -o ro none /run; exec "$@"' sh)
	inside -- echo ran
	refuses denied /run/pinfold "root with /run read-only"
	says '^pinfold: remedy: .*tmpfs' "with what helps"
	CALL_OUTER=(unshare -m sh -c 'mount -t tmpfs none /run; exec "$@"' sh)
	inside -- echo ran
	CALL_OUTER=()
	prints ran "root with another /run"
}

# A user's systemd that does not answer, and one that is gone: his limits are best-effort, as without one.
without_answer()
{
	local dir=$M/run/systemd

	[ "$MODE" = U ] && unshare -m mount --bind /sys/fs/cgroup/unified /sys/fs/cgroup 2>/dev/null || return 0
	mkdir -p "$dir"
	CALL_OUTER=(unshare -m sh -c 'mount --bind /sys/fs/cgroup/unified /sys/fs/cgroup; exec "$@"' sh)
	/usr/bin/python3 -I -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
time.sleep(600)' "$dir/private" &
	BACKGROUND+=($!)
	wait_for 30 test -S "$dir/private"
	own "$dir"
	inside -- echo ran
	prints ran "a systemd that does not answer"
	says 'limits are best-effort: memory polled.*systemd' "is said"
	kill $!
	wait $! 2>/dev/null
	inside -- echo ran
	prints ran "one that is gone"
	says 'limits are best-effort: memory polled.*systemd' "is said, too"
	rm -r "$dir"
	CALL_OUTER=()
}

levels()
{
	inside_json --isolation strict -- true
	json_is strict 'd["isolation"]' "--isolation strict"
	inside_json --isolation landlock -- true
	check "--isolation landlock holds or is refused" test "$RC" = 0 -o "$RC" = 125
	inside_json --isolation landlock --limits best-effort -- sh -c \
		'cat /etc/shadow; echo x >file; id -u'
	if [ "$RC" = 125 ]; then
		json_has \
			'd["error"]["code"].startswith("unsupported") and
			bool(d["error"]["remedy"])' \
			"--isolation landlock: refused with a reason"
		return
	fi
	document "--isolation landlock"
	json_is landlock 'd["isolation"]' "--isolation landlock"
	json_has 'b"Permission denied" in err' "--isolation landlock: files of the host are closed"
	# Without a control group they are counted by walking: never those of the host.
	json_has 'd["usage"]["processes_peak"] <= 2 and d["limit"] is None' \
		"--isolation landlock: only its own processes count"
}

checks()
{
	times
	memory
	counts
	disk
	rate
	keyrings
	few_files
	strictness
	without_groups
	read_only
	without_answer
	levels
}

run_checks
