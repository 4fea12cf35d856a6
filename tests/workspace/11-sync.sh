#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# push, pull and watch: what travels, what is left out, what is kept, and that a tree comes whole or not
# at all.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# as_user COMMAND...: on the host, as the caller of this mode.
as_user()
{
	local as=()

	[ "$MODE" = U ] && [ "$EUID" = 0 ] && as=(setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups)
	"${as[@]}" "$@"
}

# below DIR: a tree of the host, as find tells it.
below()
{
	(cd "$1" && find . -mindepth 1 -printf '%P %y %m %s %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum -b)
}

# tree DIR: 1,000 files, some large, of every kind that travels.
tree()
{
	as_user mkdir "$1"
	as_user /usr/bin/python3 -I -c '
import os, random, sys
os.umask(0o022)
os.chdir(sys.argv[1])
r = random.Random(11)
for i in range(30):
    os.makedirs(f"d{i}/sub")
    for k in range(34):
        with open(f"d{i}/sub/f{k}", "wb") as f:
            f.write(b"%d %d\n" % (i, k) + r.randbytes(r.randrange(1500)))
open("large", "wb").write(r.randbytes(16 << 20))
os.symlink("large", "link"); os.symlink("../../up", "d1/out"); os.symlink("/etc/passwd", "abs")
open("run", "w").write("#!/bin/sh\n"); os.chmod("run", 0o755)
open("strange\nname", "w").write("s"); open(b"\xff\xfe", "w").write("s"); os.mkdir("empty")
open("none", "w").close()
open("text", "w").write("".join(f"line {n}\n" for n in range(2000)))' "$1"
}

wire()
{
	doc 'd["wire_bytes"]'
}

first_and_again()
{
	local all

	tree "$W/t"
	below "$W/t" >"$W/want"
	fresh s
	pinfold push --json s t
	exits 0 "the first push"
	doc_has 'd["snapshot"] == 2 and d["files"] > 1000 and d["skipped"] == 0 and d["files_removed"] == 0' "its document"
	all=$(wire)
	check "which is what was sent" test "$all" -gt 16000000
	sh_in s 'find . -type f -printf x | wc -c; ls -l run | cut -c1-10; readlink abs d1/out link; cat empty/x none 2>/dev/null; tail -n 1 text'
	prints $'1026\n-rwxr-xr-x\n/etc/passwd\n../../up\nlarge\nline 1999' "it is all there"
	mkdir "$W/back"
	own "$W/back"
	pinfold pull --json s back
	exits 0 "pull into an empty directory"
	grep -avE '^(abs|d1/out) l ' "$W/want" >"$W/want.back"
	check "a tree of 1,000 files comes back as it was, without links that lead out" diff "$W/want.back" <(below "$W/back")
	check "as the caller's" test -z "$(find "$W/back" ! -user "$USER_NAME")"
	check "with its times" test "$(stat -c %Y "$W/t/run" "$W/t/d3/sub/f7")" = "$(stat -c %Y "$W/back/run" "$W/back/d3/sub/f7")"
	pinfold push --json s t
	check "nothing changed, hardly anything sent" test "$(wire)" -lt 1000
	doc_is '[0, 0, 0]' '[d["files_changed"], d["files_removed"], d["chunks_sent"]]' "nor written"
	as_user sed -i 's/^line 1000$/a changed line/' "$W/t/text"
	pinfold push --json s t
	check "a changed line is little" test "$(wire)" -lt 12000
	doc_is '[1, 0, 1]' '[d["files_changed"], d["files_removed"], d["chunks_sent"]]' "and one file"
	sh_in s 'grep -c changed text'
	prints 1 "it is there"
	as_user dd if=/dev/urandom of="$W/t/large" bs=1 count=100 seek=2500000 conv=notrunc status=none
	pinfold push --json s t
	check "100 bytes in a large file are a part of it" test "$(wire)" -lt 1000000
	ws s sha256sum large
	prints "$(sha256sum <"$W/t/large" | cut -d' ' -f1)  large" "and it is right"
	fresh second
	pinfold push --json second t
	exits 0 "the same for another workspace"
	check "sends less than 1 % of the first" test "$(wire)" -lt $((all / 100))
	ws second sha256sum large
	prints "$(sha256sum <"$W/t/large" | cut -d' ' -f1)  large" "and is whole"
	pinfold rm second
	# The same content from elsewhere, below another name, to another place.
	as_user mkdir -p "$W/copy"
	as_user cp -a "$W/t" "$W/copy/moved"
	fresh second
	pinfold push --json --to /home/user/there second copy
	check "a copy of it under other paths sends less than 1 %, too" test "$(wire)" -lt $((all / 100))
	ws second sha256sum there/moved/large
	prints "$(sha256sum <"$W/t/large" | cut -d' ' -f1)  there/moved/large" "and is whole"
	pinfold rm second
	rm -rf "$W/copy"
	rm -rf "$W/back"
}

what_stays()
{
	sh_in s 'echo made >made; echo mine >d0/mine; echo edited >run'
	as_user rm "$W/t/none" "$W/t/d0/sub/f0"
	as_user rm -r "$W/t/d2"
	pinfold push --json s t
	doc_has 'd["files_removed"] >= 2' "what the directory no longer has"
	sh_in s 'ls none d0/sub/f0 d2 2>&1 | grep -c "No such"; cat made d0/mine; head -c 9 run'
	prints $'3\nmade\nmine\n#!/bin/sh' "is removed, what was made inside stays, what was changed is as it is here"
	pinfold push --mirror s t
	exits 0 "--mirror"
	sh_in s 'ls made d0/mine 2>&1 | grep -c "No such"; ls | wc -l'
	prints "2
$(ls -1 "$W/t" | wc -l)" "removes what was made inside, too"
	pinfold push --to /home/user/other/place s t
	exits 0 "--to a place that is not there yet"
	sh_in s 'cmp text other/place/text && echo same'
	prints same "makes it"
	pinfold push --to /etc s t
	check "--to a place that is not the user's" test "$RC" = 125
	pinfold push --to ../x s t
	refuses invalid_argument .. "--to with .."
	pinfold push --to /tmp/x s t
	refuses invalid_argument /tmp "--to a place that is not kept"
	sh_in s 'ln -s /tmp way; ln -s other link2'
	pinfold push --to /home/user/link2/place s t
	check "--to through a link is refused" test "$RC" = 125
	pinfold push s t/nosuch
	refuses not_found nosuch "a directory that is not there"
	as_user sh -c 'echo x >"$1"' sh "$W/single"
	pinfold push s single
	refuses invalid_argument DIR "a file to push"
	pinfold pull s single
	refuses invalid_argument DIR "a file to pull to"
	pinfold push s t/text
	check "a file is none" test "$RC" = 125
	pinfold push --to /etc/none s t
	refuses denied /etc/none "a place where it may make nothing"
	pinfold push nosuch t
	refuses not_found nosuch "a workspace that is not there"
	pinfold push --json nosuch t
	json_is '["error"]' 'list(d)' "--json of a failure: its error alone"
}

ignored()
{
	fresh i
	as_user mkdir -p "$W/i/sub/keep" "$W/i/build" "$W/i/.git/objects"
	as_user sh -c 'cd "$1"; echo "*.o" >.gitignore; echo /build/ >>.gitignore; echo "!keep.o" >>.gitignore; echo secret >.pinfoldignore
		echo "local" >sub/.gitignore; for f in a.c a.o keep.o secret build/x sub/local sub/b.o local .git/HEAD .git/objects/x.o; do echo $f >$f; done' sh "$W/i"
	pinfold push i i
	sh_in i 'find . -type f | sort | tr "\n" " "'
	prints './.git/HEAD ./.git/objects/x.o ./.gitignore ./.pinfoldignore ./a.c ./keep.o ./local ./sub/.gitignore ' "ignore files count, .git goes along"
	pinfold push --no-git i i
	sh_in i 'ls -d .git'
	check "--no-git" test "$RC" != 0
	pinfold push --all i i
	sh_in i 'find . -type f | sort | tr "\n" " "'
	prints './.git/HEAD ./.git/objects/x.o ./.gitignore ./.pinfoldignore ./a.c ./a.o ./build/x ./keep.o ./local ./secret ./sub/.gitignore ./sub/b.o ./sub/local ' "--all"
	pinfold rm i
	rm -rf "$W/i"
}

# A large and empty file takes no room, in a workspace and out of it.
holes()
{
	fresh o
	as_user mkdir "$W/o"
	as_user sh -c 'cd "$1"; truncate -s 24M zeros; echo end >mixed; truncate -s 24M mixed; echo end >>mixed; printf "\0\0" >two' sh "$W/o"
	pinfold push o o
	sh_in o 'sha256sum mixed two zeros'
	prints "$(cd "$W/o" && sha256sum mixed two zeros)" "files with holes are whole"
	sh_in o 'du -k mixed zeros | awk "{ sum += \$1 } END { print sum < 5000 ? \"holes\" : sum }"'
	prints holes "and their holes were not filled"
	pinfold pull o o2
	check "and comes back" diff -r "$W/o" "$W/o2"
	pinfold rm o
	rm -rf "$W/o" "$W/o2"
}

arrived()
{
	[ -n "$(find "$M/home/sync" -path '*/partial/*' -type f -size +100k 2>/dev/null | head -1)" ] || ! kill -0 "$PUSH_PID" 2>/dev/null
}

# kill -9 in the middle; on a fast machine it may be over before, so the tree is large and it is tried again.
killed_push()
{
	local i all

	as_user mkdir "$W/k"
	for i in $(seq 6); do
		as_user sh -c 'head -c 4000000 /dev/urandom >"$1"' sh "$W/k/f$i"
	done
	for i in 1 2 3 4 5; do
		fresh k
		call_start PUSH push --json k k
		wait_for 10 arrived
		kill -9 "$PUSH_PID" 2>/dev/null
		inside_wait PUSH
		[ "$RC" = 0 ] || break
	done
	check "a push is killed" test "$RC" != 0
	own_kill
	pinfold log --json k
	doc_is '["new"]' '[s["kind"] for s in d["items"]]' "then it never was"
	ws k ls
	prints "" "nothing of it is there"
	pinfold push --json k k
	exits 0 "again, it completes"
	all=$(wire)
	check "and does not send again what had arrived" test "$all" -lt 23900000
	check "all of it" diff <(cd "$W/k" && sha256sum f*) <(pinfold exec k -- sh -c 'sha256sum f*'; cat "$OUT")
	echo "# $((all / 1000)) of 24000 kB were sent again"
	pinfold undo k 2
	ws k ls
	prints "" "a push is undone"
	pinfold push k k
	exits 0 "and made again"
	check "all of it again" diff <(cd "$W/k" && sha256sum f*) <(pinfold exec k -- sh -c 'sha256sum f*'; cat "$OUT")
	pinfold rollback k 1
	as_user sh -c 'echo small >"$1"' sh "$W/k/f1"
	pinfold push k k
	check "nor does a rollback confuse it" diff <(cd "$W/k" && sha256sum f*) <(pinfold exec k -- sh -c 'sha256sum f*'; cat "$OUT")
	pinfold rm k
	rm -rf "$W/k"
}

# What is known of an earlier push is known again when a later one is undone.
undone()
{
	fresh u
	as_user sh -c 'mkdir "$1"; cd "$1"; touch one two three' sh "$W/u"
	pinfold push u u
	ws u touch made
	as_user touch "$W/u/four"
	pinfold push u u
	as_user rm "$W/u/four"
	as_user touch "$W/u/five"
	pinfold push u u
	pinfold undo u 2
	as_user rm "$W/u/two" "$W/u/five"
	pinfold push u u
	ws u ls
	prints $'made\none\nthree' "what the directory lost meanwhile goes, what a command made stays"
	pinfold rollback u 5
	pinfold push u u
	ws u ls
	prints $'made\none\nthree' "after a rollback, too"
	pinfold rm u
	rm -r "$W/u"
}

busy()
{
	held HELD s
	pinfold push s t
	refuses busy s "a push while a command is running"
	mkdir "$W/meanwhile"
	own "$W/meanwhile"
	pinfold pull s meanwhile
	exits 0 "a pull is not"
	kill "$HELD_PID"
	inside_wait HELD
	rm -rf "$W/meanwhile"
}

full()
{
	fresh small --disk 2M
	pinfold push small t
	refuses limit_exceeded.disk "there is room for" "more than there is room for"
	pinfold log --json small
	doc_is 1 'd["items"][0]["snapshot"]' "never was"
	check "and left nothing" test -z "$(find "$M/home/sync/$(sql "SELECT id FROM workspace WHERE name = 'small'")-"*/partial -type f -size +100k)"
	pinfold rm small
}

odd_sources()
{
	fresh h
	as_user mkdir "$W/h"
	as_user sh -c 'cd "$1"; mkfifo fifo; ln -s loop loop; ln -s . self; ln -s / root; echo ok >file
		python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")"' sh "$W/h"
	[ "$EUID" != 0 ] || mknod "$W/h/null" c 1 3
	pinfold push --json h h
	exits 0 "a directory with pipes, sockets, devices and loops"
	doc_is $([ "$EUID" = 0 ] && echo 3 || echo 2) 'd["skipped"]' "which are skipped, and counted"
	sh_in h 'ls; readlink root'
	prints $'file\nloop\nroot\nself\n/' "the rest is there"
	sh_in h 'mkfifo pipe pipe2'
	as_user mkdir "$W/h-back"
	pinfold pull --json h h-back
	doc_is 3 'd["skipped"]' "a pull counts pipes and the link out that it leaves out"
	check "and brings the rest" test "$(ls "$W/h-back" | tr '\n' ' ')" = "file loop self "
	pinfold pull h h-back
	check "as text, too" grep -q '; 3 left out$' "$OUT"
	rm -r "$W/h-back"
	pinfold undo h
	as_user sh -c 'cd "$1"; echo private >unreadable; chmod 000 unreadable; mkdir shut' sh "$W/h"
	pinfold push h h
	if [ "$MODE" = U ]; then
		refuses denied unreadable "a file that may not be read"
		as_user sh -c 'cd "$1"; rm -f unreadable; chmod 000 shut' sh "$W/h"
		pinfold push h h
		refuses denied shut "nor a directory"
		chmod 755 "$W/h/shut"
	else
		exits 0 "root may read everything"
	fi
	pinfold rm h
	rm -rf "$W/h"
}

pulls()
{
	fresh p
	sh_in p 'mkdir d; echo 1 >a; echo 2 >d/b; echo x >run; chmod 755 run; echo s >s; chmod 600 s; ln -s a in; ln -s /etc/passwd out; mkfifo fifo'
	as_user mkdir "$W/p" "$W/outside"
	pinfold pull p p
	exits 0 "pull"
	check "its files" test "$(cd "$W/p" && find . -printf '%P %y %m\n' | sort | tr '\n' ' ')" = \
		" d 755 a f 644 d d 755 d/b f 644 in l 777 run f 755 s f 600 "
	as_user sh -c 'echo mine >"$1"' sh "$W/p/own"
	sh_in p 'echo 11 >a; rm s; echo n >n'
	pinfold pull p p
	check "again: changed, removed, new" test "$(cd "$W/p" && cat a n own; ls s 2>&1)" = "11
n
mine
ls: cannot access 's': No such file or directory"
	as_user sh -c 'echo local >"$1"' sh "$W/p/a"
	sh_in p 'echo 111 >a; echo 22 >d/b'
	pinfold pull p p
	refuses conflict a "what changed in the directory since"
	check "then nothing is written" test "$(cat "$W/p/a" "$W/p/d/b")" = $'local\n2'
	pinfold pull --force p p
	check "--force" test "$(cat "$W/p/a" "$W/p/d/b")" = $'111\n22'
	as_user sh -c 'echo local >"$1"' sh "$W/p/a"
	sh_in p 'rm a; ln -s run a'
	pinfold pull p p
	refuses conflict a "what changed in the directory and is a link inside by now"
	check "it is kept" test "$(cat "$W/p/a")" = local
	pinfold undo p
	pinfold pull --force p p
	pinfold pull --mirror --force p p
	check "--mirror removes what is not there" test ! -e "$W/p/own"
	pinfold pull --to /home/user/d p outside
	check "--to" test "$(cat "$W/outside/b")" = 22
	pinfold pull --to nosuch p outside
	refuses not_found nosuch "--to what is not there"
	pinfold pull p made
	exits 0 "into what is not there: it is made"
	check "with the files" test "$(cat "$W/made/a")" = 111
	pinfold pull nosuch unmade
	refuses not_found nosuch "a pull that fails"
	check "makes nothing" test ! -e "$W/unmade"
	pinfold pull p un/made
	refuses not_found un/made "nor are directories above it"
	rm -r "$W/made"
	sh_in p 'ln -s / top'
	pinfold pull --to /home/user/top/etc p outside
	check "--to through a link is refused" test "$RC" = 125
	check "and brings nothing" test "$(ls "$W/outside")" = b
}

# Whatever the directory has in the way, nothing is written elsewhere.
pull_through_links()
{
	sh_in p 'mkdir -p e/f; echo new >e/f/g; echo new >h'
	as_user sh -c 'cd "$1/p"; rm -rf e h; ln -s ../outside e; ln -s ../outside/h h; mkdir ../outside/f; echo kept >../outside/h' sh "$W"
	pinfold pull --force p p
	check "a link in the way is replaced, or refused by name" test "$RC" = 0 -o "$(grep -cE ' (e|h)' "$ERR")" -ge 1
	check "never followed" test "$(cat "$W/outside/h"; find "$W/outside" -name g)" = kept
	rm -rf "$W/p" "$W/outside"
	pinfold rm p
}

masked()
{
	local CALL_WRAP=(/bin/sh -c 'umask 077; exec "$@"' sh)

	fresh m
	sh_in m 'mkdir d; echo 1 >d/f; echo 2 >run; chmod 755 run'
	as_user mkdir "$W/m"
	pinfold pull m m
	check "a pull has the caller's umask" test "$(cd "$W/m" && stat -c %a d d/f run | tr '\n' ' ')" = "700 600 700 "
	sh_in m 'echo 2 >>d/f'
	pinfold pull m m
	exits 0 "which is no change of his"
	pinfold rm m
	rm -rf "$W/m"
}

# line REGEX: watch has said it.
line()
{
	grep -qE "$1" "$WATCH_OUT"
}

burst_arrived()
{
	[ "$(grep -c '^A /home/user/burst/n' "$WATCH_OUT")" = 500 ]
}

watches()
{
	fresh v
	as_user mkdir "$W/v"
	as_user sh -c 'echo 1 >"$1"' sh "$W/v/a"
	CALL_SECONDS=240 call_start WATCH watch v v
	check "watch pushes at once" wait_for 40 line '^1 file, 1 changed'
	as_user sh -c 'echo 2 >>"$1"' sh "$W/v/a"
	check "a line for a change" wait_for 40 line '^M /home/user/a$'
	as_user sh -c 'mkdir -p "$1/x/y" && echo n >"$1/x/y/z"' sh "$W/v"
	check "in a directory that is new" wait_for 40 line '^A /home/user/x/y/z$'
	as_user sh -c 'echo more >>"$1"' sh "$W/v/x/y/z"
	check "and again" wait_for 40 line '^M /home/user/x/y/z$'
	as_user rm "$W/v/a"
	check "for a file that is gone" wait_for 40 line '^D /home/user/a$'
	as_user touch "$W/v/"$'esc\033[31m'
	check "a name is never a control" wait_for 40 line '^A /home/user/esc\^\[\[31m$'
	as_user sh -c 'mkdir "$1/burst"; cd "$1/burst"; for i in $(seq 500); do echo $i >n$i; done' sh "$W/v"
	check "a burst is all there" wait_for 40 burst_arrived
	ws v sh -c 'cat burst/n* | sort -n | tail -n 1; ls burst | wc -l'
	prints $'500\n500' "whole"
	held HELD v
	as_user sh -c 'echo later >"$1"' sh "$W/v/later"
	kill "$HELD_PID"
	inside_wait HELD
	check "what changed while a command was running comes behind it" wait_for 40 line '^A /home/user/later$'
	kill -INT "$WATCH_PID"
	inside_wait WATCH
	check "SIGINT ends it" test "$RC" = 130 -o "$RC" = 0
	forget_report '^signal 2$'
	check "without a word" not grep -v '^pinfold: limits are best-effort' "$WATCH_ERR"
	ws v cat later
	prints later "the workspace is there"
	pinfold watch v nosuch
	refuses not_found nosuch "a directory that is not there"
	pinfold rm v
	rm -rf "$W/v"
}

checks()
{
	first_and_again
	what_stays
	undone
	busy
	full
	pinfold rm s
	rm -rf "$W/t"
	ignored
	holes
	killed_push
	odd_sources
	pulls
	pull_through_links
	masked
	watches
	check "all is removed" wait_for 40 settled
	check "no layer is left" test -z "$(ls "$M/home/layers")"
	check "nor what was remembered of workspaces that are gone" test -z "$(ls "$M/home/sync" | grep -E '^[0-9]')"
}

run_checks
