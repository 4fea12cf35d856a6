#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: groups
#
# An ordinary user's sandbox has his id and his groups: an unprivileged user namespace cannot drop
# them. What lies in a shown directory for him or a group of his alone must not be for the sandbox.
. "$(dirname "$0")/../lib/escape.sh"

claim "C12 what is for the caller or his groups alone is not there"

GROUP=64321

# private_file MODE OWNER PATH: holds the secret.
private_file()
{
	mkdir -p "$(dirname "$3")"
	echo "$SECRET" >"$3"
	chown "$2" "$3"
	chmod "$1" "$3"
}

private_host()
{
	SECRET=$(canary_value)
	echo "_VALUE=$SECRET" | canary_patterns >>"$EVIDENCE/patterns"
	mkdir -p "$M/etc" "$M/local"
	cp /etc/passwd /etc/group "$M/etc"
	echo "keepers:x:$GROUP:$USER_NAME" >>"$M/etc/group"
	private_file 0644 ":$GROUP" "$M/etc/ssl/private/key"
	private_file 0640 ":$GROUP" "$M/etc/ssl/certs/beside"
	private_file 0600 "$USER_NAME" "$M/etc/perl/own"
	private_file 0640 ":$GROUP" "$M/etc/python3/a/b/c/deep"
	private_file 0644 "$USER_NAME" "$M/local/company/key"
	private_file 0600 "$USER_NAME" "$M/local/etc/token"
	echo open | tee "$M/etc/ssl/certs/open" "$M/etc/python3/a/b/open" >"$M/local/etc/open"
	chgrp "$GROUP" "$M/etc/ssl/private"
	chmod 0710 "$M/etc/ssl/private"
	chown "$USER_NAME" "$M/local/company"
	chmod 0700 "$M/local/company"
	chmod 0755 "$M/etc" "$M/local"
}

# shown WHAT FILE...: only the last of them can be read.
shown()
{
	rm -f "$M/run/pinfold/private" # what was seen a moment ago
	inside -- sh -c 'for f do cat "$f" 2>/dev/null; done; cd /etc/ssl/private && ls -a; true' sh "${@:2}"
	ran
	KIND=READ same "$1" "$(grep -vxE '\.|\.\.' "$OUT")" open
}

attack()
{
	[ "$EUID" = 0 ] || {
		skip_mode "only root can make files of another group"
		return
	}
	private_host
	INSIDE_BIND=("$M/etc" /etc)
	shown "in /etc" /etc/ssl/private/key /etc/ssl/certs/beside /etc/perl/own \
		/etc/python3/a/b/c/deep /etc/ssl/certs/open
	inside -- cat /etc/python3/a/b/open
	ran
	KIND=READ same "in /etc, as just seen" "$(cat "$OUT")" open
	inside -- sh -c 'cat /etc/ssl/private/key /etc/ssl/certs/beside 2>/dev/null; true'
	ran
	KIND=READ same "hidden as just seen" "$(cat "$OUT")" ""
	INSIDE_BIND=("$M/local" /usr/local)
	shown "in /usr/local" /usr/local/company/key /usr/local/etc/token /usr/local/etc/open
	INSIDE_BIND=()
}

run_case
