#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --dir: the directory is at /work, can be changed there, and is never changed itself; files[] tells
# what a run changed.
. "$(dirname "$0")/../lib/cli.sh"

# Everything about a tree that can be told apart.
tree_of()
{
	(cd "$1" && find . -printf '%p %y %m %U %G %s %T@ %C@ %l\n' | sort &&
		find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

make_tree()
{
	D=$W/project
	mkdir -p "$D/sub/deep" "$D/private" "$D/gone"
	echo one >"$D/one"
	echo two >"$D/sub/two"
	echo deep >"$D/sub/deep/file"
	echo secret >"$D/private/key"
	echo mine >"$D/mine"
	echo '#!/bin/sh
echo script "$@"' >"$D/script"
	ln -s one "$D/link"
	ln -s /etc/shadow "$D/out"
	ln "$D/one" "$D/hard"
	touch "$D/gone/a" "$D/gone/b" "$D/with space"
	own "$W"
	chmod 0600 "$D/mine" "$D/private/key"
	chmod 0700 "$D/private"
	chmod 0755 "$D/script"
	tree_of "$D" >"$EVIDENCE/before"
}

unchanged()
{
	tree_of "$D" >"$EVIDENCE/after"
	check "$1: the directory is as it was" cmp "$EVIDENCE/before" "$EVIDENCE/after"
}

reading()
{
	inside --dir "$D" -- cat /work/one /work/sub/two /work/sub/deep/file /work/link
	prints $'one\ntwo\ndeep\none' "files can be read"
	inside --dir "$D" -- cat /work/mine /work/private/key
	prints $'mine\nsecret' "what only the owner may read can be read inside"
	inside --dir "$D" -- stat -c '%u %g %a' /work/mine /work/private /work
	prints $'1000 1000 600\n1000 1000 700\n1000 1000 755' "and belongs to the user there"
	inside --dir "$D" -- cat /work/out
	check "a link that leads out leads nowhere" test "$RC" != 0 -a ! -s "$OUT"
	inside --dir "$D" -- /work/script a
	prints "script a" "programs can be executed"
	inside --dir "$D" --workdir /work/sub -- cat two ../one
	prints $'two\none' "--workdir below it"
	inside --dir "$D" -- pwd
	prints /home/user "the working directory is home all the same"
	inside --dir project -- cat /work/one
	prints one "a relative path"
	inside --dir . --workdir /work -- cat project/one
	prints one "--dir ."
	ln -s project "$W/alias"
	inside --dir "$W/alias" -- cat /work/one
	prints one "a link to a directory"
	inside -- ls /work
	check "without --dir there is nothing at /work" test "$RC" != 0 -o ! -s "$OUT"
	unchanged "reading"
}

writing()
{
	inside_json --dir "$D" --workdir /work -- sh -c \
		'echo more >>one; echo new >added; mkdir newdir
		echo x >newdir/file; rm sub/two; rm -r gone; chmod 755 mine; mv script moved
		ln -s one ln2; rm link; cat one'
	exits 0 "everything can be changed inside"
	json_is $'one\nmore' 'd["stdout"]["text"].strip()' "and the change is seen there"
	document "changes"
	unchanged "writing"
	change_is added file /work/added
	change_is added directory /work/newdir
	change_is added file /work/newdir/file
	change_is added file /work/moved
	change_is added symlink /work/ln2
	change_is modified file /work/one
	change_is modified file /work/mine
	change_is deleted file /work/sub/two
	change_is deleted file /work/script
	json_has 'files["/work/link"]["change"] == "deleted"' "deleted: /work/link"
	json_has '"/work/gone" in files and files["/work/gone"]["change"] == "deleted"' \
		"deleted: the directory /work/gone"
	json_has \
		'not set(files) & {"/work", "/work/sub", "/work/hard", "/work/sub/deep",
		"/work/out"}' \
		"nothing that was not changed is listed"
	json_has 'files["/work/one"]["sha256"] == hashlib.sha256(b"one\nmore\n").hexdigest()' \
		"the hash of a changed file"
	inside --dir "$D" -- sh -c 'ls /work/added; cat /work/one'
	prints one "the next run sees nothing of it"
	inside_json --dir "$D" -- sh -c 'cd /work; mv sub sub2; cat sub2/two'
	json_is two 'd["stdout"]["text"].strip()' "a directory with files can be renamed"
	unchanged "renaming"
	inside_json --dir "$D" -- sh -c \
		'touch /tmp/t /dev/shm/s /run/r; echo h >~/h; echo w >/work/w'
	json_is '["/home/user/h", "/work/w"]' 'sorted(files)' "files of home and /work are listed"
}

change_is()
{
	json_has 'files[a[0]]["change"] == a[1] and files[a[0]]["type"] == a[2]' "$1: $3" "$3" \
		"$1" "$2"
}

# What is the caller's own: nobody else's files become readable because root or a user brings them.
others()
{
	[ "$EUID" = 0 ] && [ "$MODE" = U ] || return
	mkdir "$W/mixed"
	echo root >"$W/mixed/root"
	echo all >"$W/mixed/all"
	chmod 0600 "$W/mixed/root"
	chmod 0755 "$W/mixed"
	inside --dir "$W/mixed" -- cat /work/root
	check "a file of root's stays unreadable to a user's sandbox" test "$RC" != 0 -a ! -s "$OUT"
	inside --dir "$W/mixed" -- cat /work/all
	prints all "one that everybody may read can be read"
}

# A sandbox that is killed in the middle of writing leaves the directory alone, too.
killed()
{
	inside --time 400ms --grace 100ms --dir "$D" -- sh -c 'while :; do echo x >>/work/one
		rm -f /work/script; touch /work/$$; done'
	exits 124 "killed while it writes"
	unchanged "killed"
	inside --disk 1M --dir "$D" -- sh -c 'head -c 5M /dev/zero >/work/big || exit 28'
	exits 28 "a full disk"
	unchanged "a full disk"
}

refusals()
{
	inside --dir "$W/no-such" -- true
	refuses not_found --dir "a directory that is not there"
	inside --dir "$D/one" -- true
	refuses invalid_argument --dir "a file"
	inside --dir '' -- true
	refuses invalid_argument --dir "an empty name"
	if [ "$MODE" = R ]; then
		inside --dir /sys -- true
		refuses unsupported --dir "a filesystem whose files cannot be given to a sandbox"
	fi
	if [ "$MODE" = R ] && unshare -m true 2>/dev/null; then
		mkdir -p "$W/outer/inner"
		CALL_OUTER=(unshare -m sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$W/outer/inner")
		inside --dir "$W/outer" -- ls -A /work
		CALL_OUTER=()
		prints "" "a filesystem that is mounted below is not shown"
		says '^pinfold: denied path: /work/inner: hidden: another filesystem' "and that is why"
	fi
	[ "$MODE" = U ] || return
	inside --dir /dev -- true
	refuses unsupported --dir "a directory with other filesystems below it"
	inside --dir /root -- ls /work
	[ "$EUID" = 0 ] && refuses denied --dir "a directory that the caller may not read"
}

checks()
{
	make_tree
	reading
	writing
	others
	killed
	refusals
}

run_checks
