#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a workspace changed of a directory of the host: shown as a patch, written there, taken back; all
# or nothing, whatever else happens to the directory. N02 of the attacks: what the host would run is marked.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

KILLS=${KILLS:-12}

# as_caller COMMAND...: on the host, in the directory $D, as who calls pinfold.
as_caller()
{
	local as=()

	[ "$MODE" = U ] && [ "$EUID" = 0 ] && as=(setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups)
	(cd "$D" && "${as[@]}" env HOME="$M/run" GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null \
		GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e "$@")
}

on_host()
{
	as_caller sh -c "$1" sh "${@:2}"
}

# tick: the clock of files has moved on, so what was done before is before.
tick()
{
	/usr/bin/python3 -I -c '
import time
now = lambda: time.clock_gettime_ns(5) # CLOCK_REALTIME_COARSE
start = now()
while now() == start:
    pass'
}

# project NAME: a directory with a repository, $D, and a workspace NAME on it.
project()
{
	D=$W/$1
	mkdir "$D"
	own "$D"
	on_host 'git init -q . && mkdir -p src lib/deep && printf "one\ntwo\nthree\n" >src/x.c &&
		echo bye >gone.txt && echo deep >lib/deep/f && printf "all:\n" >Makefile && echo t >tool &&
		echo swap >swap && git add -A && git commit -qm first'
	tick
	pinfold new "$1" --dir "$D"
}

# status: what git says, without the numbers of its own.
status()
{
	as_caller git status --porcelain --untracked-files=all
}

is_clean()
{
	check "$1" test -z "$(status)"
}

# keep_patch: what review just printed, and a copy of the directory as it is, for git_applied.
keep_patch()
{
	cp "$OUT" "$D.patch"
	chmod 0644 "$D.patch"
	cp -a "$D" "$D.copy"
	own "$D.copy"
}

# git_applied NAME: git apply takes the patch, and makes the same of it as apply did.
git_applied()
{
	(patch=$D.patch D=$D.copy && as_caller git apply "$patch") >"$EVIDENCE/git.log" 2>&1
	check "$1: git apply takes the patch" test "$?" = 0
	[ ! -s "$EVIDENCE/git.log" ] || diag "$(tr '\n' ' ' <"$EVIDENCE/git.log")"
	check "$1: and makes the same of it" diff -r --no-dereference -x .git "$D" "$D.copy"
}

reviewing()
{
	project look
	pinfold review look
	prints "nothing changed" "review of nothing"
	pinfold apply look
	prints "0 written" "apply of nothing"
	sh_in look 'cd /work; sed -i s/two/TWO/ src/x.c; echo new >src/new.c; rm gone.txt; rm -r lib
		printf "\trm -rf /\n" >>Makefile; chmod +x tool; : >empty; mkdir void; ln -s x.c src/link
		printf "a\0b" >binary; mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit'
	pinfold review look
	exits 0 "review"
	for line in ' ! A .git/hooks/pre-commit  — git runs it' ' ! M Makefile  — make runs it' \
		'   A binary' '   A empty' '   D gone.txt' '   D lib' '   D lib/deep/f' \
		'   A src/link  (symlink)' '   A src/new.c' '   M src/x.c' ' ! M tool  — it can be executed' \
		'   A void  (directory)'; do
		check "review has the line:$line" grep -qxF -e "$line" "$OUT"
	done
	check "and counts" grep -qE '^6 added, 3 modified, 4 deleted; the host may run 3 by itself \(!\); 2 not for git apply \(#\)$' "$OUT"
	check "no colour where there is no terminal" not grep -q $'\033' "$OUT"
	keep_patch
	pinfold review --names look
	check "--names has no patch" not grep -q '^diff --git' "$OUT"
	is_clean "the directory was not written"
	on_terminal -- review look
	check "colours on a terminal" grep -q $'\033\[32m+new' "$OUT"
	pinfold review --json look
	doc_is '["Makefile", ".git/hooks/pre-commit", "tool"]' \
		'sorted((i["path"] for i in d["items"] if i["runs_on_host"]), key=lambda p: (p[0] != "M", p))' "marks as JSON"
	doc_has 'all(set(i) >= {"path", "change", "type", "size", "sha256", "runs_on_host", "conflict",
		"patch"} for i in d["items"]) and all(i["conflict"] is None for i in d["items"])' "every field"
	pinfold apply look
	exits 0 "apply"
	check "says what it wrote" grep -qx '13 written' "$OUT"
	check "and marks it there, too" grep -qxF '! M Makefile' "$OUT"
	check "git sees the same" test "$(status | sort | tr '\n' ';')" = \
		' D gone.txt; D lib/deep/f; M Makefile; M src/x.c; M tool;?? binary;?? empty;?? src/link;?? src/new.c;'
	check "an empty directory came, one with a file went" test -d "$D/void" -a ! -e "$D/lib"
	rm -r "$D/void" "$D/binary"
	git_applied "a patch"
	check "also modes" test "$(stat -c %a "$D/tool" "$D.copy/tool" | uniq)" = 755
	check "what git does not take is shown as a comment" grep -qxF '# +evil' "$D.patch"
	pinfold review look
	check "what is the same is no change" test "$(grep -c '^.. A' "$OUT")" = 2
	check "what was applied and is gone again is no longer ours" grep -qE '^C  A binary  — it was removed' "$OUT"
}

reverting()
{
	project back
	pinfold apply --revert back
	refuses not_found "no apply" "revert of nothing"
	before=$(on_host 'stat -c "%n %a %Y" src/x.c gone.txt lib/deep/f')
	sh_in back 'cd /work; echo more >>src/x.c; rm gone.txt; rm -r lib; mkdir -p a/b; echo c >a/b/c'
	pinfold apply back
	exits 0 "apply"
	sh_in back 'cd /work; echo again >>src/x.c; rm a/b/c; echo d >a/b/d'
	pinfold apply back
	exits 0 "another, of what changed again inside"
	check "it is there" test "$(tail -1 "$D/src/x.c") $(cat "$D/a/b/"*)" = "again d"
	pinfold apply --revert --dry-run back
	check "revert --dry-run" grep -qx '3 would be written' "$OUT"
	pinfold apply --revert back
	exits 0 "revert"
	check "the last is taken back" test "$(tail -1 "$D/src/x.c") $(cat "$D/a/b/"*)" = "more c"
	pinfold apply --revert back
	is_clean "and the one before"
	check "with modes and times" test "$before" = "$(on_host 'stat -c "%n %a %Y" src/x.c gone.txt lib/deep/f')"
	check "no directory of it is left" test ! -e "$D/a"
	pinfold apply --revert back
	refuses not_found "no apply" "there is no more"
	pinfold apply back
	exits 0 "what was taken back can be applied again"
	check "all of it" test "$(tail -1 "$D/src/x.c") $(cat "$D/a/b/"*)" = "again d"
	on_host 'echo mine >>src/x.c; echo mine >a/b/d; echo mine >a/own; rm -rf a/b/c'
	pinfold apply --revert back
	exits 125 "files that changed since are conflicts"
	says '^pinfold: conflict: src/x.c: ' "and named"
	says '^pinfold: conflict: a/b/d: ' "each of them"
	check "and nothing is taken back" test "$(tail -1 "$D/src/x.c")" = mine -a ! -e "$D/gone.txt"
	on_host 'sed -i \$d src/x.c; rm a/b/d'
	pinfold apply --revert back
	exits 0 "put right, it goes"
	check "a directory that has something else in it stays" test "$(ls -A "$D/a")" = own
	pinfold apply --revert back src
	refuses invalid_argument --revert "revert of one path"
}

conflicts()
{
	project both
	sh_in both 'cd /work; echo theirs >>src/x.c; rm gone.txt; echo theirs >new; echo same >same
		echo theirs >lib/deep/f; rm swap; echo ok >fine; rm -r lib/deep; mkdir lib/deep; echo n >lib/deep/n'
	on_host 'echo mine >>src/x.c; echo mine >gone.txt; echo mine >new; echo same >same
		rm swap; echo mine >lib/deep/own'
	before=$(status; cat "$D"/src/x.c "$D"/gone.txt "$D"/new)
	pinfold review both
	for path in gone.txt new lib/deep/own; do
		check "review marks $path" grep -qE "^C. . $path  — it changed" "$OUT"
	done
	check "and where lines of both meet" grep -qxF 'C  M src/x.c  — both the workspace and the directory changed line 4 (as the directory has it)' "$OUT"
	check "but not the others" test "$(grep -c '^[C~]' "$OUT")" = 4
	pinfold review --json both
	foreseen=$(doc 'sorted([i["path"], i["conflict"]] for i in d["items"] if i["conflict"])')
	check "what both made alike is no change" not grep -q ' same$' "$OUT"
	check "what both removed, neither" not grep -q ' swap$' "$OUT"
	pinfold apply both
	exits 125 "apply"
	for path in gone.txt new lib/deep/own; do
		says "^pinfold: conflict: $path: it changed in the directory" "it names $path"
	done
	says '^pinfold: conflict: src/x.c: both the workspace and the directory changed line 4 ' "and where lines meet"
	says '^pinfold: conflict: 4 changes cannot be written' "and says how many"
	says '^pinfold: remedy: nothing was written' "and that nothing was"
	check "which is so" test "$before" = "$(status; cat "$D"/src/x.c "$D"/gone.txt "$D"/new)"
	pinfold apply --json both
	exits 125 "the same with --json"
	doc_is '["conflict", 4, 0]' '[d["error"]["code"], len(d["items"]), d["written"]]' "one document"
	doc_is "$foreseen" 'sorted([i["path"], i["conflict"]] for i in d["items"])' "with what review foresaw, in its words"
	pinfold apply both fine
	exits 0 "what is not in conflict, by its name"
	check "is there" test "$(cat "$D/fine")" = ok
	on_host 'chmod 600 fine; git stash -q -- gone.txt'
	pinfold exec both -- sh -c 'echo more >>/work/fine'
	pinfold apply both fine
	check "a mode that changed there stays" test "$RC $(stat -c %a "$D/fine") $(tail -1 "$D/fine")" = "0 600 more"

	project other
	sh_in other 'cd /work; echo x >>src/x.c'
	mv "$D" "$D.old"
	cp -a "$D.old" "$D"
	pinfold apply other
	refuses conflict "another directory" "another directory in its place"
	rm -r "$D"
	pinfold review other
	refuses not_found "$D" "no directory in its place"
	mv "$D.old" "$D"
	pinfold apply other
	exits 0 "back in its place"
	# A filesystem soon gives the number of a directory that is gone to another.
	on_host 'mkdir -p ../again'
	pinfold new --dir "$D/../again" again
	was=$(stat -c %i "$D/../again")
	sh_in again 'echo mine >/work/file'
	pinfold apply again
	for _ in $(seq 100); do
		on_host 'rm -rf ../again; mkdir ../again'
		[ "$(stat -c %i "$D/../again")" = "$was" ] && break
	done
	echo "# its number: $was, then $(stat -c %i "$D/../again")"
	pinfold apply again
	refuses conflict "another directory" "another directory with its number"
	check "and nothing is written there" test -z "$(ls -A "$D/../again")"
	pinfold rm again
	on_host 'rm -r ../again'
	pinfold new none
	pinfold apply none
	refuses invalid_argument "no directory" "a workspace without one"
	held one other
	pinfold apply other
	refuses busy other "while a command runs"
	pinfold review other
	exits 0 "which review does not mind"
	kill "$one_PID"
	inside_wait one
}

# lines FILE: what is in it, as one line.
lines()
{
	tr '\n' ' ' <"$D/$1"
}

# A text that both changed is merged, and the next merge begins with what the last one took.
merging()
{
	project merge
	on_host 'for f in a b c mode; do seq 9 >$f; done; seq 9 >gone; head -c 100 /dev/zero >zero; echo KEY=1 >.env'
	tick
	sh_in merge 'cd /work; sed -i s/3/three/ a b c gone; chmod +x mode; echo >>zero'
	on_host 'sed -i s/7/seven/ a; sed -i s/3/drei/ b; sed -i s/1/one/ mode c; chmod +x c; rm gone; echo x >>zero'
	pinfold review merge
	check "review marks what will be" test "$(grep '^~. M' "$OUT" | cut -c6)" = $'a\nc\nm'
	check "and where lines meet" grep -qE '^C. M b  — both the workspace and the directory changed line 3 ' "$OUT"
	check "and counts them" grep -q '; 3 in conflict (C); 3 to be merged (~)' "$OUT"
	pinfold apply merge
	exits 125 "lines that meet"
	says '^pinfold: conflict: b: both the workspace and the directory changed line 3 ' "are named"
	says '^pinfold: conflict: zero: it changed in the directory since' "what is not text is not merged"
	says '^pinfold: conflict: gone: it was removed in the directory since' "nor what was removed"
	check "and nothing is written" test "$(lines a)" = '1 2 3 4 5 6 seven 8 9 '
	pinfold apply --dry-run merge b
	exits 125 "--dry-run knows it, too"
	pinfold apply --dry-run merge a
	check "also what can be" grep -qxF '  M a  (merged)' "$OUT"
	pinfold apply merge a c mode
	exits 0 "lines apart"
	check "both changes are there" test "$(lines a)" = '1 2 three 4 5 6 seven 8 9 '
	check "also of modes" test "$(lines mode)$(stat -c %a "$D/mode" "$D/c" | uniq)" = 'one 2 3 4 5 6 7 8 9 755'
	pinfold review --names merge
	check "what was merged is no change any more" not grep -qE ' (a|c|mode)( |$)' "$OUT"
	sh_in merge 'cd /work; sed -i s/three/THREE/ a'
	on_host 'sed -i s/9/nine/ a'
	pinfold apply --json merge a
	doc_is '[["a", true]]' '[[i["path"], i["merged"]] for i in d["items"]]' "once more"
	check "begins with what was merged" test "$(lines a)" = '1 2 THREE 4 5 6 seven 8 nine '
	sh_in merge 'cd /work; sed -i s/THREE/3/ a'
	pinfold apply merge a
	check "a change that is taken back inside is taken back" test "$(lines a)" = '1 2 3 4 5 6 seven 8 nine '
	pinfold apply --revert merge
	pinfold apply --revert merge
	check "revert" test "$(lines a)" = '1 2 three 4 5 6 seven 8 nine '
	pinfold apply --revert merge
	exits 125 "what changed since is a conflict then"
	on_host 'sed -i s/nine/9/ a'
	pinfold apply --revert merge
	check "to what the directory had" test "$(lines a)" = '1 2 3 4 5 6 seven 8 9 '
	pinfold apply merge a
	check "and again, from the beginning" test "$(lines a)" = '1 2 3 4 5 6 seven 8 9 '
	pinfold apply merge gone
	check "what was removed comes where it is named" test "$(lines gone)" = '1 2 three 4 5 6 7 8 9 '
	pinfold exec merge -- sh -c 'echo x >/work/.env'
	check "no copy of a secret is kept" not grep -rqs KEY "$M/home/origins"
}

# Layers become one, and workspaces two: what a path was first made from stays known.
merging_layers()
{
	local i

	project stack
	on_host 'seq 30 >a; seq 30 >b'
	tick
	sh_in stack 'cd /work; sed -i s/^2$/two/ a'
	on_host 'sed -i s/^15$/host/ a'
	tick
	for i in $(seq 20); do
		sh_in stack "cd /work; echo $i >>b; sed -i s/^2$i\$/x$i/ a"
	done
	pinfold fork stack twin
	on_host 'sed -i s/^1$/first/ b'
	for i in stack twin; do
		pinfold apply --dry-run $i
		exits 0 "$i: after a merge of layers"
	done
	pinfold apply twin
	check "the fork has both changes of a" test "$(lines a)" = \
		"$(seq 30 | sed 's/^2$/two/; s/^15$/host/; s/^2\([1-9]\)$/x\1/' | tr '\n' ' ')"
	check "and of b" test "$(head -1 "$D/b") $(tail -1 "$D/b") $(wc -l <"$D/b")" = "first 20 50"
	pinfold rm twin
	pinfold rm stack
	pinfold fsck
	exits 0 "and nothing is wrong"
}

selecting()
{
	project some
	sh_in some 'cd /work; for f in a/b/c/1 a/b/2 a/3 ab; do mkdir -p $(dirname $f); echo $f >$f; done
		rm -r lib; echo x >>src/x.c; rm swap; mkdir swap; echo in >swap/in'
	pinfold apply some a/b/2
	exits 0 "one path"
	check "and the directories that it needs" test "$(cd "$D" && find a ab lib/deep/f -type f 2>/dev/null | sort | tr '\n' ' ')" = "a/b/2 lib/deep/f "
	pinfold apply some ./a//b/ lib
	exits 0 "two, one of them a directory"
	check "all below it" test "$(cd "$D" && find a ab lib -type f 2>/dev/null | sort | tr '\n' ' ')" = "a/b/2 a/b/c/1 "
	pinfold apply some swap/in
	exits 0 "below a file that became a directory"
	check "which it needs" test "$(cat "$D/swap/in")" = in
	pinfold apply --dry-run --json some .
	doc_is '["a/3", "ab", "src/x.c"]' 'sorted(i["path"] for i in d["items"])' "--dry-run has the rest"
	check "and writes nothing" test ! -e "$D/ab"
	for path in ../some /etc "$D/a" a/../ab ''; do
		pinfold apply some "$path"
		refuses invalid_argument "$path" "the path '$path'"
	done
	pinfold apply some ab nosuch
	refuses not_found nosuch "a path where nothing changed"
	check "then nothing is written" test ! -e "$D/ab"
	pinfold apply some .
	pinfold review some
	prints "nothing changed" "all of it, in the end"
}

links()
{
	project links
	mkdir "$M/outside"
	own "$M/outside"
	sh_in links 'cd /work; ln -s /etc/passwd abs; ln -s ../../x src/up; ln -s ../lib src/in
		ln -s lib/../../x src/sly; rm -r lib; ln -s src lib; mkdir -p safe; echo s >safe/s; ln -sf Makefile swap'
	pinfold review links
	for path in abs src/up src/sly; do
		check "a link out is marked: $path" grep -qF "C  A $path  (symlink)  — it is a link that leads out" "$OUT"
	done
	check "others are not" test "$(grep -c '^C' "$OUT")" = 3
	pinfold apply links
	exits 125 "and refused"
	check "nothing is written" test ! -e "$D/safe" -a ! -L "$D/abs"
	pinfold apply links src
	exits 125 "also below a path"
	pinfold apply links abs src/in lib swap safe
	exits 0 "but not where it is named itself"
	check "links are links" test "$(cd "$D" && readlink abs src/in lib swap | tr '\n' ' ')" = "/etc/passwd ../lib src Makefile "
	pinfold apply --revert links
	is_clean "and go again"

	# Somebody puts a link where the directory was, after the workspace saw it.
	sh_in links 'cd /work; echo evil >>src/x.c; echo evil >src/evil; rm -f src/sly src/up abs'
	on_host 'cp -a src/. "$1"; mv src real; ln -s "$1" src' "$M/outside"
	before=$(cd "$M/outside" && cat -- *)
	pinfold apply links
	exits 125 "through a link out"
	pinfold apply links src/evil
	exits 125 "also what is new"
	check "nothing lands outside" test "$before" = "$(cd "$M/outside" && cat -- *)"
}

# What a workspace could not see it cannot have meant to change, and its review does not show it.
secrets()
{
	project secret
	on_host 'mkdir d; echo KEY=hunter2 >.env; echo KEY=hunter2 >d/.env; echo x >d/x'
	tick
	sh_in secret 'cd /work; echo mine >.env; rm -r d; echo K >other.env; echo x >fine'
	pinfold review secret
	check "a secret that is in the way is marked" grep -qE '^C. M \.env  — it looks like a secret' "$OUT"
	check "also below what was removed" grep -qE '^C. D d/\.env  — it looks like a secret' "$OUT"
	check "and not shown" not grep -q hunter2 "$OUT"
	pinfold review --json secret
	check "nor as JSON" not grep -q hunter2 "$OUT"
	doc_has 'all(i["sha256_before"] is None for i in d["items"] if i["path"].endswith(".env"))' "nor its hash"
	pinfold apply secret
	exits 125 "it is not written over"
	check "it is there" test "$(cat "$D/.env" "$D/d/.env" | uniq)" = KEY=hunter2
	pinfold apply secret d
	exits 125 "nor removed"
	pinfold apply secret .env fine
	exits 0 "unless it is named"
	check "then it is" test "$(cat "$D/.env")" = mine
	pinfold apply --revert secret
	check "and can be taken back" test "$(cat "$D/.env")" = KEY=hunter2
}

# A run is meant by its id, too, while a workspace has what it changed.
runs()
{
	local id

	project run-by-id
	pinfold run --json --dir "$D" --name by-id -- sh -c 'echo mine >/work/mine'
	id=$(json 'd["id"]')
	pinfold review --names "$id"
	check "review RUN" grep -q '^   A mine$' "$OUT"
	pinfold apply "$id"
	check "apply RUN" test "$(cat "$D/mine")" = mine
	pinfold apply --revert "$id"
	check "apply --revert RUN" test ! -e "$D/mine"
	pinfold undo by-id
	pinfold review "$id"
	refuses not_found "$id" "what was taken back"
	pinfold run --json --dir "$D" -- sh -c 'echo mine >/work/mine'
	id=$(json 'd["id"]')
	pinfold apply "$id"
	refuses not_found "$id" "what was dropped"
	says '^pinfold: remedy: .*--name NAME' "how it is kept"
	check "and nothing is written" test ! -e "$D/mine"
	pinfold review "sbx${id#run}"
	refuses invalid_argument "sbx${id#run}" "a sandbox"
	pinfold rm by-id run-by-id
}

# What --hide and --show said counts for all that looks at the workspace, not for the one command.
remembers()
{
	project unused
	on_host 'echo hunter2 >dump.sql; echo hunter2 >.env; echo hunter2 >two.txt'
	tick
	pinfold run --dir "$D" --hide '*.sql' --show .env --name said -- sh -c 'cd /work; cat .env; echo mine >dump.sql'
	prints hunter2 "run --name: what --show names is seen"
	says "denied path: /work/dump.sql: hidden: named by --hide" "what --hide names is said to be"
	pinfold diff said
	check "diff does not show what was hidden" not grep -q hunter2 "$OUT"
	sh_in said 'cd /work; cat .env; ls *.sql; rm dump.sql; ls *.sql'
	check "a later command sees the same" test "$(sed '/^ls:/d' "$OUT")" = $'hunter2\ndump.sql'
	pinfold cp said:/work "$W/copied"
	check "cp does not bring it out" not grep -rq hunter2 "$W/copied/dump.sql"
	pinfold pull said --to /work "$W/pulled"
	check "nor pull" not test -e "$W/pulled/dump.sql"
	pinfold fork said said-b
	sh_in said-b 'cat /work/dump.sql'
	check "nor a fork" test "$RC" = 1
	sh_in said 'echo mine >/work/dump.sql'
	pinfold review said
	check "review marks it" grep -qE '^C. M dump\.sql  — it looks like a secret' "$OUT"
	check "and does not show it" not grep -q hunter2 "$OUT"
	pinfold apply said
	exits 125 "apply does not write over it"
	check "it is there" test "$(cat "$D/dump.sql")" = hunter2
	pinfold exec said --hide two.txt -- sh -c 'echo mine >/work/two.txt'
	pinfold diff said
	check "what one command hides stays hidden" not grep -q hunter2 "$OUT"
	pinfold new later --dir "$D" --hide dump.sql
	sh_in later 'cat /work/dump.sql'
	check "new --hide" test "$RC" = 1
	pinfold new none --hide dump.sql
	refuses invalid_argument --hide "without a directory it is refused"
	pinfold new none --dir "$D" --hide $'a\nb'
	refuses invalid_argument --hide "a line is one pattern"
	# One that can fit nothing would hide nothing, and who wrote it would not know.
	local odd
	for odd in "$D/two.txt" /work/two.txt /two.txt ../two.txt src/../two.txt two.txt/. src//two . ..; do
		pinfold run --dir "$D" --hide "$odd" -- true
		refuses invalid_argument --hide "run --hide $odd"
		pinfold new none --dir "$D" --hide "$odd"
		refuses invalid_argument --hide "new --hide $odd"
	done
	pinfold run --dir "$D" --show "$D/.env" -- true
	refuses invalid_argument --show "run --show of a host's path"
	pinfold exec said --show /work/two.txt -- true
	refuses invalid_argument --show "and exec"
	for odd in ./two.txt two.txt/ "two*"; do
		pinfold run --dir "$D" --hide "$odd" -- cat /work/two.txt
		check "--hide $odd hides it" test "$RC" = 1
	done
}

names()
{
	project odd
	sh_in odd 'cd /work; printf x >"a b"; printf y >"q\"\\\\"; printf z >"$(printf "nl\ndiff --git a b")"
		printf u >"$(printf "bad\377")"; printf v >-dash; mkdir "$(printf "d\nd")"; printf w >"$(printf "d\nd/\tt")"
		printf e >"$(printf "esc\033[31m")"; echo x >>src/x.c'
	pinfold review odd
	check "a name is one line" test "$(grep -c '^diff --git' "$OUT")" = 8
	check "and shown escaped" grep -qF 'nl^Jdiff --git a b' "$OUT"
	keep_patch
	pinfold apply odd
	exits 0 "all are written"
	git_applied "odd names"
	pinfold apply --revert odd
	is_clean "and taken back"
	pinfold apply odd -- -dash
	check "also one like an option" test -e "$D/-dash"
}

kinds()
{
	project kinds
	on_host 'chmod 644 tool; echo s >setid; chmod 4755 setid; mkdir inner; echo i >inner/i; git add -A; git commit -qm more'
	tick
	sh_in kinds 'cd /work; rm swap; mkdir swap; echo in >swap/in; rm -r inner; echo flat >inner
		rm tool; ln -s swap/in tool; echo more >>setid; chmod 600 gone.txt; mkfifo pipe; echo s >sh; chmod 755 sh
		echo p >private; chmod 600 private'
	pinfold review kinds
	check "a FIFO is left out" grep -qE '^   A pipe  \(fifo\)  — sockets' "$OUT"
	check "what became another type went and came" test "$(grep -cE '^   [AD] (swap|inner|tool)( |$)' "$OUT")" = 6
	check "a mode that git does not know is no change" not grep -q gone.txt "$OUT"
	keep_patch
	pinfold apply kinds
	exits 0 "apply"
	git_applied "other types"
	check "modes" test "$(cd "$D" && stat -c %a setid sh private gone.txt | tr '\n' ' ')" = "755 755 600 644 "
	if [ "$MODE" = R ]; then
		chown 4242:4242 "$D/private"
		sh_in kinds 'echo q >>/work/private'
		pinfold exec kinds -- true
		tick
		fresh owner --dir "$D"
		sh_in owner 'echo q >>/work/private'
		pinfold apply owner
		check "a file keeps its owner" test "$(stat -c %u:%g "$D/private")" = 4242:4242
	fi
	pinfold apply --revert kinds inner
	refuses invalid_argument --revert "not by halves"
}

huge()
{
	project huge
	pinfold exec huge --memory 512M -- sh -c 'cd /work; head -c 40M /dev/urandom >big
		truncate -s 100M holes; echo end >>holes; sha256sum big holes'
	sums=$(cat "$OUT")
	pinfold apply huge
	exits 0 "large files"
	check "are the same" test "$sums" = "$(cd "$D" && sha256sum big holes)"
	check "and holes are holes" test "$(stat -c %b "$D/holes")" -lt 20000
	sh_in huge 'cd /work; echo x >>big'
	pinfold apply huge
	exits 0 "once more"
	pinfold apply --revert huge
	check "and back" test "$sums" = "$(cd "$D" && sha256sum big holes)"
	check "no temporary file is left" test -z "$(find "$D" -name '.pinfold*')"
}

# What was killed is not there, or whole; and the next who looks puts it right.
killing()
{
	local i wrong=0 none=0 whole=0 halves=0 verbs=(review "apply --dry-run" "apply")

	project kill
	sh_in kill 'cd /work; for i in $(seq 150); do echo $i >n$i; done; echo x >>src/x.c; rm -r lib gone.txt
		rm swap; mkdir swap; echo in >swap/in'
	for i in $(seq $KILLS); do
		call_start run apply kill
		/usr/bin/python3 -I -c 'import sys, time; time.sleep(float(sys.argv[1]))' "0.$((RANDOM % 3))$((RANDOM % 10))"
		kill -KILL "$run_PID" 2>/dev/null
		inside_wait run
		case $(status | wc -l) in
		0) none=$((none + 1)) ;;
		155) whole=$((whole + 1)) ;;
		*) halves=$((halves + 1)) ;;
		esac
		# shellcheck disable=SC2086
		pinfold ${verbs[i % 3]} kill
		[ "$RC" = 0 ] || wrong=$((wrong + 1))
		[ -z "$(find "$D" -name '.pinfold*')" ] || wrong=$((wrong + 1))
		[ -z "$(sql 'SELECT id FROM apply WHERE state <> 2')" ] || wrong=$((wrong + 1))
		case $(status | wc -l) in
		0) [ $((i % 3)) != 2 ] || wrong=$((wrong + 1)) ;;
		155) pinfold apply --revert kill ;;
		*) wrong=$((wrong + 1)) ;;
		esac
		[ -z "$(status)" ] || wrong=$((wrong + 1))
		[ "$wrong" = 0 ] || break
	done
	forget_report '^signal 9'
	diag "$KILLS kills: $none with nothing, $halves in the middle, $whole at the end"
	check "kill -9 at any moment leaves all or nothing" test "$wrong" = 0
	pinfold apply kill
	exits 0 "and it can be applied then"
	call_start run apply --revert kill
	kill -KILL "$run_PID" 2>/dev/null
	inside_wait run
	forget_report '^signal 9'
	pinfold review kill
	check "a revert that is killed is whole or not at all" test "$(status | wc -l)" = 155 -o -z "$(status)"
	pinfold rm kill
	exits 0 "rm"
	check "forgets what was applied" test "$(sql 'SELECT count(*) FROM apply WHERE workspace NOT IN (SELECT id FROM workspace)')" = 0
}

checks()
{
	needs git "git's own view" || return
	reviewing
	reverting
	conflicts
	merging
	merging_layers
	selecting
	links
	secrets
	runs
	remembers
	names
	kinds
	huge
	killing
}

run_checks
