#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Groups E, E14, F04, F08 and N05 of the attacks, for layers at rest and the commands on them: what was hidden
# stays hidden, what one command left never leads the next out, and the store is nobody else's.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# F04: attributes by which overlayfs is told things.
POISON='import os, sys
def put(path, name, value):
    for prefix in ("user.overlay.", "trusted.overlay.", "user.overlay.overlay."):
        try:
            os.setxattr(path, prefix + name, value, follow_symlinks=False)
        except OSError:
            pass
os.mkdir("window"); put("window", "redirect", b"/home/user/gone")
os.mkdir("window2"); put("window2", "redirect", b"gone")
os.mkdir("window3"); put("window3", "redirect", b"/etc"); put("window3", "opaque", b"n")
put("kept", "opaque", b"y"); put("kept", "opaque", b"x")
open("kept/added", "w").write("added\n")
open("kept/white", "w").close(); put("kept/white", "whiteout", b"y")
put("file", "metacopy", b""); put("file", "redirect", b"/home/user/gone/secret")
open("copy", "w").close(); put("copy", "metacopy", b""); put("copy", "redirect", b"/home/user/gone/secret")
put("copy", "origin", bytes(range(32))); put(".", "opaque", b"y"); put(".", "impure", b"y")
put("file", "upper", b"x"); put("kept", "nlink", b"U+1"); put("file", "protattr", b"x")'

overlay_attributes()
{
	local who=("$@")

	fresh p
	sh_in p 'mkdir gone kept; echo hidden-secret >gone/secret; echo 1 >kept/one; echo content >file'
	sh_in p 'rm -rf gone'
	pinfold exec "${who[@]}" --workdir /home/user p -- python3 -c "$POISON"
	exits 0 "attributes of overlayfs ${who[*]}"
	sh_in p 'ls window window2 window3; cat copy; cat file; cat kept/one kept/added; ls kept; find . -type f | xargs grep -l hidden'
	prints 'window:

window2:

window3:
content
1
added
added
one
white' "show nothing that is hidden, and hide nothing"
	sh_in p 'rm -rf window window2 window3 kept copy; ls; mkdir kept; ls kept'
	prints file "and break nothing"
	check "no layer has one that was not the kernel's" test -z "$(poisoned)"
	pinfold rm p
}

# poisoned: names in layers with attributes that make overlayfs look elsewhere.
poisoned()
{
	/usr/bin/python3 -I -c '
import os, sys
for at, dirs, files in os.walk(sys.argv[1]):
    for name in dirs + files:
        path = os.path.join(at, name)
        for x in os.listxattr(path, follow_symlinks=False):
            if x.split(".")[-2:-1] == ["overlay"] and x.count("overlay") == 1 and x.split(".")[-1] in (
                    "redirect", "metacopy", "whiteout"):
                print(path, x)' "$M/home/layers"
}

# hostile TEXT CLAIM: a command of root's inside, then one of the user's. It works, or it fails with an
# error that says so; whatever it does, it is inside, and undo brings the workspace back.
hostile()
{
	fresh r
	sh_in r 'echo mine >/home/user/f'
	pinfold exec --time 5s --user root r -- sh -c "V=$VICTIM; $1" # however it ends
	for who in user root; do
		pinfold exec --user $who --workdir / r -- sh -c 'for d in / /proc /dev /tmp /usr /etc /home /home/user /bin /run /var /root /work
			do echo x >$d/made-inside; cat $d/host-file $d/.canary $d/canary; done 2>/dev/null; echo ran'
		if [ "$RC" = 125 ]; then
			check "$2, then $who: refused clearly" grep -qE \
				'^pinfold: (denied|conflict|internal|invalid_argument|not_found|unsupported)(\.[a-z_]+)?: .' "$ERR"
		else
			check "$2, then $who: it runs, or is not found" test "$RC" = 0 -o "$RC" = 127 -o "$RC" = 126
		fi
		check "$2, then $who: nothing of the host comes out" not grep -qF -f "$W/secrets" "$OUT" "$ERR"
	done
	check "$2: nothing is made on the host" test "$(victim_tree)" = "$BEFORE"
	pinfold rollback r 2
	ws r cat /home/user/f
	prints mine "$2: rollback brings it back"
	pinfold rm r
	exits 0 "$2: it can be removed"
}

victim_tree()
{
	find "$VICTIM" -printf '%P %y %m %u %s %T@\n' | sort
}

# Renamed where the kernel lets it, else emptied.
AWAY='away() { python3 -c "import os, sys; os.rename(\"/\" + sys.argv[1], \"/was\")" $1 || rm -rf /$1; }; away'

replaced_system()
{
	local d

	[ "$MODE" = R ] || return
	VICTIM=$M/victim
	mkdir "$VICTIM"
	echo host-file-content >"$VICTIM/host-file"
	chmod -R 0777 "$VICTIM"
	{ echo host-file-content; echo "$CANARY_ROOT_VALUE"; echo "$CANARY_SRV_VALUE"; } >"$W/secrets"
	BEFORE=$(victim_tree)
	for d in proc dev tmp usr etc home bin run var sys root lib64; do
		hostile "$AWAY $d; ln -s \$V /$d" "/$d is a link to a directory of the host"
		hostile "$AWAY $d; ln -s ../../../../../../../..\$V /$d" "/$d is a relative link"
	done
	hostile 'rm -rf /home/user; ln -s /root /home/user' "home is a link to /root"
	hostile 'rm -rf /home/user; ln -s /proc/1/root /home/user' "home is a magic link"
	hostile 'rm -rf /home/user /home; echo file >/home' "home is a file"
	hostile 'rm -rf /tmp /var; rm -f /etc/passwd /etc/group /etc/hosts /etc/resolv.conf; mkdir /etc/passwd; ln -s $V/host-file /etc/hosts' \
		"files of /etc are others"
	hostile 'cd /etc; for f in *; do rm -rf "$f"; ln -s $V "$f"; done' "all of /etc is links"
	hostile 'cd /usr; for f in *; do rm -rf "$f"; ln -s $V "$f"; done' "all of /usr is links"
	hostile 'chmod 0 / /home /home/user /etc /usr; chown 77:77 /home/user' "nothing may be entered"
	hostile 'rm -f /bin /lib64 /lib /sbin; mkdir /bin /lib64; ln -s $V /lib; mkfifo /sbin' "the links into /usr are others"
	hostile 'mkfifo /x; rm -rf /work; ln -s $V /work; mkdir -p /l /m /r /b.root' "names that the set-up uses"
}

# What is mounted is not the same every day: where nothing was yesterday, a link waits for what the
# host has today.
waiting_links()
{
	[ "$MODE" = R ] || return
	mkdir "$M/etc"
	cp -a /etc/. "$M/etc"
	rm -rf "$M/etc/ssl" "$M/etc/alternatives" "$M/etc/ld.so.cache"
	fresh y
	CALL_OUTER=(unshare -m sh -c 'mount --bind "$0" /etc && exec "$@"' "$M/etc")
	pinfold exec --user root y -- sh -c 'cd /etc; rm -rf ssl alternatives ld.so.cache; ln -s '"$VICTIM"' ssl
		ln -s '"$VICTIM"' alternatives; ln -s '"$VICTIM/host-file"' ld.so.cache; ls -l ssl alternatives'
	check "links wait where something will be" test "$(grep -c -- '->' "$OUT")" = 2
	CALL_OUTER=()
	pinfold exec --user root y -- sh -c 'cat /etc/ssl/host-file /etc/alternatives/host-file /etc/ld.so.cache
		echo x >/etc/ssl/made; cat /proc/self/mountinfo'
	check "nothing is mounted through them" not grep -qF -e host-file-content -e "$VICTIM" "$OUT" "$ERR"
	check "and nothing is made behind them" test "$(victim_tree)" = "$BEFORE"
	check "it ran, or said why not" test "$RC" = 0 -o -s "$ERR"
	pinfold rm y
}

# What is looked at from inside: nothing tells where the layers are.
hidden_store()
{
	fresh mine
	fresh other
	sh_in other 'echo other-workspace-secret >secret'
	sh_in mine 'echo 1 >a'
	sh_in mine 'echo 2 >b; rm a'
	sh_in mine 'cat /proc/self/mountinfo /proc/self/mounts /proc/1/mountinfo; ls -l /proc/*/fd /proc/*/cwd /proc/*/root' 2>/dev/null
	check "no path of the store in what the kernel tells" not grep -qE "$M|/layers|store\.db" "$OUT"
	sh_in mine 'find / \( -path /proc -o -path /usr \) -prune -o \( -name store.db\* -o -name w.root -o -name locks -o -name layers -o -name a \) -print' 2>/dev/null
	prints "" "nor a name of it in the tree"
	sh_in mine 'grep -rs other-workspace-secret / --exclude-dir=proc --exclude-dir=usr --exclude-dir=sys; ls '"$M"'/home; cat '"$M"'/home/store.db'
	check "nor a file of another workspace" test ! -s "$OUT"
	pinfold exec mine -- python3 -c 'import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("f", ctypes.c_ubyte * 128)]
for path in ("/", "/home/user", "/usr"):
    at = os.open(path, os.O_RDONLY)
    for ino in (2, 11):
        h = Handle(8, 1)
        h.f[0] = ino
        print(libc.open_by_handle_at(at, ctypes.byref(h), os.O_RDONLY) < 0)'
	check "no file is opened by its handle" test "$(sort -u "$OUT")" = True
	sh_in mine 'ln -s /proc/self/fd fds; ln -s /proc/1/root root; ln -s /proc/1/cwd cwd; for i in 3 4 5 6 7 8 9; do ln -s /proc/self/fd/$i w$i; done'
	for d in w3 w5 w7 w9 root cwd fds; do
		pinfold exec --workdir "/home/user/$d" mine -- sh -c 'ls -la . ..; pwd -P'
		check "the working directory $d is no way out" not grep -qE "store.db|w\.root|$M" "$OUT"
	done
	pinfold rm mine
	pinfold rm other
}

# Two who have the same frozen layer have no channel in it.
no_channel()
{
	fresh one
	sh_in one 'mkfifo pipe; echo 1 >f; chmod 666 f pipe'
	pinfold fork one two
	call_start READER exec one -- sh -c 'exec 9<>pipe; echo ready; exec 8<f; flock -x 8; cat <&9'
	ready READER
	pinfold exec --time 700ms --grace 100ms two -- sh -c 'exec 9<f; flock -n 9 && echo free; exec 9<>pipe; echo through-the-pipe >&9; tail -f /dev/null'
	prints free "a lock on a file of a layer is one's own"
	kill "$READER_PID"
	inside_wait READER
	prints ready "so is a pipe"
	pinfold rm one
	pinfold rm two
}

# E14: two who share a workspace have what lay there when they began, and each its own from then on. A name of a
# socket that one listens on leads the other nowhere, so no descriptor can be passed.
no_socket()
{
	fresh one
	sh_in one 'python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"s\")"; ls -l s'
	check "a socket in a layer" grep -q '^s' "$OUT"
	call_start LISTENER exec --share one -- python3 -c '
import os, socket
os.unlink("s")
for name in ("s", "other", "\0pinfold"):
    s = socket.socket(socket.AF_UNIX)
    s.bind(name)
    s.listen()
    globals()[repr(name)] = s
print("ready", flush=True)
s.accept()'
	ready LISTENER
	pinfold exec --share one -- python3 -c '
import socket
for name in ("s", "other", "\0pinfold"):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(name)
        print("open")
    except (ConnectionRefusedError, FileNotFoundError, PermissionError) as e:
        print(type(e).__name__)'
	prints $'ConnectionRefusedError\nFileNotFoundError\nConnectionRefusedError' "leads to nobody who shares it"
	kill "$LISTENER_PID"
	inside_wait LISTENER
	pinfold rm one
}

# F08: what a command has of a secret is a placeholder, so no layer, snapshot or record has more.
no_secret()
{
	local value=canary-6f1c9d0b2e CALL_ENV=("PINFOLD_CONFIG=$M/config")

	printf %s "$value" >"$W/value"
	echo 'allow: [{host: api.example.org, port: 443, inject: [{secret: API_KEY, header: Authorization}]}]' \
		>"$W/policy.yaml"
	own "$W/value" "$W/policy.yaml"
	pinfold secret set API_KEY --file "$W/value"
	exits 0 "a secret is kept"
	fresh one
	pinfold exec --policy "$W/policy.yaml" one -- sh -c 'env >all; cat /proc/self/environ >raw; grep -c ^API_KEY=pfs_ all'
	prints 1 "a command has a placeholder"
	pinfold snap one mark
	pinfold export one -o "$M/run/one.tar"
	wait_for 40 settled
	check "no layer, record or archive has the value" test -z "$(grep -rlF "$value" "$M/home" "$M/run/one.tar")"
	pinfold secret rm API_KEY
	pinfold rm one
	rm -f "$W/value" "$W/policy.yaml" "$M/run/one.tar"
}

# N05: the record is not among the files.
record()
{
	fresh n
	sh_in n 'for f in store.db log history .pinfold/store.db result.json; do mkdir -p $(dirname $f); echo "{}" >$f; done; exit 5'
	sh_in n 'rm -rf .* * /home/user/*; echo "{\"status\": \"exited\"}"; exit 6'
	pinfold log --json n
	doc_is '[6, 5]' '[s["exit_status"] for s in d["items"] if s["kind"] == "exec"]' "the log is what happened"
	pinfold rm n
}

# as UID ARG...: pinfold called by somebody else, whom the host knows.
as()
{
	local USER_ID=$1 CALL_WRAP=()

	[ "$MODE" = U ] || CALL_WRAP=(/usr/bin/setpriv --reuid "$1" --regid "$1" --clear-groups)
	pinfold "${@:2}"
}

# at DIR ARG...: with that data directory.
at()
{
	local CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$1")

	pinfold "${@:2}"
}

whose()
{
	fresh d
	sh_in d 'echo private >f'
	check "the data directory is its owner's" test "$(stat -c %a "$M/home")" = 700
	check "and the layers are" test "$(stat -c %a "$M/home/layers")" = 700
	chmod 0755 "$M/home"
	ws d true
	check "it is shut again when it was opened" test "$(stat -c %a "$M/home")" = 700
	[ "$EUID" = 0 ] || return
	check "another user cannot look in" not setpriv --reuid 64101 --regid 64101 --clear-groups \
		ls "$M/home/layers"
	chmod 0755 "$M/home"
	as 65534 ls
	check "nor have it as his own" test "$RC" = 125
	check "and is told so" grep -qE '^pinfold: denied: .*(not yours|Permission)' "$ERR"
	check "it was not touched" test "$(stat -c '%u %a' "$M/home")" = "$USER_ID 755"
	chmod 0700 "$M/home"
	mkdir -m 0777 "$W/theirs"
	chown 64101:64101 "$W/theirs"
	at "$W/theirs" ls
	refuses denied "$W/theirs" "a data directory of somebody else"
	check "nothing is made in it" test -z "$(ls "$W/theirs")"
}

# store_sum: all that the store is.
store_sum()
{
	(cd "$M/home" && find . -type f -size +0 ! -name '*-shm' -exec sha256sum {} + | sort && find layers | sort)
}

# clear CODE CLAIM: an error that says what it is and what to do, and nothing changed.
clear()
{
	check "$2: status 125" test "$RC" = 125
	check "$2: code $1" grep -qE "^pinfold: $1(\.[a-z_]+)?: " "$ERR"
	check "$2: remedy" grep -q '^pinfold: remedy: .' "$ERR"
	check "$2: the store is as it was" test "$(store_sum)" = "$STORE"
}

cannot_write()
{
	[ "$EUID" = 0 ] || { chmod a-w "$M/home" "$M/home/layers"; ws d true; check "read-only" test "$RC" = 125
		chmod u+w "$M/home" "$M/home/layers"; return; }
	wait_for 40 settled
	STORE=$(store_sum)
	CALL_OUTER=(unshare -m sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' "$M/home")
	for verb in "new x" "exec d -- true" "snap d" "undo d" "rm d"; do
		# shellcheck disable=SC2086
		pinfold $verb
		clear denied "a read-only data directory: ${verb%% *}"
	done
	CALL_OUTER=()
	ws d cat f
	prints private "and works when it can be written"
}

other_versions()
{
	wait_for 40 settled
	version=$(sql 'PRAGMA user_version')
	sql 'PRAGMA user_version = 99'
	STORE=$(store_sum)
	for verb in "ls" "exec d -- true" "undo d" "rm d"; do
		# shellcheck disable=SC2086
		pinfold $verb
		clear unsupported "a store of a newer version: ${verb%% *}"
	done
	sql "PRAGMA user_version = $version"
	ws d cat f
	prints private "it is whole"
	wait_for 40 settled
	mkdir "$W/broken"
	chmod 0700 "$W/broken"
	head -c 100000 /dev/urandom >"$W/broken/store.db"
	own "$W/broken"
	STORE=$(sha256sum <"$W/broken/store.db")
	at "$W/broken" ls
	check "a store that is rubbish: refused" grep -qE '^pinfold: internal(\.damaged)?: .*damaged' "$ERR"
	check "and has a remedy" grep -q '^pinfold: remedy: ' "$ERR"
	check "it is left alone" test "$(sha256sum <"$W/broken/store.db")" = "$STORE"
	rm "$W/broken/store.db"
	ln -s "$M/home/store.db" "$W/broken/store.db"
	at "$W/broken" ls
	check "a store that is a link: refused" test "$RC" = 125
	ln -s "$M/home" "$W/way"
	at "$W/way" ls
	exits 0 "a data directory that is reached by a link"
	at "$W/way" exec d -- cat f
	prints private "is a data directory"
	pinfold rm d
}

# A layer that is gone, or of a shape that nobody made.
missing_layer()
{
	fresh g
	sh_in g 'echo 1 >f'
	wait_for 40 settled
	mv "$M/home/layers" "$M/home/moved"
	pinfold exec g -- cat f
	check "layers that are gone: a clear error" grep -qE '^pinfold: [a-z_.]+: .' "$ERR"
	exits 125 "and nothing runs"
	rm -rf "$M/home/layers"
	mv "$M/home/moved" "$M/home/layers"
	ws g cat f
	prints 1 "they are back"
	pinfold rm g
}

checks()
{
	overlay_attributes
	[ "$MODE" = U ] || overlay_attributes --user root
	replaced_system
	waiting_links
	hidden_store
	no_channel
	no_socket
	no_secret
	record
	whose
	cannot_write
	other_versions
	missing_layer
}

run_checks
