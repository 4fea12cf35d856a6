# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What must be true after every case, whatever it tried: no canary came out, nobody called the
# canary listeners, the host is as it was, and nothing of ours is left. Cases run side by side, so
# only what can belong to this case counts.

ORACLE_SYSCTLS=(fs/protected_hardlinks fs/protected_symlinks fs/suid_dumpable kernel/core_pattern
	kernel/core_uses_pid kernel/dmesg_restrict kernel/domainname kernel/hostname
	kernel/kptr_restrict kernel/modprobe kernel/modules_disabled kernel/msgmax kernel/panic
	kernel/panic_on_oops kernel/perf_event_paranoid kernel/pid_max kernel/poweroff_cmd
	kernel/randomize_va_space kernel/shmmax kernel/sysrq kernel/threads-max
	kernel/unprivileged_bpf_disabled net/ipv4/ip_forward net/ipv4/ip_unprivileged_port_start
	net/ipv4/ping_group_range user/max_user_namespaces vm/max_map_count vm/mmap_min_addr
	vm/overcommit_memory vm/panic_on_oom vm/swappiness)

# Sets LISTENER_PID, LISTENER_PORT and LISTENER_NAME (abstract, without the leading NUL).
listener_open()
{
	LISTENER_NAME=canary-${T##*.}-$MODE
	: >"$EVIDENCE/contacts"
	exec {LISTENER_FD}< <(exec "$LISTENER" "$LISTENER_NAME" "$EVIDENCE/contacts" \
		{LIVE_FD}>&-)
	LISTENER_PID=$!
	read -r LISTENER_PORT <&"$LISTENER_FD"
	exec {LISTENER_FD}<&-
}

# The host in a form that can be compared: one fact a line.
host_state()
{
	(cd /proc/sys && grep -s '' "${ORACLE_SYSCTLS[@]}")
	uname -n
	grep -s '' /proc/sys/fs/binfmt_misc/status
	sed -n 's/^ *\([^:]*\):.*/interface \1/p' /proc/net/dev
	stat -c '%n %a %u %g %F' / /etc /root /srv /tmp /dev/null /dev/zero /etc/passwd /etc/shadow \
		2>/dev/null
	sha256sum /etc/passwd /etc/resolv.conf 2>/dev/null
	grep -s '' "$CANARY_ROOT_FILE" "$CANARY_SRV_FILE" "$CANARY_HOME_FILE"
	stat -c '%n %a %u' "$CANARY_ROOT_FILE" "$CANARY_SRV_FILE" "$CANARY_HOME_FILE" 2>/dev/null
}

# Seconds that the wall clock is ahead of the time since boot.
clock_offset()
{
	local up after wall

	# Who is held up between two looks at two clocks looks again.
	while read -r up _ </proc/uptime; do
		wall=${EPOCHREALTIME%[.,]*}
		read -r after _ </proc/uptime
		[ $((${after%.*} - ${up%.*})) -gt 1 ] || break
	done
	echo $((wall - ${up%.*}))
}

# journal_files live|dead: entries of the journal whose lock a living run holds, or nobody: a run
# that died left those.
journal_files()
{
	local file state

	for file in /run/pinfold/live/* "$M"/run/pinfold/live/*; do
		[ -e "$file" ] || continue
		state=dead
		grep -q ":$(stat -c %i "$file" 2>/dev/null) " /proc/locks && state=live
		[ -e "$file" ] && [ "$state" = "$1" ] && echo "$file"
	done
}

# Our control groups that hold nobody, in any hierarchy, and are not those of a run that goes on.
idle_cgroups()
{
	local dir live

	live=$(journal_files live | xargs -r cat 2>/dev/null | grep -oE 'sbx[a-z2-7]{26}' | sort -u)
	find /sys/fs/cgroup -type d -name '*sbx*' 2>/dev/null | grep -vF "${live:-none}" | sort |
	while read -r dir; do
		[ -z "$(find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null)" ] &&
			[ -d "$dir" ] && echo "$dir"
	done
}

host_mounts()
{
	grep -E "$T|/run/pinfold|sbx[a-z2-7]{26}" /proc/self/mountinfo | cut -d' ' -f4-
}

oracle_before()
{
	host_state >"$EVIDENCE/host.before"
	clock_offset >"$EVIDENCE/clock.before"
	{ idle_cgroups; journal_files dead; } >"$EVIDENCE/left.before"
	host_mounts >"$EVIDENCE/mounts.before"
}

oracle_after()
{
	local line

	oracle_canaries
	while IFS= read -r line; do
		fell ESCAPE "listener: $line"
	done <"$EVIDENCE/contacts"
	host_state >"$EVIDENCE/host.after"
	while IFS= read -r line; do
		fell WRITE "the host changed: $line"
	done < <(diff "$EVIDENCE/host.before" "$EVIDENCE/host.after" | grep '^[<>]')
	oracle_clock
	oracle_report
	oracle_objects
	session_sum "$PINFOLD_COPY"
	[ "$SUM" = "$PINFOLD_SHA256" ] || fell WRITE "the pinfold binary changed"
}

oracle_canaries()
{
	local file

	while IFS= read -r file; do
		fell READ "a canary is in ${file##*/}: $(head -c 300 "${file%.*}.cmd" 2>/dev/null)"
	done < <(find "$EVIDENCE" "$M/home" "$M/run" -type f ! -name patterns ! -name 'host.*' \
		! -name '*.cmd' ! -name neighbour.log -size -65536k -exec grep -alF -f "$EVIDENCE/patterns" {} +)
}

oracle_clock()
{
	local drift=$(($(clock_offset) - $(<"$EVIDENCE/clock.before")))

	[ "${drift#-}" -le 2 ] || fell WRITE "the host's clock moved by $drift s"
}

# What the launcher saw of pinfold and of the processes it left.
oracle_report()
{
	local word rest

	while read -r word rest; do
		case $word in
		hung) fell CRASH "pinfold did not end in time" ;;
		# 2 and 15 are what the harness itself asks a run to end with.
		signal) [[ -n $EXPECT_SIGNAL || $rest =~ ^(2|15)$ ]] ||
			fell CRASH "pinfold was killed by signal $rest" ;;
		left) fell ESCAPE "a process is left: $rest" ;;
		esac
	done <"$EVIDENCE/report"
}

nothing_left()
{
	{ idle_cgroups; journal_files dead; } >"$EVIDENCE/left.after"
	! grep -qvxFf "$EVIDENCE/left.before" "$EVIDENCE/left.after"
}

root_runs_once()
{
	[ "$(id -u)" = 0 ] && "${PINFOLD:-$PROJECT_DIR/build/pinfold}" run -- true >/dev/null 2>&1 </dev/null
	return 0
}

oracle_objects()
{
	local line

	# A group that another case is just making or removing is idle for a moment only; what a killed
	# launcher of another case left is removed by root's next run, and that may be late.
	wait_for 3 nothing_left || { root_runs_once; wait_for 10 nothing_left; } ||
		fell ESCAPE "left on the host: $(grep -vxFf "$EVIDENCE/left.before" \
			"$EVIDENCE/left.after" | head -5 | tr '\n' ' ')"
	host_mounts >"$EVIDENCE/mounts.after"
	while IFS= read -r line; do
		fell ESCAPE "a mount is left: $line"
	done < <(diff "$EVIDENCE/mounts.before" "$EVIDENCE/mounts.after" | grep '^>')
	while IFS= read -r line; do
		fell ESCAPE "a file is left: $line"
	done < <(find "$M/run" "$M/home" -mindepth 1 -name 'sbx*' 2>/dev/null | head -3)
}
