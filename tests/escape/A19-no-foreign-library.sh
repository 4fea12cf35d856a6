#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: static, ref-bwrap
#
# CVE-2019-14271: a helper entered the image and then loaded its libraries (name service modules).
# No code of ours may load anything at run time: neither pinfold nor the guest maps a library, and
# user names are not looked up by the host's or the workspace's name service. (Images and entering a
# running sandbox come later; this is `run`.)
. "$(dirname "$0")/../lib/escape.sh"

claim "A19 no process of ours loads a library"

mapped_files()
{
	awk '$6 ~ /^\// {print $6}' "/proc/$1/maps" | sort -u | tr '\n' ' '
}

attack()
{
	mkdir -p "$W/etc" "$W/lib"
	echo "passwd: evil" >"$W/etc/nsswitch.conf"
	echo "root:x:0:0::/:/bin/sh" >"$W/etc/passwd"
	echo "not a library" >"$W/lib/libnss_evil.so.2"
	echo "not a cache" >"$W/etc/ld.so.cache"
	chmod -R a+rX "$W"
	inside --dir "$W" --workdir /work --user user -- id -un
	same "the user's name comes from our own file" "$RC $(cat "$OUT")" "0 user"

	inside_start SLEEPER --dir "$W" --workdir /work -- tail -f /dev/null
	guest_of SLEEPER || return
	same "files that pinfold maps" "$(mapped_files "$SLEEPER_PID")" "$PINFOLD_COPY "
	if [ "$EUID" = 0 ]; then
		holds "PID 1's map can be seen" grep -q . "/proc/$GUEST/maps"
		same "libraries that PID 1 maps" \
			"$(mapped_files "$GUEST" | tr ' ' '\n' | grep -cE '\.so|/usr|/work|/lib')" 0
	fi
	sandbox_end SLEEPER
}

run_case
