#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Delta synchronisation over HTTP: the same bytes as on one machine, whole or not at all, each tenant
# with his own; one that was cut off goes on.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"

V=/v1/workspaces

# cut_after BYTES: a socket $M/cut that passes connections on to the daemon's, until so many bytes went
# there; 0: all of them.
cut_after()
{
	rm -f "$M/cut"
	/usr/bin/python3 -I -c '
import os, select, socket, sys
path, to, most, user = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
s = socket.socket(socket.AF_UNIX)
s.bind(path + ".new")
os.chown(path + ".new", user, -1)
s.listen()
os.rename(path + ".new", path)
os.setuid(user)
a = s.accept()[0]
b = socket.socket(socket.AF_UNIX)
b.connect(to)
n, closed = 0, 0
while closed < 2:
    for f in select.select([a, b], [], [])[0]:
        data = f.recv(4096)
        other = b if f is a else a
        n += len(data) if f is a else 0
        if not data or (most and n > most):
            sys.exit(0)
        other.sendall(data)' "$M/cut" "$M/run/daemon-http.sock" "$1" "$OWNER" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	wait_for 30 test -S "$M/cut"
}

# succeeds NAME
succeeds()
{
	check "$1" test "$RC" = 0
}

# sent EXPRESSION: of the last push or pull.
sent()
{
	body "$1"
}

same_bytes()
{
	pinfold new near
	pinfold push --json near "$D"
	local near
	near=$(sent 'd["wire_bytes"]')
	pinfold rm near # or what it has is not sent once more
	pinfold push --json --url "$U" far "$D"
	succeeds "a push over HTTP"
	body_is "$near" 'd["wire_bytes"]' "sends what a push on one machine does"
	body_has 'd["files_changed"] == 3 and d["snapshot"] == 2' "and says what it made"
	pinfold new near
	pinfold push --json near "$D"
	body_has 'd["chunks_sent"] == 0 and d["wire_bytes"] < 1000' "what one workspace has, another gets for nothing"
	pinfold push --json --url "$U" far "$D"
	body_has 'd["chunks_sent"] == 0 and d["wire_bytes"] < 1000' "again: nothing travels"
	printf 'more\n' >>"$D/big"
	rm "$D/sub/small"
	pinfold push --json near "$D"
	near=$(sent 'd["wire_bytes"]')
	pinfold push --json --url "$U" far "$D"
	body_is "$near" 'd["wire_bytes"]' "a change costs the same, too"
	body_has 'd["files_changed"] == 1 and d["files_removed"] == 1' "one changed, one is gone"
	api GET $V/far/log
	body_is "push push push new" '" ".join(i["kind"] for i in d["items"])' "each is a command of its history"
	pinfold pull --json --url "$U" far "$M/back"
	succeeds "a pull over HTTP"
	check "brings all of it" diff -r "$D" "$M/back"
	printf 'mine\n' >"$M/back/big"
	pinfold pull --json --url "$U" far "$M/back"
	check "what changed here is a conflict, as ever" test "$(body 'd["error"]["code"].split(".")[0]')" = conflict
	pinfold exec far -- sh -c 'echo made > made'
	pinfold push --json --mirror --url "$U" far "$D"
	body_is 1 'd["files_removed"]' "a mirror removes what is there alone"
	pinfold push --json --url "$U" --to /home/user/x far "$D"
	pinfold exec far -- cmp x/big big
	succeeds "into another directory"
}

pushed_again()
{
	cut_after 0
	pinfold push --json --url "unix:$M/cut" cut "$M/large"
	! grep -q '^pinfold: busy:' "$ERR"
}

cut_off()
{
	local all

	api POST $V '{"name": "cut"}'
	cut_after 11000000
	pinfold push --json --url "unix:$M/cut" cut "$M/large"
	check "one that is cut off fails" test "$RC" = 125
	api GET $V/cut/log
	body_is 1 'len(d["items"])' "and nothing of it is there"
	all=$(stat -c %s "$M/large/f")
	wait_for 20 pushed_again # whoever took the first may not have noticed yet
	succeeds "again, it goes through"
	body_has 'd["wire_bytes"] < int(a[0]) - 3000000' "and what had arrived is not sent twice" "$all"
	pinfold exec cut -- sha256sum f
	check "the file is whole" grep -q "$(sha256sum <"$M/large/f" | cut -d' ' -f1)" "$OUT"
}

refused()
{
	local key=key=00000000000000000000000000000000

	api POST "$V/far/sync?direction=push&$key"
	answers_error 400 invalid_argument "without Upgrade"
	api POST "$V/far/sync" '' -H 'Connection: Upgrade' -H 'Upgrade: pinfold-sync'
	answers_error 400 invalid_argument "without a key"
	api POST "$V/far/sync?direction=push&key=../../../../../../../../../../xxx" '' -H 'Connection: Upgrade' \
		-H 'Upgrade: pinfold-sync'
	answers_error 400 invalid_argument "a key that is a path"
	api POST "$V/far/sync?direction=push&$key&to=/proc" '' -H 'Connection: Upgrade' -H 'Upgrade: pinfold-sync'
	answers_error 400 invalid_argument "a place that is not kept"
	api POST "$V/nope/sync?direction=pull&$key" '' -H 'Connection: Upgrade' -H 'Upgrade: pinfold-sync'
	answers_error 404 not_found "a workspace that is not there"
	api POST "$V/far/sync?direction=push&$key" '' -m 5 -H 'Connection: Upgrade' -H 'Upgrade: pinfold-sync' \
		--data-binary 'this is not the protocol of a synchronisation'
	check "what is not its protocol changes nothing" test "$RC" = 101 -o "$RC" = 400
	api GET $V/far/log
	body_is "$1" 'len(d["items"])' "nothing of it happened"
	pinfold push --url https://127.0.0.1:1 far "$D"
	refuses unsupported https "TLS is not spoken"
	pinfold push --url ftp://x far "$D"
	refuses invalid_argument ftp "another scheme"
	pinfold push --url "$U" nope "$D"
	refuses not_found nope "a name that is not there"
}

tenants()
{
	pinfold token new --tenant two --scope workspaces
	cp "$OUT" "$M/two"
	pinfold token new --tenant three --scope run
	cp "$OUT" "$M/three"
	own "$M/two" "$M/three"
	local tcp=http://127.0.0.1:$PORT
	pinfold push --url "$tcp" --token-file "$M/two" far "$D"
	refuses not_found far "a workspace of another tenant"
	pinfold pull --url "$tcp" --token-file "$M/two" far "$M/back"
	refuses not_found far "nor can he read it"
	pinfold push --url "$tcp" --token-file "$M/three" far "$D"
	refuses denied scope "a token without the scope"
	pinfold push --url "$tcp" far "$D"
	refuses unauthenticated token "none at all"
	TOKEN=$(cat "$M/two") api POST $V '{"name": "his"}'
	pinfold push --url "$tcp" --token-file "$M/two" his "$D"
	succeeds "into his own"
}

checks()
{
	needs curl setpriv "synchronisation over HTTP" || return
	daemon_mode
	OWNER=0
	[ "$MODE" = R ] || OWNER=$USER_ID
	D=$M/tree
	U=unix:$M/run/daemon-http.sock
	PORT=$(free_port)
	mkdir -p "$D/sub" "$M/back" "$M/large"
	head -c 900000 /dev/urandom >"$D/big"
	echo small >"$D/sub/small"
	ln -s big "$D/link"
	head -c 16000000 /dev/urandom >"$M/large/f"
	own "$D" "$M/back" "$M/large"
	daemon_start --warm 1 --warm-python 0 --listen "127.0.0.1:$PORT"
	api POST $V '{"name": "far"}'
	same_bytes
	api GET $V/far/log
	refused "$(body 'len(d["items"])')"
	cut_off
	tenants
	daemon_stop
}

run_checks
