# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The peers of the benchmark: what each needs, its command line, and how to take it away again.
# Read by bench/run with the directory of the run as working directory, so that every path in a
# command line is short and none names this machine. No word of a command line holds a blank.

ROOT_MAP_BASE=524288 # the host ids of the containers of crun, runc and runsc: nobody's
CGROUP=pinfold-bench-$$
DOCKER_PID=
DOCKER_CGROUPS=

# skip NAME REASON
skip()
{
	printf '%s: %s\n' "$1" "$2" >>skipped
}

# have NAME COMMAND PACKAGE: or says which package is missing.
have()
{
	command -v "$2" >/dev/null && return
	skip "$1" "no $2 here; it is in the Debian package $3"
	return 1
}

# works NAME COMMAND...: one run of it succeeds, or it is skipped with what it said.
works()
{
	_name=$1
	shift
	timeout -k 5 30 "$@" >probe.out 2>&1 </dev/null && return
	skip "$_name" "does not start here: $(grep . probe.out | tail -n 1 | cut -c1-160)"
	return 1
}

# --- bubblewrap ----------------------------------------------------------------------------------

# The same tree as pinfold's. What pinfold copies or makes up in /etc is bound from the host: that
# is the nearest thing that bubblewrap can do with an option.
bwrap_tree()
{
	printf '%s ' --unshare-all --die-with-parent --new-session --clearenv --cap-drop ALL \
		--ro-bind /usr /usr
	for _name in bin sbin lib lib32 lib64; do
		[ -L "/$_name" ] && printf '%s ' --symlink "usr/$_name" "/$_name"
	done
	printf '%s ' --proc /proc --dev /dev --tmpfs /tmp
}

bwrap_full()
{
	bwrap_tree
	printf '%s ' --tmpfs /run --dir /var/tmp --dir /home/user --chdir /home/user
	while read -r _name; do
		printf '%s ' --ro-bind "/etc/$_name" "/etc/$_name"
	done <etc
	printf '%s ' --setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /home/user \
		--setenv USER user --setenv LANG C.UTF-8
}

# etc_list: the entries of /etc that pinfold shows and the host has.
etc_list()
{
	./pinfold run -- /bin/ls -1 /etc </dev/null | while read -r _name; do
		[ -r "/etc/$_name" ] && printf '%s\n' "$_name"
	done
}

# --- OCI runtimes --------------------------------------------------------------------------------

json_mount()
{
	printf '{"destination":"%s","type":"%s","source":"%s","options":[%s]},\n' "$@"
}

json_mounts()
{
	json_mount /proc proc proc '"nosuid","noexec","nodev"'
	json_mount /dev tmpfs tmpfs '"nosuid","mode=755","size=65536k"'
	json_mount /dev/pts devpts devpts '"nosuid","noexec","newinstance","ptmxmode=0666","mode=0620"'
	json_mount /dev/shm tmpfs shm '"nosuid","noexec","nodev","mode=1777"'
	json_mount /tmp tmpfs tmpfs '"nosuid","nodev","mode=1777"'
	json_mount /run tmpfs tmpfs '"nosuid","nodev","mode=755"'
	while read -r _name; do
		json_mount "/etc/$_name" bind "/etc/$_name" '"bind","ro","nosuid","nodev"'
	done <etc
	printf '{"destination":"/usr","type":"bind","source":"/usr",'
	printf '"options":["bind","ro","nosuid","nodev"]}\n'
}

# Limits as pinfold's: 512 MiB, 128 processes, one processor. An ordinary user has no cgroup.
json_limits()
{
	[ "$1" = root ] || return 0
	cat <<-END
		"cgroupsPath": "/$CGROUP",
		"resources": {
			"memory": {"limit": 536870912},
			"pids": {"limit": 128},
			"cpu": {"quota": 100000, "period": 100000}
		},
	END
}

# bundle NAME root|UID: a directory with a root and a config.json for /usr/bin/true. No seccomp
# filter: that is in the runtime's favour.
bundle()
{
	_base=$ROOT_MAP_BASE _size=65536 _id=1000
	[ "$2" = root ] || _base=$2 _size=1 _id=0
	for _name in usr proc dev tmp run etc home/user; do
		mkdir -p "$1/rootfs/$_name"
	done
	for _name in bin sbin lib lib32 lib64; do
		[ -L "/$_name" ] && ln -s "usr/$_name" "$1/rootfs/$_name"
	done
	while read -r _name; do
		if [ -d "/etc/$_name" ]; then
			mkdir "$1/rootfs/etc/$_name"
		else
			: >"$1/rootfs/etc/$_name"
		fi
	done <etc
	bundle_config "$2" >"$1/config.json"
}

bundle_config()
{
	cat <<-END
		{
		"ociVersion": "1.0.2",
		"process": {
			"terminal": false,
			"user": {"uid": $_id, "gid": $_id},
			"args": ["/usr/bin/true"],
			"env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user"],
			"cwd": "/home/user",
			"capabilities": {},
			"noNewPrivileges": true
		},
		"root": {"path": "rootfs", "readonly": true},
		"hostname": "bench",
		"mounts": [$(json_mounts)],
		"linux": {
			$(json_limits "$1")
			"uidMappings": [{"containerID": 0, "hostID": $_base, "size": $_size}],
			"gidMappings": [{"containerID": 0, "hostID": $_base, "size": $_size}],
			"namespaces": [
				{"type": "user"}, {"type": "mount"}, {"type": "pid"}, {"type": "network"},
				{"type": "ipc"}, {"type": "uts"}, {"type": "cgroup"}
			],
			"maskedPaths": ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list"],
			"readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"]
		}
		}
	END
}
