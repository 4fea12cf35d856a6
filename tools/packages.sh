# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034 # used by who sources it
# Which packages of Debian 12 and Ubuntu 24.04 what needs, and a way to have them. To be sourced.

BUILD_PACKAGES="gcc make libc6-dev linux-libc-dev libseccomp-dev libssl-dev libsodium-dev nettle-dev libgmp-dev libsqlite3-dev
	libzstd-dev libarchive-dev libjansson-dev libyaml-dev zlib1g-dev liblzma-dev libc-ares-dev libnghttp2-dev python3"

# perl has prove, uidmap newuidmap, bsdextrautils col; the rest is what the tests run inside and
# compare with. Java and npm are tried where they are, and not worth what they weigh.
TEST_PACKAGES="perl uidmap passwd procps util-linux bsdextrautils e2fsprogs bubblewrap g++ git patch strace
	gdb nodejs r-base-core python3-numpy python3-pandas python3-matplotlib python3-pip
	python3-requests groff-base gpg gpg-agent mandoc zsh fish libarchive-tools xz-utils zstd curl wget openssl swtpm tpm2-tools iproute2 ca-certificates"

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "this needs root: run it as root, or install sudo" >&2
		return 1
	fi
}

is_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# packages_install NAME...: what is missing of them; asks nobody anything.
packages_install()
{
	missing=
	for name in "$@"; do
		is_installed "$name" || missing="$missing $name"
	done
	[ -n "$missing" ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "no apt-get here; install what these packages hold:$missing" >&2
		return 1
	fi
	echo "installing:$missing"
	log=$(mktemp)
	# shellcheck disable=SC2086 # a list of names
	if ! as_root env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update && exec apt-get install -y \
		--no-install-recommends "$@"' install $missing </dev/null >"$log" 2>&1; then
		tail -n 30 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}
