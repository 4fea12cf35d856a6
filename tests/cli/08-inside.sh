#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a command finds inside: user, environment, working directory, files.
. "$(dirname "$0")/../lib/cli.sh"

standard='HOME=/home/user
LANG=C.UTF-8
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
PIP_CACHE_DIR=/tmp/.cache/pip
USER=user
XDG_CACHE_HOME=/tmp/.cache
npm_config_cache=/tmp/.cache/npm'

# environment_is WANT NAME: of the last call, which was `env -0`.
environment_is()
{
	check "$2" test "$(tr '\n\0' '?\n' <"$OUT" | LC_ALL=C sort)" = "$1"
}

environment()
{
	CALL_ENV=(SECRET=token AWS_KEY=x LD_LIBRARY_PATH=/tmp TERM=xterm HOME=/elsewhere \
		PATH=/usr/bin
		LANG=de_DE PYTHONPATH=/x http_proxy=http://192.0.2.1:3128)
	inside -- env -0
	environment_is "$standard" "exactly the contract's variables, nothing of the host's"
	inside_json -- env -0
	check "with --json the same" test \
		"$(json 'chr(10).join(sorted(out.decode().rstrip(chr(0)).split(chr(0))))')" \
		= "$standard"
	CALL_ENV=()
	inside --env A=1 --env 'B=two words = "x"' --env C= --env A=2 -- env -0
	environment_is "A=2
B=two words = \"x\"
C=
$standard" "--env adds, the last counts"
	inside --env HOME=/tmp --env LANG=C --env USER=me -- sh -c 'echo $HOME $LANG $USER'
	prints "/tmp C me" "--env replaces"
	inside --env $'L=one\ntwo' -- sh -c 'echo "$L"'
	prints $'one\ntwo' "a value with a newline"
	mkdir "$W/bin"
	printf '#!/bin/sh\necho mine\n' >"$W/bin/tool"
	chmod 755 "$W/bin/tool"
	own "$W"
	inside --dir "$W" --env PATH=/work/bin:/usr/bin -- tool
	prints mine "--env PATH is where the command is looked for"
	inside --env =x -- true
	refuses invalid_argument --env "no name"
	inside --env NAME -- true
	refuses invalid_argument --env "no value"
	inside --env 9A=x -- true
	refuses invalid_argument --env "a name that is none"
}

identity()
{
	inside -- sh -c 'id -u; id -g; id -un; id -gn; id -G; echo ~; hostname'
	prints "1000
1000
user
user
1000
/home/user
$(sed -n 7p "$OUT")" "user, uid 1000, no other group"
	like "$(sed -n 7p "$OUT")" '^sbx[a-z2-7]{26}$' "the hostname is the sandbox's id [$MODE]"
	inside -- sh -c 'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status'
	prints $'CapInh:\t0000000000000000
CapPrm:\t0000000000000000
CapEff:\t0000000000000000
CapBnd:\t0000000000000000
CapAmb:\t0000000000000000
NoNewPrivs:\t1
Seccomp:\t2' "no capability, no new privileges, a filter"
	inside -- getent passwd user root
	check "passwd knows user and root" test "$(wc -l <"$OUT")" = 2
	inside -- sh -c umask
	prints 0022 "umask"
	inside -- sh -c 'ulimit -n; ulimit -c'
	prints $'1024\n0' "open files, core size"
}

root()
{
	inside --user root -- sh -c 'id -u; echo $HOME $USER; whoami'
	if [ "$RC" = 125 ]; then
		refuses unsupported --user "--user root where there is no range of ids"
		return
	fi
	prints $'0\n/root root\nroot' "--user root"
	inside --user root -- sh -c 'touch /tmp/f && chown 33:33 /tmp/f && stat -c %u:%g /tmp/f'
	prints 33:33 "it may give files away"
	inside --user root -- sh -c 'setpriv --reuid 1000 --regid 1000 --clear-groups id -u'
	prints 1000 "it may become another"
	inside_json --user root -- sh -c 'echo x >/etc/new && cat /etc/new'
	json_is '["x", "added"]' '[d["stdout"]["text"].strip(), files["/etc/new"]["change"]]' \
		"and change its own /etc"
	check "which is not the host's" test ! -e /etc/new
	# An ordinary user has no id that owns /usr, so there nobody can change even a copy of it.
	if [ "$MODE" = R ]; then
		inside_json --user root -- sh -c \
			'echo y >/usr/bin/new && cat /usr/bin/new; rm /usr/bin/perl'
		json_is '["y", "added", "deleted"]' \
			'[d["stdout"]["text"].strip()] + [files[p]["change"]
			for p in ("/usr/bin/new", "/usr/bin/perl")]' "and its own /usr"
		check "which is not the host's, either" test ! -e /usr/bin/new -a -e /usr/bin/perl
	fi
	inside --user root -- sh -c 'mount -t tmpfs x /mnt || mknod /tmp/d b 8 0 || hostname x ||
		chroot / true || exit 9'
	exits 9 "and has no power over the system"
}

places()
{
	inside --workdir /tmp -- pwd
	prints /tmp "--workdir"
	inside --workdir /usr/../tmp/. -- pwd
	prints /tmp "--workdir with dots"
	inside --workdir /etc/passwd -- pwd
	check "--workdir on a file: status 125" test "$RC" = 125
	inside --workdir tmp -- pwd
	refuses invalid_argument --workdir "a relative path"
	inside --workdir /no/such -- pwd
	refuses not_found --workdir "a directory that is not there"
	inside -- sh -c \
		'for d in /tmp /run /dev/shm /home/user /var/tmp; do echo x >$d/f && rm $d/f ||
		echo no $d; done'
	prints "" "/tmp, /run, /dev/shm, /var/tmp and home can be written"
	inside -- sh -c 'for f in /f /usr/f /etc/f /usr/bin/f /proc/f; do (: >$f) 2>/dev/null &&
		echo yes $f; done'
	prints "" "nothing else can"
	inside -- sh -c 'cd /dev && ls -d null zero full random urandom tty ptmx && ls -A | wc -l'
	check "the devices" test "$(head -7 "$OUT" | tr '\n' ' ')" = \
		"full null ptmx random tty urandom zero "
	inside -- sh -c 'find /dev -type b -o -type c | sort | tr "\n" " "'
	check "no other device" test -z "$(tr ' ' '\n' <"$OUT" |
		grep -vxE '/dev/(null|zero|full|random|urandom|tty|ptmx|pts/ptmx|)')"
	inside -- sh -c \
		'ls -A /root /home /srv /mnt /opt /var/lib 2>/dev/null | grep -v "^/" | tr "\n" " "'
	check "no home or data of the host" test -z "$(tr ' ' '\n' <"$OUT" | grep -vxE 'user|')"
	inside -- sh -c 'cat /etc/shadow /etc/sudoers /etc/ssh/ssh_host_ed25519_key 2>/dev/null'
	prints "" "no secret of the host's /etc"
	if [ -e /etc/os-release ]; then
		inside -- cat /etc/os-release
		check "the name of the distribution" cmp /etc/os-release "$OUT"
	fi
	inside -- sh -c 'awk "/MemTotal/ {print \$2}" /proc/meminfo; nproc'
	check "meminfo tells the limit" test "$(sed -n 1p "$OUT")" -le 524288
	inside --memory 100M -- awk '/MemTotal/ {print $2}' /proc/meminfo
	prints 102400 "meminfo follows --memory"
	inside -- sh -c 'grep -c . /proc/net/dev; grep -q "lo:" /proc/net/dev && echo lo'
	prints $'3\nlo' "loopback is the only interface"
	inside -- sh -c 'ls /proc | grep -c "^[0-9]"'
	check "only its own processes" test "$(cat "$OUT")" -le 5
}

# gone PATH: removed, whoever still writes there behind a run that has ended.
gone()
{
	rm -rf "$1" && test ! -e "$1"
}

# Who has no home, as a service account or who still has the HOME of another, has a place all the same.
homeless()
{
	local place=/var/tmp/pinfold-$USER_ID

	[ "$MODE" = U ] && [ ! -e "$place" ] || return 0
	CALL_WRAP=(/usr/bin/env -u PINFOLD_HOME HOME=/nonexistent)
	inside -- echo ran
	prints ran "a HOME that does not exist"
	CALL_WRAP=(/usr/bin/env -u PINFOLD_HOME -u HOME)
	inside -- echo ran
	prints ran "no HOME"
	check "what is kept is the user's alone" test "$(stat -c '%a %u' "$place")" = "700 $USER_ID"
	wait_for 10 gone "$place"
	mkdir -m 777 "$place"
	inside -- echo ran
	refuses denied "$place" "a place that others may write"
	rm -rf "$place"
	CALL_WRAP=()
}

# What a umask takes from the owner himself is his all the same: else nobody could open the data
# directory that the first run makes.
masked()
{
	local time

	CALL_WRAP=(/bin/sh -c 'umask 0777; PINFOLD_HOME=$0 exec "$@"' "$M/run/masked")
	for time in first second; do
		inside --name masked -- sh -c 'umask; echo x >f && cat f'
		exits 0 "the $time run with umask 0777"
		prints $'0022\nx' "has the umask of any other"
		pinfold rm masked
	done
	check "the data directory is its owner's alone" test "$(stat -c %a "$M/run/masked")" = 700
	CALL_WRAP=()
	wait_for 10 gone "$M/run/masked"
}

checks()
{
	homeless
	masked
	environment
	identity
	root
	places
}

run_checks
