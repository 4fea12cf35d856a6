#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: etc-list, etc-mode
#
# Of the host's files a sandbox shows /usr and the names of /etc on a list, and of those only what
# everybody on the host may read: pinfold, as root, could read all. Passwords, users, names of other
# machines and keys are in the rest.
. "$(dirname "$0")/../lib/escape.sh"

claim "C11 of the host's files only /usr and what is listed of /etc show"

MADE_UP="passwd group nsswitch.conf resolv.conf hosts hostname"
LISTED=$(sed -n 's/^ETC("\([^"]*\)".*/\1/p' "$PROJECT_DIR/src/sandbox/host_etc.def")

# Names in /etc that are neither made up nor on the list, in which a * stands for any end.
not_listed()
{
	local name pattern

	while read -r name; do
		for pattern in $MADE_UP $LISTED; do
			# shellcheck disable=SC2053
			[[ $name == $pattern ]] && continue 2
		done
		echo "$name"
	done
}

top()
{
	local name

	for name in bin sbin lib lib32 lib64 libx32; do
		[ -e "/$name" ] && echo $name
	done
	printf '%s\n' dev etc home proc root run sys tmp usr var
}

# shellcheck disable=SC2016
LOOK='ls -A /etc >names; ls -A / >top; find /root /home /var /run /sys ! -path "/home/user*" >rest
	cat names; echo; cat top; echo; cat rest; echo
	cat /etc/passwd /etc/shadow /etc/machine-id /etc/hosts 2>/dev/null
	for f do cat "$f" "/proc/self/root$f" "/proc/1/root$f" "../../../../..$f" 2>/dev/null; done; true'

# part N: the names between two empty lines.
part()
{
	awk -v n="$1" 'BEGIN {RS = ""} NR == n' "$OUT"
}

# A host whose listed files are not for everybody; pinfold alone sees it.
private_etc()
{
	local secret

	secret=$(canary_value)
	echo "_VALUE=$secret" | canary_patterns >>"$EVIDENCE/patterns"
	mkdir -p "$M/etc"
	cp /etc/passwd /etc/group "$M/etc"
	echo open >"$M/etc/protocols"
	echo "$secret" | tee "$M/etc/timezone" >"$M/etc/services"
	chmod 0755 "$M/etc"
	chmod 0644 "$M/etc/protocols"
	chmod 0600 "$M/etc/timezone"
	chmod 0640 "$M/etc/services"
	chown -R "$USER_NAME" "$M/etc"
	private_etc_shown "files"
	mkdir "$M/etc/ssl" "$M/etc/perl"
	echo "$secret" | tee "$M/etc/ssl/key" >"$M/etc/perl/key"
	chown -R "$USER_NAME" "$M/etc"
	chmod 0700 "$M/etc/ssl"
	chmod 0750 "$M/etc/perl"
	private_etc_shown "directories"
}

private_etc_shown()
{
	INSIDE_BIND=("$M/etc" /etc)
	inside -- sh -c 'cd /etc; echo *; cat protocols timezone services ssl/key perl/key 2>/dev/null; true'
	INSIDE_BIND=()
	ran
	KIND=READ same "$1: what is for everybody shows, and nothing else" "$(sed 1d "$OUT")" open
	KIND=READ same "$1: names that are not for everybody" \
		"$(head -1 "$OUT" | grep -woE 'timezone|services|ssl|perl')" ""
}

attack()
{
	inside -- sh -c "$LOOK" sh "$CANARY_ROOT_FILE" "$CANARY_SRV_FILE" "$CANARY_HOME_FILE"
	ran
	KIND=READ same "names in /etc that are not listed" "$(part 1 | not_listed)" ""
	KIND=READ same "names in /" "$(part 2 | LC_ALL=C sort)" "$(top | LC_ALL=C sort)"
	KIND=READ same "what else is there" "$(part 3 | LC_ALL=C sort | paste -sd ' ')" \
		"/home /root /run /sys /var /var/tmp"
	[ "$EUID" = 0 ] && absent "a user of the host" "$TEST_USER"
	[ -s /etc/machine-id ] && absent "the number of the machine" "$(cat /etc/machine-id)"
	[ "$EUID" = 0 ] && private_etc
}

run_case
