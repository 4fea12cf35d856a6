# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What all test processes that run at the same time share: the canaries on the host, the ordinary
# user, the copy of the binary that this user may execute, compiled helpers.
#
# The first process to arrive makes them, the last to leave removes them. Who is here is known by a
# shared flock on `live`, so a test that was killed counts as gone; `lock` is held while things are
# made or removed. What a killed last one left is removed by the next first one: everything outside
# the directory is listed in `planted` before it is made.

TEST_USER=pinfold-test
TEST_USER_NOTE="made by the tests of pinfold"
LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PROJECT_DIR=$(cd "$LIB_DIR/../.." && pwd)
# One place for the whole host, whatever TMPDIR says: the user and the canaries are the host's.
SESSION=/tmp/pinfold-tests.$EUID

session_lock()
{
	local tries=1000

	while [ $((tries--)) -gt 0 ]; do
		mkdir -m 0711 "$SESSION" 2>/dev/null
		if [ -L "$SESSION" ] || ! [ -O "$SESSION" ]; then
			[ -e "$SESSION" ] || continue
			echo "Bail out! $SESSION is not ours"
			exit 1
		fi
		{ exec {LOCK_FD}>>"$SESSION/lock"; } 2>/dev/null || continue
		flock -x "$LOCK_FD"
		# The last one removes the directory: then this lock guards nothing any more.
		[ "$SESSION/lock" -ef "/proc/$BASHPID/fd/$LOCK_FD" ] && return
		exec {LOCK_FD}>&-
	done
	echo "Bail out! cannot lock $SESSION"
	exit 1
}

session_unlock()
{
	exec {LOCK_FD}>&-
}

session_open()
{
	session_lock
	exec {LIVE_FD}>>"$SESSION/live"
	if flock -xn "$LIVE_FD"; then
		session_clear
		session_make
	fi
	flock -s "$LIVE_FD"
	session_unlock
	session_compile "$LIB_DIR/launch.c"
	LAUNCHER=$COMPILED
	session_compile "$LIB_DIR/listen.c"
	LISTENER=$COMPILED
	. "$SESSION/values"
}

session_close()
{
	session_lock
	flock -u "$LIVE_FD"
	if flock -xn "$LIVE_FD"; then
		session_clear
		rm -rf "$SESSION"
	fi
	exec {LIVE_FD}>&-
	session_unlock
}

session_clear()
{
	local path

	# Files first: a case's directory is listed only while the case lives, or when it was killed.
	while read -r path; do
		rm -f "$path"
	done < <(cat "$SESSION/planted" 2>/dev/null)
	while read -r path; do
		[[ $path == */pinfold-case.* ]] && rm -rf "$path"
	done < <(cat "$SESSION"/case.* 2>/dev/null)
	if [ "$EUID" = 0 ] && getent passwd "$TEST_USER" | grep -q ":$TEST_USER_NOTE:"; then
		userdel -r "$TEST_USER" 2>/dev/null
	fi
	find "$SESSION" -mindepth 1 -maxdepth 1 ! -name lock ! -name live -exec rm -rf {} +
}

session_make()
{
	local home=$HOME

	mkdir "$SESSION/bin" "$SESSION/pinfold"
	chmod 0755 "$SESSION/bin" "$SESSION/pinfold"
	if [ "$EUID" = 0 ]; then
		session_user
		home=$(getent passwd "$TEST_USER" | cut -d: -f6)
	fi
	{
		echo "CANARY_ENV_VALUE=$(canary_value)"
		echo "CANARY_FD_VALUE=$(canary_value)"
		plant CANARY_ROOT /root .canary 0600 0
		plant CANARY_SRV /srv canary 0644 0
		plant CANARY_HOME "${home:-/nonexistent}" .canary 0600 "$(stat -c %u "$home" 2>/dev/null)"
	} >"$SESSION/values"
	canary_patterns <"$SESSION/values" >"$SESSION/patterns"
}

# session_compile FILE.c FLAG...: sets COMPILED. What is there already was made from the same bytes.
session_compile()
{
	local key

	key=$(cat "$1" "$LIB_DIR/attack.h" <(echo "${@:2}") | sha256sum | cut -c1-32)
	COMPILED=$SESSION/bin/$key
	[ -x "$COMPILED" ] && return
	cc -O1 -Wall -I"$LIB_DIR" -o "$COMPILED.$$" "$@" && mv "$COMPILED.$$" "$COMPILED" && return
	echo "Bail out! cannot compile $1"
	exit 1
}

canary_value()
{
	echo "canary$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
}

# plant NAME DIR FILE MODE OWNER: a file that was there before is never touched, another name is
# taken then. Where the caller may not write, the canary is only a name that cannot be read.
plant()
{
	local path=$2/$3 value

	value=$(canary_value)
	[ -e "$path" ] && path=$2/$3-$value
	if [ -d "$2" ] && [ -w "$2" ]; then
		echo "$path" >>"$SESSION/planted"
		if (umask 077 && set -C && echo "$value" >"$path"); then
			chown "$5" "$path"
			chmod "$4" "$path"
		fi
	fi
	echo "${1}_FILE=$path"
	echo "${1}_VALUE=$value"
}

# Every canary as it is, in hexadecimal, in base64 at each of the three alignments, and by the hash
# of the file that holds it.
canary_patterns()
{
	sed -n 's/.*_VALUE=//p' | while read -r value; do
		echo "$value"
		printf %s "$value" | od -An -v -tx1 | tr -d ' \n'
		echo
		printf %s "$value" | base64 -w0 | cut -c1-40
		printf 'x%s' "$value" | base64 -w0 | cut -c3-40
		printf 'xx%s' "$value" | base64 -w0 | cut -c4-40
		echo "$value" | sha256sum | cut -d' ' -f1
	done
}

# An ordinary user with subordinate ids. One that somebody else made is used and left alone.
session_user()
{
	local base

	getent passwd "$TEST_USER" >/dev/null && return
	command -v useradd >/dev/null || return
	useradd -m -s /bin/sh -c "$TEST_USER_NOTE" "$TEST_USER" >/dev/null 2>&1 || return
	if ! grep -q "^$TEST_USER:" /etc/subuid 2>/dev/null; then
		base=$(awk -F: '$2 + $3 > m {m = $2 + $3} END {print m < 100000 ? 100000 : m}' \
			/etc/subuid /etc/subgid 2>/dev/null)
		usermod --add-subuids "$base-$((base + 65535))" \
			--add-subgids "$base-$((base + 65535))" "$TEST_USER"
	fi
}

# session_sum FILE: sets SUM, its sha256. A file whose inode did not change since is not read again:
# whoever writes to it, or to its times, changes that.
session_sum()
{
	local seen

	seen=$SESSION/sum.$(stat -Lc '%d-%i-%s-%.Y-%.Z' "$1")
	SUM=$(cat "$seen" 2>/dev/null) && [ -n "$SUM" ] && return
	SUM=$(sha256sum <"$1" | cut -d' ' -f1)
	(umask 077 && echo "$SUM" >"$seen.$$") && mv "$seen.$$" "$seen"
}

# Sets PINFOLD_COPY: the binary under test where the ordinary user can execute it, with its hash in
# the path so that a rebuilt binary is another file and a running one is never written to.
session_binary()
{
	local binary=${PINFOLD:-$PROJECT_DIR/build/pinfold} dir

	case $binary in
	/*) ;;
	*) binary=$PROJECT_DIR/$binary ;;
	esac
	if ! [ -x "$binary" ]; then
		echo "Bail out! $binary is not built"
		exit 1
	fi
	session_sum "$binary"
	PINFOLD_SHA256=$SUM
	dir=$SESSION/pinfold/$PINFOLD_SHA256
	PINFOLD_COPY=$dir/pinfold
	session_lock
	if ! [ -x "$PINFOLD_COPY" ]; then
		(umask 022 && mkdir -p "$dir")
		install -m 0755 "$binary" "$PINFOLD_COPY.new"
		mv "$PINFOLD_COPY.new" "$PINFOLD_COPY"
	fi
	session_unlock
}
