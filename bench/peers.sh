# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The peers of the benchmark: what each needs, its command line, and how to take it away again.
# Read by bench/run; the working directory is one of the session's own, so that every path in a
# command line is short and none names a machine. No word of a command line holds a blank.
# From bench/run: DIR, and of the session WHO, ID (root or a uid) and AS (what starts a probe).
# shellcheck disable=SC2086,SC2154

ROOT_MAP_BASE=524288 # the host ids of the containers of crun, runc and runsc: nobody's
CONTAINER=pinfold-bench-$$ # also the name of its cgroup
DOCKER_PID=

# skip NAME REASON
skip()
{
	printf '%s, as %s: %s\n' "$1" "$WHO" "$2" >>"$DIR/skipped"
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
	timeout -k 5 30 $AS "$@" >"$DIR/probe" 2>&1 </dev/null && return
	skip "$_name" "does not start here: $(grep . "$DIR/probe" | tail -n 1 | cut -c1-160)"
	return 1
}

# bubblewrap with the least that starts a program: fewer mounts than pinfold makes.
bwrap_small()
{
	printf '%s ' --unshare-all --die-with-parent --new-session --clearenv --cap-drop ALL \
		--ro-bind /usr /usr
	for _name in bin sbin lib lib32 lib64; do
		[ -L "/$_name" ] && printf '%s ' --symlink "usr/$_name" "/$_name"
	done
	printf '%s ' --proc /proc --dev /dev --tmpfs /tmp
}

# The same tree as pinfold's. What pinfold copies or makes up in /etc is bound from the host: that
# is the nearest thing that bubblewrap can do with an option.
bwrap_full()
{
	bwrap_small
	printf '%s ' --tmpfs /run --dir /var/tmp --dir /home/user --chdir /home/user
	while read -r _name; do
		printf '%s ' --ro-bind "/etc/$_name" "/etc/$_name"
	done <"$DIR/etc"
	printf '%s ' --setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /home/user \
		--setenv USER user --setenv LANG C.UTF-8
}

# etc_list: the entries of /etc that pinfold shows and the host has.
etc_list()
{
	$AS ./pinfold run -- /bin/ls -1 /etc >"$DIR/probe" 2>/dev/null </dev/null
	grep -v '[[:space:]]' "$DIR/probe" | while read -r _name; do
		[ -r "/etc/$_name" ] && printf '%s\n' "$_name"
	done
}

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
	done <"$DIR/etc"
	printf '{"destination":"/usr","type":"bind","source":"/usr",'
	printf '"options":["bind","ro","nosuid","nodev"]}\n'
}

# Limits as pinfold's: 512 MiB, 128 processes, one processor. An ordinary user has no cgroup.
json_limits()
{
	[ "$ID" = root ] || return 0
	cat <<-END
		"cgroupsPath": "/$CONTAINER",
		"resources": {
			"memory": {"limit": 536870912},
			"pids": {"limit": 128},
			"cpu": {"quota": 100000, "period": 100000}
		},
	END
}

# A directory with a root and a config.json for /usr/bin/true. No seccomp filter: that is in the
# runtime's favour.
bundle()
{
	for _name in usr proc dev tmp run etc home/user; do
		mkdir -p "bundle/rootfs/$_name"
	done
	for _name in bin sbin lib lib32 lib64; do
		[ -L "/$_name" ] && ln -s "usr/$_name" "bundle/rootfs/$_name"
	done
	while read -r _name; do
		if [ -d "/etc/$_name" ]; then
			mkdir "bundle/rootfs/etc/$_name"
		else
			: >"bundle/rootfs/etc/$_name"
		fi
	done <"$DIR/etc"
	bundle_config >bundle/config.json
}

bundle_config()
{
	_base=$ROOT_MAP_BASE _size=65536 _id=1000
	[ "$ID" = root ] || _base=$ID _size=1 _id=0
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
			$(json_limits)
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

# peers_setup: sets BWRAP, BWRAP_SMALL (without the program), CRUN, RUNC, RUNSC and DOCKER to the
# command line of each that starts, the others to nothing.
peers_setup()
{
	BWRAP='' BWRAP_SMALL='' CRUN='' RUNC='' RUNSC='' DOCKER=''
	if have bubblewrap bwrap bubblewrap; then
		BWRAP="$(command -v bwrap) $(bwrap_full)--"
		BWRAP_SMALL="$(command -v bwrap) $(bwrap_small)--"
		works bubblewrap $BWRAP /usr/bin/true || BWRAP=''
		works bubblewrap-small $BWRAP_SMALL /usr/bin/true || BWRAP_SMALL=''
	fi
	bundle
	have crun crun crun && crun_setup
	have runc runc runc && runc_setup
	if [ "$ID" = root ]; then
		have runsc runsc runsc && runsc_setup
		docker_setup
	else
		skip "runsc and docker" "need root"
	fi
}

# It refuses to run beside a cgroup v2 that has a controller but not all. State is kept beside the
# bundle, and looked for from there.
crun_setup()
{
	if [ "$ID" = root ] && grep -qs . /sys/fs/cgroup/unified/cgroup.controllers; then
		umount /sys/fs/cgroup/unified # only here: this mount namespace is ours
	fi
	CRUN="$(command -v crun) --root ../crun"
	[ "$ID" = root ] || CRUN="$CRUN --cgroup-manager disabled"
	CRUN="$CRUN run --bundle bundle $CONTAINER"
	works crun $CRUN || CRUN=''
}

runc_setup()
{
	RUNC="$(command -v runc) --root runc run --bundle bundle $CONTAINER"
	works runc $RUNC || RUNC=''
}

# The platforms that need no hardware, the faster first; old ones know only the second.
runsc_setup()
{
	for _platform in systrap ptrace; do
		RUNSC="$(command -v runsc) --root runsc --platform=$_platform --network=none"
		RUNSC="$RUNSC --ignore-cgroups run --bundle bundle $CONTAINER"
			timeout -k 5 30 $AS $RUNSC >"$DIR/probe" 2>&1 </dev/null && return
	done
	skip runsc "does not start here: $(grep . "$DIR/probe" | tail -n 1 | cut -c1-160)"
	RUNSC=''
}

# oci_clean DIRECTORY: what a runtime that was stopped half-way left of the session there.
oci_clean()
{
	[ -e "$1/crun/$CONTAINER" ] && crun --root "$1/crun" delete --force "$CONTAINER"
	for _name in "$CONTAINER" "$CONTAINER.0" "$CONTAINER.1"; do
		[ -e "$1/runc/$_name" ] && runc --root "$1/runc" delete --force "$_name"
	done
	[ -n "$(find "$1" -path "*/runsc/$CONTAINER*" 2>/dev/null)" ] &&
		runsc --root "$1/runsc" delete --force "$CONTAINER"
	find /sys/fs/cgroup -depth -type d -name "$CONTAINER*" -exec rmdir {} + 2>/dev/null
}

# docker_setup: a daemon of our own, with nothing of it on the host but one directory here and one
# cgroup; sets DOCKER to the command line of the client. The image is one static program.
docker_setup()
{
	have docker dockerd docker.io && have docker busybox busybox-static || return
	mkdir -p docker image/bin
	cp "$(command -v busybox)" image/bin/true
	image/bin/true || { skip docker "busybox has no true"; return; }
	DOCKER_HOST=unix://$PWD/docker/sock
	export DOCKER_HOST
	docker_start
	# The client that came with the daemon: another may speak another version.
	_client=$(dirname "$(command -v dockerd | sed 's|/sbin/|/bin/|')")/docker
	[ -x "$_client" ] || _client=$(command -v docker) || { skip docker "no client"; return; }
	docker_wait "$_client" || return
	tar -C image -c . | "$_client" import - bench >/dev/null 2>docker/import ||
		{ skip docker "import: $(tail -n 1 docker/import)"; return; }
	DOCKER="$_client run --rm --network none --memory 512m --pids-limit 128 --cpus 1"
	DOCKER="$DOCKER --cap-drop ALL --security-opt no-new-privileges --user 1000:1000"
	DOCKER="$DOCKER bench /bin/true"
	works docker $DOCKER || DOCKER=''
}

# In mount and network namespaces of its own: it writes to fixed places and changes settings.
docker_start()
{
	# shellcheck disable=SC2016
	unshare --mount --net --propagation private sh -c '
		for dir in /run /opt /etc/docker; do
			[ ! -d $dir ] || mount -t tmpfs none $dir || exit
		done
		exec "$@"' sh dockerd --data-root "$PWD/docker/data" --exec-root "$PWD/docker/exec" \
		--pidfile "$PWD/docker/pid" --host "$DOCKER_HOST" --bridge=none --iptables=false \
		--ip-forward=false --exec-opt native.cgroupdriver=cgroupfs \
		--cgroup-parent "/$CONTAINER-docker" >docker/log 2>&1 </dev/null &
	DOCKER_PID=$!
}

# docker_wait CLIENT: until the daemon answers, for 20 seconds.
docker_wait()
{
	_end=$(($(date +%s) + 20))
	until "$1" version >/dev/null 2>&1; do
		if [ "$(date +%s)" -ge $_end ] || ! kill -0 "$DOCKER_PID" 2>/dev/null; then
			skip docker "the daemon does not start: $(tail -n 1 docker/log | cut -c1-160)"
			return 1
		fi
		sleep 0.2
	done
}

docker_stop()
{
	[ -n "$DOCKER_PID" ] || return 0
	kill "$DOCKER_PID" 2>/dev/null
	( sleep 15; kill -9 "$DOCKER_PID" ) 2>/dev/null &
	_killer=$!
	wait "$DOCKER_PID" 2>/dev/null
	kill "$_killer" 2>/dev/null
	DOCKER_PID=
}
