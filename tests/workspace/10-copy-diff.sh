#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cp and diff: files in and out as they are, and never by a way that a link opens; what differs between
# two snapshots, as names, as a patch that git takes, as a document.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# listed DIR NAME: a tree of the host as listing.py tells it, without owners.
listed()
{
	(cd "$1" && OWNERS=0 /usr/bin/python3 -I "$TEST_DIR/listing.py" "$2")
}

# listed_in WORKSPACE NAME: the same from inside.
listed_in()
{
	pinfold exec --env OWNERS=0 --lang python "$1" - "$2" <"$TEST_DIR/listing.py"
}

# sources: one of everything, on the host.
sources()
{
	mkdir "$W/src"
	(cd "$W/src" && /usr/bin/python3 -I "$TEST_DIR/make-tree.py" && mv tree all && chmod -R u+rwX all && rm all/socket)
	truncate -s 4T "$W/src/vast"
	printf end >>"$W/src/vast"
	echo one >"$W/src/one"
	chmod 4755 "$W/src/one"
	own "$W/src"
}

round_trip()
{
	listed "$W/src" all >"$W/want"
	pinfold cp src/all w:all
	exits 0 "a tree goes in"
	silent "without a word"
	prints "" "and prints nothing"
	listed_in w all
	check "inside it is the same" diff "$W/want" "$OUT"
	mkdir "$W/back"
	own "$W/back"
	pinfold cp w:all back
	exits 0 "and comes out"
	listed "$W/back" all >"$W/got"
	check "the same, with all names, links, holes, modes and times" diff "$W/want" "$W/got"
	check "all of it is the caller's" test -z "$(find "$W/back" ! -user "$USER_NAME")"
	check "and holes have no blocks" test "$(du -sk "$W/back" | cut -f1)" -lt 20000
	pinfold diff --names w 1
	check "diff after it" grep -q '^A /home/user/all/new^Jline$' "$OUT"
	pinfold undo w 2
	ws w ls -a
	prints $'.\n..' "undo takes all of it back"
	rm -rf "$W/back"
	pinfold cp src/vast w:vast
	exits 0 "4 TiB of holes go in"
	pinfold cp w:vast vast
	exits 0 "and come out"
	check "as holes" test "$(du -k "$W/vast" | cut -f1)" -lt 100 -a "$(stat -c %s "$W/vast")" = 4398046511107
	check "with what is at their end" test "$(tail -c 3 "$W/vast")" = end
	rm "$W/vast"
}

targets()
{
	pinfold cp src/one w:name
	sh_in w 'cat name; stat -c %a name'
	prints $'one\n755' "a new name, without set-id bits"
	sh_in w 'mkdir dir; echo old >dir/old; ln -s dir way; ln -s /etc/passwd out; ln -s /root d; ln -s /home/user abs'
	pinfold cp src/one w:dir
	ws w cat dir/one
	prints one "into a directory"
	pinfold cp src/one w:dir/old
	ws w cat dir/old
	prints one "over a file"
	pinfold cp src/one w:/home/user/dir/abs
	ws w cat dir/abs
	prints one "an absolute path"
	pinfold cp src/one w:
	ws w cat one
	prints one "no path is the home directory"
	pinfold log --json w
	local before
	before=$(doc 'd["items"][0]["snapshot"]')
	pinfold cp src/one w:nodir/one
	refuses not_found nodir "a parent that is missing"
	pinfold cp src/one w:name/one
	refuses not_found name "a parent that is a file"
	pinfold cp src/all w:name
	refuses conflict name "a directory where a file is"
	pinfold cp src/one w:dir/../x
	refuses invalid_argument .. ".. in a path"
	pinfold cp src/one w:/etc/one
	refuses denied one "a place that is not the user's"
	pinfold cp src/one w:/usr/one
	refuses denied one "nor /usr"
	pinfold cp src/one w:/tmp/one
	refuses invalid_argument /tmp "a place that is not kept"
	pinfold cp src/nosuch w:x
	refuses not_found nosuch "a source that is not there"
	pinfold cp src/one nosuch:x
	refuses not_found nosuch "a workspace that is not there"
	pinfold cp --json src/one w:nodir/one
	exits 125 "--json of a failure"
	json_is '["error"]' 'list(d)' "--json of a failure: its error alone"
	pinfold cp src/one other
	refuses invalid_argument "neither is in a workspace" "no workspace at all"
	pinfold cp w:one v:one
	refuses invalid_argument "both are in a workspace" "two of them"
	pinfold log --json w
	doc_is "$before" 'd["items"][0]["snapshot"]' "none of that is in the log"
}

outward()
{
	pinfold cp w:name .
	check "out into a directory" cmp "$W/src/one" "$W/name"
	pinfold cp w:name other
	check "out under a new name" cmp "$W/src/one" "$W/other"
	pinfold cp w:/etc/hostname hostname
	exits 0 "out of the skeleton"
	pinfold cp w:/usr/bin/true true
	check "out of the host's /usr" cmp "$W/true" /usr/bin/true
	pinfold cp w:nosuch x
	refuses not_found nosuch "what is not there"
	pinfold cp w:name nodir/x
	refuses not_found nodir "into what is not there"
	pinfold cp w:dir name
	refuses conflict name "a directory over a file"
	pinfold cp w:/proc/self/status x
	refuses invalid_argument /proc "/proc"
	pinfold cp --at 1 w:name x
	refuses not_found name "at a time when it was not there"
	pinfold cp --at 99 w:name x
	refuses not_found 99 "at a time that never was"
	check "nothing was made" test ! -e "$W/x" -a ! -e "$W/nodir"
	pinfold snap w then
	sh_in w 'echo later >name'
	pinfold cp --at then w:name at
	check "as it was" cmp "$W/src/one" "$W/at"
	held BUSY w
	pinfold cp w:name now
	exits 0 "out while a command is running"
	check "it is what the last one left" test "$(cat "$W/now")" = later
	pinfold cp src/one w:busy
	refuses busy w "in, meanwhile"
	kill "$BUSY_PID"
	inside_wait BUSY
	rm -f "$W/name" "$W/other" "$W/true" "$W/hostname" "$W/at" "$W/now"
}

# E01 and E03: inside there are links to everything that the host would not give.
links_out()
{
	mkdir "$W/out"
	own "$W/out"
	pinfold cp w:out out/passwd
	check "a link comes out as a link" test "$(readlink "$W/out/passwd")" = /etc/passwd
	pinfold cp w:d/.bashrc out/x
	check "a path through a link is refused" test "$RC" = 125
	pinfold cp "w:d/${CANARY_ROOT_FILE##*/}" out/x
	check "also where the host has that file" test "$RC" = 125
	pinfold cp w:way/one out/x
	check "even if it leads nowhere else" test "$RC" = 125
	sh_in w 'ln -s a b; ln -s b a; ln -s ../../../../../../etc up; p=/etc/passwd; for i in $(seq 40); do ln -s $p c$i; p=c$i; done'
	for path in a a/x up/passwd c40 out/x abs/../../etc/passwd; do
		pinfold cp "w:$path" out/x
		check "$path: no file of the host" not test -f "$W/out/x" -a ! -L "$W/out/x"
		rm -rf "$W/out/x"
	done
	for path in way/in d/in out/in up/in abs/in; do
		pinfold cp src/one "w:$path"
		check "in through $path is refused" test "$RC" = 125
	done
	check "nothing came into the host's directories" test ! -e /root/in -a ! -e /etc/in
	sh_in w 'ls dir; ls -a'
	check "nor where the links lead inside" not grep -qx in "$OUT"
	pinfold cp src/one w:out
	sh_in w 'cat out; test -L out || echo file'
	prints $'one\nfile' "a file takes a link's place"
	check "and leaves what it led to" not grep -qx one /etc/passwd
	mkdir "$W/tree" "$W/outside"
	mkdir -m 0777 "$W/tree/all"
	ln -s ../../outside "$W/tree/all/nested"
	own "$W/tree" "$W/outside"
	pinfold cp src/all w:all
	pinfold cp w:all tree
	refuses conflict nested "out over a link of the host's"
	check "nothing went through it" test -z "$(ls "$W/outside")"
	pinfold cp w:dir/one "$W/tree/all/nested/"
	check "a link that the caller names is his" test "$(cat "$W/outside/one")" = one
	check "no canary came out" not grep -rqF -f "$SESSION/patterns" "$W/out" "$W/tree"
	rm -rf "$W/out" "$W/tree" "$W/outside" "$W/src/all"
}

# One file through - .
standard_streams()
{
	local tmp=$W/tmp

	mkdir -p "$tmp"
	own "$tmp"
	CALL_ENV+=("TMPDIR=$tmp")
	head -c 300000 /dev/urandom >"$W/bytes"
	pinfold cp - w:from-stdin <"$W/bytes"
	exits 0 "standard input becomes a file"
	pinfold cp w:from-stdin -
	check "and standard output gets it, byte for byte" cmp "$W/bytes" "$OUT"
	sh_in w 'mkdir -p tree/shut; echo x >tree/shut/f; chmod 500 tree/shut; ln -s /etc/passwd to-passwd; stat -c %a from-stdin'
	prints 644 "its mode is an ordinary one"
	pinfold cp w:tree -
	refuses invalid_argument - "a directory on standard output"
	pinfold cp w:to-passwd -
	refuses invalid_argument - "a link on standard output"
	pinfold cp w:nothing -
	check "what is not there is said" test "$RC" = 125
	check "and nothing of it is left in TMPDIR" test -z "$(ls -A "$tmp")"
	sh_in w 'chmod 700 tree/shut; rm -rf tree to-passwd from-stdin'
	unset 'CALL_ENV[-1]'
	rm -rf "$tmp" "$W/bytes"
}

outside()
{
	find "$W/outside" -printf '%p %m %T@ %s\n' | sort
}

# raced CLAIM ARG...: the call again and again, while a directory in its target is swapped for a link. The naive
# one until it is led out.
raced()
{
	local name=$1 until=$((SECONDS + ${PINFOLD_TEST_RACE_SECONDS:-2})) calls=0 before

	shift
	rm -rf "$W/race" "$W/outside" "$W/stop"
	mkdir -p "$W/race/many/sub" "$W/outside"
	echo kept >"$W/outside/f1"
	touch -d @1000000000 "$W/outside/f1" "$W/outside"
	ln -s ../../outside "$W/race/many/evil"
	own "$W/race" "$W/outside"
	before=$(outside)
	/usr/bin/python3 -I "$TEST_DIR/race.py" swap "$W/race/many/sub" "$W/race/many/evil" "$W/stop" >"$W/swaps" &
	local swapper=$!
	[ "$1" != naive ] || until=$((SECONDS + 60))
	while [ "$SECONDS" -lt "$until" ]; do
		"$@" "$W/race"
		calls=$((calls + 1))
		[ "$1" != naive ] || [ "$before" = "$(outside)" ] || break
	done
	: >"$W/stop"
	wait "$swapper"
	echo "# $name: $calls calls, $(cat "$W/swaps") swaps"
	hits=no
	[ "$before" = "$(outside)" ] || hits=yes
}

naive()
{
	/usr/bin/python3 -I "$TEST_DIR/race.py" naive "$W/many.src" "$1/many" 0.3
}

copied()
{
	pinfold cp w:many "$1"
}

pulled()
{
	pinfold pull --force w "$1"
}

# E02.
symlink_race()
{
	mkdir -p "$W/many.src/sub"
	touch "$W/many.src/sub/f"{1..100}
	sh_in w 'chmod -R u+w . ; rm -rf * .[a-z]*; mkdir -p many/sub; for i in $(seq 100); do echo x >many/sub/f$i; done'
	raced "a naive writer" naive
	check "a naive writer is led out by a swapped directory" test "$hits" = yes
	raced "cp" copied
	check "cp is not" test "$hits" = no
	raced "pull" pulled
	check "nor is pull" test "$hits" = no
	rm -rf "$W/race" "$W/outside" "$W/many.src"
}

other_parts()
{
	if [ "$MODE" = R ]; then
		pinfold exec --user root w -- sh -c 'mkdir -p /usr/local/x; echo u >/usr/local/x/f; echo e >/etc/made; rm -f /usr/bin/yes'
		pinfold cp w:/usr/local/x .
		check "/usr as root changed it" test "$(cat "$W/x/f")" = u
		pinfold cp w:/usr/bin/yes .
		refuses not_found yes "and what root removed"
		pinfold cp w:/etc/made .
		check "/etc" test "$(cat "$W/made")" = e
		pinfold diff --names w
		prints $'A /etc/made\nD /usr/bin/yes\nA /usr/local/x  (directory)\nA /usr/local/x/f' "diff has all parts"
		rm -rf "$W/x" "$W/made"
	fi
	mkdir "$W/project"
	echo 1 >"$W/project/below"
	own "$W/project"
	pinfold new --dir project p
	pinfold cp p:/work/below got
	check "/work, before anything changed it" test "$(cat "$W/got")" = 1
	pinfold cp src/one p:/work/in
	exits 0 "into /work"
	check "the directory is as it was" test "$(ls "$W/project")" = below
	pinfold cp p:/work/in got
	check "and out again" cmp "$W/got" "$W/src/one"
	sh_in p 'echo 2 >/work/below'
	pinfold diff p
	check "diff of /work" grep -qx '+2' "$OUT"
	pinfold rm p
	rm -rf "$W/project" "$W/got"
}

# What commands do not see of a directory, its differences and copies do not tell either.
secrets()
{
	mkdir -p "$W/project/d" "$W/got"
	echo KEY=hunter2 | tee "$W/project/.env" "$W/project/d/.env" "$W/project/d/id_rsa" >/dev/null
	echo plain >"$W/project/d/plain"
	own "$W/project" "$W/got"
	pinfold new --dir project p
	sh_in p 'cd /work; echo mine >.env; rm -r d'
	pinfold diff p
	check "diff shows what was there for the command" grep -qx -- -plain "$OUT"
	check "and no secret of the directory" not grep -qE 'hunter2|id_rsa' "$OUT"
	pinfold diff --json p
	doc_is '["added", "deleted", "deleted"]' '[i["change"] for i in d["items"]]' "nor that there is one"
	check "nor its hash" not grep -q "$(sha256sum <"$W/project/d/.env" | cut -d' ' -f1)" "$OUT"
	pinfold cp --at 1 p:/work/.env got
	refuses not_found .env "copied out"
	pinfold cp --at 1 p:/work got
	pinfold pull --to /work p got
	check "nor with all, nor pulled" not grep -rq hunter2 "$W/got"
	check "the rest is" grep -rqx mine "$W/got"
	pinfold rm p
	rm -rf "$W/project" "$W/got"
}

quota()
{
	pinfold new small --disk 4M
	head -c 6000000 /dev/urandom >"$W/six"
	own "$W/six"
	pinfold cp six small:
	refuses limit_exceeded.disk "bytes" "more than --disk"
	ws small ls
	prints "" "nothing of it is kept"
	pinfold info --json small
	doc_is '[0, 2]' '[d["own_bytes"], d["snapshot"]]' "and no room is taken"
	pinfold cp src/one small:
	exits 0 "a small one has room"
	pinfold rm small
	rm "$W/six"
}

# peak FILE ARG...: as pinfold; the largest of all its processes, in KiB.
peak()
{
	local CALL_WRAP=(/usr/bin/python3 -I -c '
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))' "$1")

	pinfold "${@:2}"
}

large()
{
	head -c 100000000 /dev/zero | tr '\0' x >"$W/large"
	own "$W/large"
	peak "$W/peak" cp large w:large
	exits 0 "100 MB go in"
	check "in constant memory" test "$(cat "$W/peak")" -lt 40000
	peak "$W/peak" cp w:large large.back
	exits 0 "and come out"
	check "in constant memory, too" test "$(cat "$W/peak")" -lt 40000
	check "they are the same" cmp "$W/large" "$W/large.back"
	pinfold undo w
	rm "$W/large" "$W/large.back"
}

BEFORE='mkdir -p proj/sub/deep proj/dir2file proj/empty; cd proj; seq 200 >text; printf nonl >nonl; echo gone >gone
echo x >run.sh; ln -s text lk; ln -s text link2file; echo l >file2link; echo 1 >dir2file/a; echo f >file2dir; echo 1 >sub/one
echo 2 >sub/deep/two; echo sp >"a b"; echo t >"tab	x"; echo q >"é"; echo c >$(printf "\377bad"); : >made-empty
printf "crlf\r\n" >crlf; echo q >"quo\"te"'
AFTER='cd proj; sed -i "s/^100$/hundred/;150d" text; printf nonl2 >nonl; rm gone; chmod 755 run.sh; ln -sfn sub lk
rm link2file; echo f >link2file; rm file2link; ln -s nowhere file2link; rm -r dir2file; echo now >dir2file
rm file2dir; mkdir file2dir; echo in >file2dir/in; rm -rf sub; mkdir sub; echo three >sub/three; echo sp2 >"a b"
echo t2 >"tab	x"; echo qq >"é"; echo d >$(printf "\377bad"); echo new >"new
line"; rmdir empty; : >"no thing"; echo x >made-empty; printf "crlf2\r\n" >crlf; echo q2 >"quo\"te"'
NAMES='M /home/user/proj/a b
M /home/user/proj/crlf
M /home/user/proj/dir2file
D /home/user/proj/dir2file/a
D /home/user/proj/empty
M /home/user/proj/file2dir  (directory)
A /home/user/proj/file2dir/in
M /home/user/proj/file2link  (symlink)
D /home/user/proj/gone
M /home/user/proj/link2file
M /home/user/proj/lk  (symlink)
M /home/user/proj/made-empty
A /home/user/proj/new^Jline
A /home/user/proj/no thing
M /home/user/proj/nonl
M /home/user/proj/quo"te
M /home/user/proj/run.sh
D /home/user/proj/sub/deep
D /home/user/proj/sub/deep/two
D /home/user/proj/sub/one
A /home/user/proj/sub/three
M /home/user/proj/tab	x
M /home/user/proj/text
M /home/user/proj/é
M /home/user/proj/\xffbad'

# applied PATCH: in a repository with the tree of snapshot 2, it makes that of snapshot 3.
applied()
{
	rm -rf "$W/checkout" "$W/new"
	mkdir -p "$W/checkout/home" "$W/new/home"
	own "$W/checkout" "$W/new"
	pinfold cp --at 2 g:/home/user checkout/home
	pinfold cp --at 3 g:/home/user new/home
	(
		cd "$W/checkout" && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 && git init -q . &&
			git -c safe.directory='*' add -A && git -c safe.directory='*' -c user.name=n -c user.email=e commit -qm old &&
			git -c safe.directory='*' apply --index "$1" && rm -rf .git &&
			find "$W/checkout" "$W/new" -type d -empty -delete && diff -r --no-dereference "$W/new" . &&
			diff <(cd "$W/new" && find . ! -type d -printf '%P %m %l\0' | sort -z) <(find . ! -type d -printf '%P %m %l\0' | sort -z)
	)
}

# answers: all that diff says of two snapshots, as text and document.
answers()
{
	for words in "g 2 3" "g 3 2" "--names g 1 3" "--json g 2 3"; do
		# shellcheck disable=SC2086
		pinfold diff $words
		cat "$OUT"
	done
}

differences()
{
	fresh g
	sh_in g "$BEFORE"
	sh_in g "$AFTER"
	pinfold diff --names g
	prints "$NAMES" "the names of what the last command changed"
	pinfold diff g
	cp "$OUT" "$W/patch"
	check "text" grep -qx '+hundred' "$W/patch"
	check "a mode" grep -qx 'new mode 100755' "$W/patch"
	pinfold diff --names g 2 3
	prints "$NAMES" "from A to B"
	pinfold diff --names --command 3 g
	prints "$NAMES" "--command"
	pinfold diff --names g 2 2
	prints "" "nothing from one to itself"
	pinfold diff --names g 1
	check "from A to where it stands" test "$(grep -c '^A ' "$OUT")" = "$(wc -l <"$OUT")"
	pinfold diff g 99
	refuses not_found 99 "a snapshot that is not there"
	pinfold diff --command 2 g 1
	refuses invalid_argument --command "both at once"
	needs git "git apply takes the patch" && check "git apply takes the patch, and makes the new tree" applied "$W/patch"
	pinfold diff --json g 2 3
	doc_has 'all(set(c) >= {"path", "change", "type", "size_before", "size", "mode_before", "mode", "sha256_before",
		"sha256", "binary", "patch"} for c in d["items"]) and d["next"] is None' "--json: the shape"
	doc_has '[(c["mode_before"], c["mode"]) for c in d["items"] if c["path"].endswith("run.sh")] == [(0o644, 0o755)]' "--json: modes"
	doc_has '[c["change"] for c in d["items"] if c["path"].endswith("/dir2file")] == ["deleted", "added"]' \
		"--json: another type went and came"
	pinfold diff --json --names g 2 3
	doc_has '[(c["type_before"], c["type"]) for c in d["items"] if c["path"].endswith("/dir2file")] == [("directory", "file")]' \
		"--json --names: or is a change of type"
	answers >"$W/answers"
}

others()
{
	fresh b
	sh_in b '{ printf "\0"; head -c 999 /dev/urandom; } >bin; printf "\0" >zero; head -c 40000000 /dev/zero >huge; printf "\033[31mred\033]0;t\007\n" >esc; chmod 600 esc'
	pinfold diff b
	check "binary files by size and hash" grep -qE '^A /home/user/bin  \(0 to 1000 bytes, sha256 [0-9a-f]{12}\)$' "$OUT"
	pinfold diff --json b
	doc_has '[c["sha256"] for c in d["items"] if c["path"] == "/home/user/zero"] == [__import__("hashlib").sha256(b"\0").hexdigest()]' "the hash is right"
	doc_has 'all(c["binary"] for c in d["items"] if c["path"] in ("/home/user/zero", "/home/user/bin", "/home/user/huge"))' "and they are called binary"
	sh_in b 'printf "x\n" >$(printf "\033[31mname"); echo 2 >>esc'
	on_terminal -- diff b
	check "on a terminal nothing of a file's is a control" not grep -qE $'\033\\[31m|\033\\]' "$OUT"
	pinfold diff b
	check "a name never is" not grep -qE "^A .*"$'\033' "$OUT"
	check "text is as it is, for git" grep -q $'\033]0;t' "$OUT"
	sh_in b 'rm -rf *; mkdir again'
	pinfold undo b
	pinfold rollback b 1
	pinfold diff --names b
	check "diff of a rollback" test "$(grep -c '^D ' "$OUT")" = "$(wc -l <"$OUT")" -a -s "$OUT"
	pinfold diff --names b 2 1
	check "from later to earlier" grep -q '^D /home/user/zero' "$OUT"
	held HELD b
	pinfold diff --names b 1 2
	exits 0 "while a command is running"
	kill "$HELD_PID"
	inside_wait HELD
	pinfold rm b
}

few_layers()
{
	pinfold info --json g
	[ "$(doc 'd["layers"]')" -lt 8 ]
}

# What diff says of two old snapshots does not depend on how many layers there are since.
after_merges()
{
	local i

	for i in $(seq 20); do
		sh_in g "echo $i >n$i; rm -rf proj/sub; mkdir proj/sub; echo $i >proj/sub/only; echo $i >>proj/text"
	done
	check "layers are merged" wait_for 40 few_layers
	answers >"$W/answers.merged"
	check "then it is the same answer" cmp "$W/answers" "$W/answers.merged"
	pinfold diff --names g 3
	check "across merged layers" test "$(grep -c '^A /home/user/n' "$OUT")" = 20
	check "with what a directory made anew hides" grep -qx 'D /home/user/proj/sub/three' "$OUT"
	pinfold rollback g 3
	answers >"$W/answers.merged"
	check "nor on where it stands" cmp "$W/answers" "$W/answers.merged"
}

checks()
{
	fresh w
	sources
	round_trip
	targets
	outward
	links_out
	standard_streams
	symlink_race
	other_parts
	secrets
	quota
	large
	differences
	others
	after_merges
	pinfold rm w
	pinfold rm g
	check "all is removed" wait_for 40 settled
	check "and no layer is left" test -z "$(ls "$M/home/layers")"
}

run_checks
