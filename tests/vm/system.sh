#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Root's part in the guest with systemd: checks of its own, then scope.sh as the user `plain` from
# all the places that a user's processes can be in, then the machine is switched off.
touch /run/pinfold-vm
. "$(dirname "$0")/vm.bash"

HIS=/run/user/1000
T=$(mktemp -d)
STATUS_ALL=0

# Files of the host that are read, and files on a volume that are written, count and make room.
page_cache()
{
	mkdir "$T/much"
	dd if=/dev/zero of="$T/much/file" bs=1M count=64 2>/dev/null
	sync
	echo 3 >/proc/sys/vm/drop_caches
	run --memory 32M --dir "$T/much" -- sh -c 'cat /work/file >/dev/null'
	ended exited 0 "root: much is read with little memory"
	between "$(whole memory_peak_bytes)" 30000000 33554432 "root: it counts"
	run --memory 32M --disk 128M -- dd if=/dev/zero of=x bs=1M count=100
	ended exited 0 "root: much is written to a volume with little memory"
	is "$(held_by disk)" quota "root: the volume holds the disk limit"
	between "$(whole memory_peak_bytes)" 30000000 33554432 "root: that counts, too"
	run --memory 32M --disk 128M -- dd if=/dev/zero of=x bs=1M
	is "$(limit)" "disk 134217728" "root: a full volume: limit"
}

# Where root's top is the group of a container, which has processes.
container()
{
	mkdir "$GROUPS_DIR/container"
	(echo "$BASHPID" >"$GROUPS_DIR/container/cgroup.procs" &&
		exec unshare --cgroup --mount bash -c '
			umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
			pinfold run --json -- true
			mkdir /sys/fs/cgroup/init
			# All of them: what the first one leaves to be done behind it may be there yet.
			for pid in $(cat /sys/fs/cgroup/cgroup.procs); do
				echo "$pid" >/sys/fs/cgroup/init/cgroup.procs
			done
			pinfold run --json -- true') </dev/null >"$T/container" 2>/dev/null
	DOC=$(head -n 1 "$T/container")
	like "$(field message)" 'does not hand memory' "root in a container: limits are refused"
	like "$DOC" '"remedy":"in a container, first move' "root in a container: and a remedy is told"
	DOC=$(tail -n 1 "$T/container")
	is "$(field status) $(held_by memory)" "exited cgroup" "root in a container: which helps"
	wait_for 10 rmdir "$GROUPS_DIR/container/init"
	rmdir "$GROUPS_DIR/container"
}

as_root()
{
	local text

	text=$(pinfold doctor)
	is $? 0 "root: doctor is content"
	like "$text" 'ok +control groups +v2$|ok +control groups +v2'$'\n' "root: doctor: groups are v2"
	run -- sh -c 'exit 7'
	ended exited 7 "root: a command runs"
	is "$(held_by memory) $(held_by pids) $(held_by cpus)" "cgroup cgroup cgroup" "root: what holds"
	run --memory 32M -- awk "$BOMB"
	ended oom 137 "root: memory bomb"
	is "$(limit)" "memory 33554432" "root: memory bomb: limit"
	run --memory 32M -- python3 -c "$MEMFD"
	ended oom 137 "root: memfd bomb"
	is "$(limit)" "memory 33554432" "root: memfd bomb: limit"
	page_cache
	run --user root -- sh -c 'id -u; touch /usr/bin/new && chown 12:34 /usr/bin/new'
	ended exited 0 "root: --user root"
	mkdir -p "$T/dir/sub"
	echo old | tee "$T/dir/file" >"$T/dir/sub/below"
	run --dir "$T/dir" --workdir /work -- sh -c 'echo new >file; ls -ln; echo in >sub/new'
	ended exited 0 "root: --dir"
	like "$DOC" '"path":"/work/file","change":"modified"' "root: --dir: a changed file"
	is "$(cat "$T/dir/file") $(ls "$T/dir/sub")" "old below" "root: --dir: the host's is as it was"
	run --dir "$T/dir" --workdir /work -- sh -c 'rm -r sub && mkdir sub && test ! -e sub/below'
	ended exited 0 "root: --dir: a directory is removed"
	is "$(held_by disk)" quota "root: --dir: for that the layer is on disk"
	mv /usr/sbin/mkfs.ext4 "$T/"
	run --dir "$T/dir" --workdir /work -- sh -c 'echo new >file'
	ended exited 0 "root: --dir: or in memory"
	is "$(held_by disk)" tmpfs "root: --dir: where it cannot be on disk"
	mv "$T/mkfs.ext4" /usr/sbin/
	run -- python3 -c 'print(6*7)'
	like "$DOC" '"text":"42' "root: python3"
	is "$(sandbox_groups)" "" "root: no group is left"
	container
	timed root
	rm -rf "$T"
}

# from PLACE PARTS COMMAND...: scope.sh, started by the command.
from()
{
	local place=$1 parts=$2 started=$SECONDS

	shift 2
	# shellcheck disable=SC2086 # words on purpose
	"$@" bash /tests/vm/scope.sh "$place" $parts </dev/null || STATUS_ALL=1
	diag "$place: $((SECONDS - started)) s"
}

places()
{
	local some="plain_run settings killed as_root_inside"

	loginctl enable-linger plain
	wait_for 120 test -S "$HIS/systemd/private"
	is $? 0 "the user's systemd runs"
	from "a session" "" su -l plain -c '"$@"' --
	# Outside of everything that is his: systemd --user has to ask the system's to move it.
	from "a service of the system's" "$some" setpriv --reuid 1000 --regid 1000 --init-groups \
		env -i PATH="$PATH" HOME=/home/plain USER=plain XDG_RUNTIME_DIR="$HIS"
	from "a service of his" "$some" \
		systemd-run --quiet --user --machine=plain@ --wait --pipe --collect
}

main()
{
	as_root
	places
	is "$(systemctl is-system-running)$(systemctl --failed --no-legend --plain)" running \
		"systemd is content"
	done_testing || STATUS_ALL=1
	return $STATUS_ALL
}

stty -F /dev/ttyS1 raw
{
	echo START
	main 2>/dev/ttyS0
	echo "END $?"
} >/dev/ttyS1
systemctl --force --force reboot
