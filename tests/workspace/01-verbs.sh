#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The verbs of workspaces: what they print, as text and as one document, how they end, and what they
# refuse before anything is made.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

SNAPSHOT='{"snapshot", "kind", "label", "current", "undone", "time", "run", "command", "status",
	"exit_status", "wall_ms", "files_changed", "bytes_changed"}'
WORKSPACE='{"name", "status", "snapshot", "created", "layers", "own_bytes", "shared_bytes",
	"disk_limit_bytes", "inode_limit", "dir"}'
TIME='re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", %s) is not None'

making()
{
	pinfold ls
	exits 0 "ls of nothing"
	check "a line of titles" test "$(wc -l <"$OUT")" = 1
	pinfold ls --json
	prints '{"items":[],"next":null}' "ls --json of nothing"
	pinfold new demo
	exits 0 "new"
	prints "" "new prints nothing"
	silent "new says nothing"
	pinfold new --json second
	doc_is '{"name": "second"}' d "new --json"
	pinfold new third --disk 64M --json
	doc_is '{"name": "third"}' d "options behind the name"
	pinfold new demo
	refuses conflict demo "a twin"
	pinfold new --json demo
	json_is '["error"]' 'list(d)' "a twin with --json: its error alone"
	json_is conflict 'd["error"]["code"]' "a twin with --json"
	pinfold ls --json
	doc_is '["demo", "second", "third"]' '[w["name"] for w in d["items"]]' "ls has them in order"
	doc_has "all(set(w) >= $WORKSPACE for w in d['items'])" "with every field"
	doc_has "${TIME/\%s/d[\"items\"][0][\"created\"]}" "an instant is RFC 3339"
	doc_is '[67108864, 10737418240]' '[d["items"][i]["disk_limit_bytes"] for i in (2, 0)]' \
		"the disk limit that was asked for, and the default"
	pinfold ls
	check "ls as text" grep -qE '^third +idle +1 +0 +0 +' "$OUT"
	pinfold info demo
	check "info as text" grep -qE '^snapshot +1$' "$OUT"
	pinfold info --json demo
	doc_has "set(d) >= $WORKSPACE and d['dir'] is None and d['status'] == 'idle'" "info --json"
	pinfold rm third
	exits 0 "rm"
	prints "" "rm prints nothing"
	pinfold info third
	refuses not_found third "then it is not there"
	pinfold new third
	exits 0 "and its name is free"
}

# A lock is made for a workspace that is there, when it is first used.
all_files()
{
	find "$M/home" "$W" ! -path "*/locks/[0-9]*" ! -path "*/ledger*" ! -name reserve | sort
}

# E13: a name is a word and never a path: nothing is made for one that is not.
names()
{
	local name before long

	long=$(printf 'a%.0s' {1..300})
	before=$(all_files)
	for name in 'a/../b' ../x /abs . .. A Demo 'a b' 'a;id' 'a$(id)' 'a`id`' 'a|b' 'a&b' 'a*' 'a\b' \
		$'a\nb' $'a\tb' "a'b" 'a"b' a_b a.b -a "$long" "${long:0:64}" аbс ａ é $'\xff' \
		sbxaaaaaaaaaaaaaaaaaaaaaaaaaa runaaaaaaaaaaaaaaaaaaaaaaaaaa; do
		pinfold new -- "$name"
		check "new $(printf '%q' "${name:0:32}") is refused" test "$RC" = 125
		check "as an argument" grep -qE '^pinfold: invalid_argument: ' "$ERR"
	done
	pinfold new ''
	refuses invalid_argument NAME "an empty name"
	pinfold new
	refuses invalid_argument NAME "no name"
	pinfold new one two
	refuses invalid_argument two "two names"
	check "no file was made for any" test "$(all_files)" = "$before"
	pinfold ls --json
	doc_is '["demo", "second", "third"]' '[w["name"] for w in d["items"]]' "no workspace either"
	pinfold new "${long:0:63}"
	exits 0 "63 characters are a name"
	pinfold rm "${long:0:63}"
	pinfold new 0-9-
	exits 0 "digits and hyphens are, too"
	pinfold rm 0-9-
	for name in 'a/../b' A . "$long" 'a;id'; do
		for verb in info rm snap undo log; do
			pinfold $verb -- "$name"
			check "$verb $(printf '%q' "${name:0:32}") is refused" grep -qE \
				'^pinfold: invalid_argument: ' "$ERR"
		done
		pinfold exec "$name" -- true
		check "exec ${name:0:32}" grep -qE '^pinfold: invalid_argument: ' "$ERR"
		pinfold fork demo "$name"
		check "fork to ${name:0:32}" grep -qE '^pinfold: invalid_argument: ' "$ERR"
		pinfold rollback demo "$name"
		check "rollback to ${name:0:32}" grep -qE '^pinfold: invalid_argument: ' "$ERR"
		pinfold run --name "$name" -- true
		check "run --name ${name:0:32}" grep -qE '^pinfold: invalid_argument: --name: ' "$ERR"
	done
	check "still no file was made" test "$(all_files)" = "$before"
	pinfold new fourth
	pinfold rm third nobody fourth
	refuses not_found nobody "rm of several, one of which is not there"
	pinfold ls --json
	doc_is '["demo", "second"]' '[w["name"] for w in d["items"]]' "the others are gone"
	pinfold new third
}

missing()
{
	local verb

	for verb in "info nosuch" "rm nosuch" "snap nosuch" "undo nosuch" "log nosuch" \
		"rollback nosuch 1" "fork nosuch new" "exec nosuch -- true"; do
		# shellcheck disable=SC2086
		pinfold $verb
		refuses not_found nosuch "${verb%% *} of one that is not there"
	done
	pinfold exec --json nosuch -- true
	exits 125 "exec --json of one that is not there"
	document "exec --json of one that is not there"
	pinfold fork demo second
	refuses conflict second "fork to a name that is taken"
	pinfold fork --at 99 demo new
	refuses not_found 99 "fork from a snapshot that is not there"
	pinfold fork --at no-label demo new
	refuses not_found no-label "or from a label that is not"
	pinfold rollback demo 99
	refuses not_found 99 "rollback to a number that is not there"
	pinfold rollback demo 99999999999999999999999
	refuses not_found 99999999999999999999999 "nor to one that is too large"
	pinfold rollback demo
	refuses invalid_argument "SNAPSHOT" "rollback to nothing"
	pinfold fork demo
	refuses invalid_argument "NEW" "fork to nothing"
	pinfold undo demo none
	check "undo by a word" grep -q '^pinfold: invalid_argument: N: ' "$ERR"
	pinfold undo demo 0
	check "undo of nothing" grep -q '^pinfold: invalid_argument: N: ' "$ERR"
	pinfold undo demo 1 2
	refuses invalid_argument 2 "a word too many"
	pinfold exec
	check "exec without a name" grep -q '^pinfold: invalid_argument: ' "$ERR"
	pinfold exec demo
	refuses invalid_argument COMMAND "exec without a command"
	pinfold info --no-such-option demo
	check "an unknown option" grep -q '^pinfold: invalid_argument: .*--no-such-option' "$ERR"
}

statuses()
{
	ws demo sh -c 'echo out; echo err >&2; exit 7'
	exits 7 "the command's own status"
	prints out "its output"
	says '^err$' "its errors"
	sh_in demo 'kill $$'
	exits 143 "128 + 15 for SIGTERM"
	pinfold exec --time 200ms --grace 100ms demo -- tail -f /dev/null
	exits 124 "a timeout"
	says 'limit time' "and it is said"
	pinfold exec --memory 32M demo -- /usr/bin/python3 -c 'import signal; x = bytearray(200 << 20); signal.pause()'
	exits 137 "out of memory"
	pinfold exec --cpu-time 200ms demo -- sh -c 'while :; do :; done'
	exits 137 "out of processor time"
	ws demo no-such-command
	exits 127 "not found"
	ws demo /etc/passwd
	exits 126 "not executable"
	pinfold exec --memory lots demo -- true
	refuses invalid_argument --memory "a bad value"
	[ "$MODE" = R ] || {
		pinfold exec --user root demo -- true
		refuses unsupported --user "--user root of an ordinary user"
	}
}

options()
{
	pinfold exec demo --env A=b --workdir /tmp -- sh -c 'echo $A; pwd'
	prints $'b\n/tmp' "options behind the name"
	pinfold exec --env A=b demo --env C=d -- sh -c 'echo $A$C'
	prints bd "and on both sides"
	pinfold exec demo sh -c 'echo $0 $1' --json x
	prints '--json x' "behind the command they are its own"
	echo fed >"$W/input"
	own "$W/input"
	pinfold exec --stdin "$W/input" demo -- cat
	prints fed "--stdin"
	pinfold exec demo -- cat <"$W/input"
	prints fed "standard input of the caller"
	pinfold exec demo --lang python -c 'print(6*7)'
	prints 42 "--lang python -c"
	echo 'echo host $1' >"$W/p.sh"
	own "$W/p.sh"
	pinfold exec demo --lang bash "$W/p.sh" word
	check "--lang bash FILE: not one of the host" test "$RC:$(cat "$OUT")" = 127:
	pinfold exec demo --lang bash - word <"$W/p.sh"
	prints "host word" "--lang bash -"
	sh_in demo 'mkdir -p s; echo "echo inside \$1" >s/p.sh; cp s/p.sh ./-p.sh'
	pinfold exec demo --lang bash s/p.sh word
	prints "inside word" "--lang bash FILE, of the workspace"
	pinfold exec demo --workdir /home/user/s --lang bash p.sh word
	prints "inside word" "in its working directory"
	pinfold exec demo --lang bash -- -p.sh
	refuses invalid_argument FILE "a file that would be an option"
	pinfold exec --pty demo -- sh -c 'test -t 0 && echo terminal'
	prints $'terminal\r' "--pty"
	pinfold exec --nofile 64 --pids 20 demo -- sh -c 'ulimit -n'
	prints 64 "a limit"
	sh_in demo 'pwd; id -un; echo $HOME; hostname | cut -c1-3; env | cut -d= -f1 | sort | tr "\n" " "'
	check "inside it is as in a run" grep -qx '/home/user' "$OUT"
	check "and nothing of the caller's environment is there" not grep -q PINFOLD "$OUT"
	on_terminal 'expect:\$' 'send:echo x >from-shell; exit\r' -- shell demo
	exits 0 "shell"
	ws demo cat from-shell
	prints x "what was done in a shell is kept"
	pinfold log --json demo
	doc_has 'any(s["kind"] == "shell" for s in d["items"])' "and in the log as such"
	pinfold shell demo
	refuses invalid_argument terminal "shell without a terminal"
}

documents()
{
	fresh docs
	pinfold exec --json docs -- sh -c 'echo one >f; mkdir d; ln -s f l; echo out; exit 3'
	exits 3 "exec --json has the command's status"
	document "exec --json"
	json_is '["docs", 2, 3]' '[d["workspace"], d["snapshot"], d["exit_code"]]' "workspace and snapshot"
	json_is '["/home/user/d", "/home/user/f", "/home/user/l"]' 'sorted(files)' "files that were added"
	json_has 'all(f["change"] == "added" for f in d["files"])' "as added"
	pinfold exec docs --json -- sh -c 'echo two >>f; rm l; rmdir d; echo n >n'
	json_is '["added", "deleted", "deleted", "modified"]' 'sorted(f["change"] for f in d["files"])' \
		"against the layers below"
	json_has 'files["/home/user/f"]["sha256"] == hashlib.sha256(b"one\ntwo\n").hexdigest()' "the hash"
	pinfold exec --json docs -- true
	json_is '[]' 'd["files"]' "a command that changed nothing"
	pinfold exec --json docs -- no-such
	exits 127 "exec --json of what is not there"
	document "exec --json of what is not there"
	pinfold exec --json --time 200ms --grace 100ms docs -- tail -f /dev/null
	document "exec --json and a timeout"
	json_has 'd["status"] == "timeout" and d["snapshot"] > 0' "with its snapshot"
	pinfold log --json docs
	doc_has "all(set(s) >= $SNAPSHOT for s in d['items'])" "log --json has every field"
	doc_is '["exited", "exited", "exited", "failed", "timeout"]' \
		'sorted(s["status"] for s in d["items"] if s["status"])' "log --json: how they ended"
	doc_has "${TIME/\%s/d[\"items\"][0][\"time\"]}" "log --json: when"
	pinfold log docs
	check "log as text" grep -qE '^      2  exec .* 3 .*sh -c echo one' "$OUT"
	check "where it stands" test "$(grep -c '^\*' "$OUT")" = 1
	pinfold snap --json docs mark
	doc_has "set(d) >= $SNAPSHOT and d['label'] == 'mark' and d['kind'] == 'snap' and d['current']" \
		"snap --json"
	pinfold undo --json docs
	doc_has "set(d) >= $SNAPSHOT and d['current'] and not d['undone']" "undo --json"
	pinfold rollback --json docs 2
	doc_has "set(d) >= $SNAPSHOT and d['kind'] == 'rollback' and d['command'] == '2'" "rollback --json"
	pinfold fork --json docs docs-b
	doc_is '{"name": "docs-b"}' d "fork --json"
	for verb in "snap docs" "undo docs" "rollback docs 2"; do
		# shellcheck disable=SC2086
		pinfold $verb
		check "$verb prints a number" grep -qxE '[0-9]+' "$OUT"
		silent "$verb says nothing else"
	done
	pinfold rm docs-b
	pinfold rm docs
}

# What a command is called in the log is bytes of the caller's choice.
hostile_log()
{
	fresh odd
	pinfold exec odd -- sh -c ': "$1"' sh $'a\033[31m\n"}\xff\xc3'
	pinfold log --json odd
	doc_has 'len(d["items"]) == 2' "odd bytes in a command are one document"
	pinfold log odd
	check "and never reach a terminal as they are" not grep -q $'\033' "$OUT"
	check "nor as a line of their own" test "$(wc -l <"$OUT")" = 3
	pinfold exec odd -- sh -c : sh "$(printf 'x%.0s' {1..20000})"
	exits 0 "a very long command"
	pinfold log --json odd
	doc_has '1000 < len(d["items"][0]["command"]) < 2000' "is cut in the log"
	pinfold exec odd --lang python -c $'print(1)\n# \033 end'
	pinfold log --json odd
	doc_has 'd["items"][0]["command"].startswith("python -c print(1)")' "program text is shown"
	pinfold rm odd
}

labels()
{
	local label

	fresh marks
	for label in A 'a b' 'a/b' -x '' "$(printf 'a%.0s' {1..64})" 12 'é' 'a;b' .x; do
		pinfold snap marks -- "$label"
		check "label $(printf '%q' "${label:0:20}") is refused" grep -qE \
			'^pinfold: invalid_argument: ' "$ERR"
	done
	pinfold snap marks v1.2_b-3
	exits 0 "a label"
	pinfold snap marks v1.2_b-3
	refuses conflict v1.2_b-3 "a label twice"
	pinfold snap marks head
	check "head is no label" test "$RC" = 125
	fresh marks-b
	pinfold snap marks-b v1.2_b-3
	exits 0 "the same label in another workspace"
	pinfold rm marks
	pinfold rm marks-b
}

# What is missing is called what --help calls it.
missing_words()
{
	pinfold cp
	refuses invalid_argument "SRC: is missing" "cp"
	pinfold rm
	refuses invalid_argument "NAME: is missing" "rm"
	pinfold exec kept
	refuses invalid_argument "COMMAND: is missing" "exec NAME"
	pinfold undo kept 0
	refuses invalid_argument "N: " "undo NAME 0"
}

run_with_a_name()
{
	pinfold run --name kept -- sh -c 'echo kept >f; exit 4'
	exits 4 "run --name has the command's status"
	ws kept cat f
	prints kept "and keeps its files"
	pinfold run --name kept -- true
	refuses conflict kept "not over one that is there"
	ws kept cat f
	prints kept "which is as it was"
	pinfold run --name fails --memory lots -- true
	exits 125 "a run that cannot start"
	pinfold info fails
	refuses not_found fails "leaves no workspace"
	pinfold run --name fails -- no-such-command
	exits 127 "nor does one whose command is not there"
	pinfold run --name fails --workdir /no-such -- true
	refuses not_found /no-such "which is told first, as the name is free"
	pinfold run --name fails -- sh -c 'exit 126'
	exits 126 "a command that ran and said so itself"
	pinfold info fails
	exits 0 "is kept"
	pinfold rm fails
	pinfold run --name kept -- true
	refuses conflict --name "and the option is named"
	pinfold run --json --name doc -- sh -c 'echo x >f'
	document "run --json --name"
	json_is '["doc", 2]' '[d["workspace"], d["snapshot"]]' "its workspace and snapshot"
	missing_words
	pinfold rm kept
	pinfold rm doc
}

# A file of the same name beside the caller is no reason why a command failed.
same_names()
{
	echo 'import sys; sys.exit(3)' >"$W/main.py"
	printf '#!/bin/sh\necho ran\n' >"$W/start"
	chmod 755 "$W/start"
	own "$W/main.py" "$W/start"
	fresh names
	pinfold cp main.py names:
	pinfold exec --json names -- python3 main.py
	doc_is '[3, []]' '[d["exit_code"], d["denials"]]' "one that was brought in is not hidden"
	pinfold exec --json names -- sh start
	doc_is '["start"]' '[x["what"] for x in d["denials"]]' "one that was not, is"
	doc_has 'all("pinfold cp" in x["hint"] and "--dir" not in x["hint"] for x in d["denials"])' "and how to bring it in is said"
	pinfold exec --json names -- ./start
	doc_has 'd["exit_code"] == 127 and "pinfold cp ./start names:" in d["error"]["remedy"]' "also of a program"
	pinfold rm names
	rm "$W/main.py" "$W/start"
}

directories()
{
	mkdir "$W/project"
	echo one >"$W/project/one"
	echo two >"$W/project/two"
	own "$W/project"
	chmod 700 "$W/project"
	pinfold new --dir project view
	exits 0 "new --dir"
	pinfold info --json view
	doc_is "$W/project" 'd["dir"]' "its path is kept as it really is"
	sh_in view 'echo more >>/work/one; rm /work/two; echo new >/work/new; echo h >h'
	exits 0 "everything can be changed"
	pinfold diff --json view
	doc_is '["/home/user/h", "/work/new", "/work/one", "/work/two"]' '[x["path"] for x in d["items"]]' \
		"diff has that and no more"
	sh_in view 'cat /work/one /work/new h; ls /work'
	prints $'one\nmore\nnew\nh\nnew\none' "and is so in the next command"
	check "the directory is as it was" test "$(cd "$W/project" && cat one two && ls)" = \
		$'one\ntwo\none\ntwo'
	pinfold exec view --json -- sh -c 'rm /work/new; touch /work/third'
	json_is '{"/work/new": "deleted", "/work/third": "added"}' \
		'{p: files[p]["change"] for p in sorted(files)}' "changes in /work are told"
	pinfold undo view 3
	sh_in view 'cat /work/one; ls /work; ls'
	prints $'one\none\ntwo' "undone, it is the directory again"
	pinfold fork view view-b
	sh_in view-b 'cat /work/two'
	prints two "a fork has the directory, too"
	pinfold new --dir "$W/nosuch" none
	refuses not_found --dir "a directory that is not there"
	pinfold new --dir /bin/ls none
	refuses invalid_argument --dir "a program, which is executable as directories are"
	pinfold new --dir "$W/project/one" none
	refuses invalid_argument --dir "a file is no directory"
	pinfold exec none -- true
	refuses not_found none "then there is no workspace"
	pinfold run --dir project --name viewed -- sh -c 'echo x >/work/made'
	ws viewed cat /work/made
	prints x "run --dir --name keeps it"
	mv "$W/project" "$W/elsewhere"
	ws view true
	refuses not_found --dir "a directory that has gone"
	mv "$W/elsewhere" "$W/project"
	ws view cat /work/one
	prints one "and is back"
	pinfold rm view
	pinfold rm view-b
	pinfold rm viewed
}

full()
{
	fresh small --disk 4M
	sh_in small 'head -c 5000000 /dev/urandom >big'
	ws small true
	refuses limit_exceeded small "a workspace that is full"
	pinfold undo small
	ws small true
	exits 0 "has room again when it is undone"
	sh_in small 'head -c 3000000 /dev/urandom >big'
	pinfold fork small twin
	sh_in twin 'head -c 3000000 /dev/urandom >more; timeout 50 tail -f /dev/null'
	exits 137 "a fork has what it began with"
	ws small true
	exits 0 "and takes nothing of the first one's"
	pinfold rm twin
	pinfold rm small
}

# A file that has no name takes as much room as one that has.
no_name()
{
	fresh small --disk 4M
	pinfold exec small --json --limits best-effort -- /usr/bin/python3 -c '
import os, time
f = os.open("gone", os.O_RDWR | os.O_CREAT)
os.unlink("gone")
for _ in range(24): os.write(f, b"x" * (1 << 20))
time.sleep(50)'
	doc_is '["killed", "disk"]' '[d["status"], d["limit"]["kind"]]' "a file without a name counts"
	pinfold rm small
}

# Others fill the disk meanwhile: that is not the command's doing.
others_fill()
{
	fresh small --disk 4M
	call_start BUSY exec small -- sh -c 'mkdir d; echo x >d/x; echo ready; timeout 1 tail -f /dev/null; echo whole'
	ready BUSY
	head -c 20000000 /dev/urandom >"$M/filler"
	inside_wait BUSY
	rm "$M/filler"
	prints $'ready\nwhole' "a command is not killed for what others write"
	pinfold rm small
}

inodes()
{
	local taken=1

	fresh few --inodes 100
	pinfold info --json few
	doc_is 100 'd["inode_limit"]' "a limit on files"
	pinfold exec --json few -- sh -c 'touch $(seq 2000); timeout 50 tail -f /dev/null'
	exits 137 "more files than that"
	doc_is '["killed", "disk", 100]' '[d["status"], d["limit"]["kind"], d["limit"]["value"]]' "is the limit"
	ws few true
	[ "$RC" = 0 ] && { # it was killed in the very moment, with a file of overlayfs's own that is gone
		sh_in few 'touch a b c d'
		taken=3
		ws few true
	}
	refuses limit_exceeded "files" "a workspace with as many files as it may have"
	pinfold undo few "$taken"
	ws few true
	exits 0 "has room again"
	mkdir "$W/many"
	touch "$W/many/f"{1..120}
	own "$W/many"
	pinfold cp many few:
	refuses limit_exceeded.disk "more than 100 files" "more are not copied in"
	pinfold push few many
	refuses limit_exceeded.disk "there is room for" "nor pushed"
	pinfold import few many
	refuses limit_exceeded.disk "100" "nor imported"
	sh_in few 'ls | wc -l'
	prints 0 "and nothing of them is there"
	rm -r "$W/many"
	pinfold rm few
}

# A limit of the caller's on the size of files is an error of ours, not our end.
file_limit()
{
	pinfold new small
	CALL_WRAP=(/bin/sh -c 'ulimit -f 1; exec "$@"' sh)
	ws small true
	check "ulimit -f: an error" test "$RC" = 125
	check "that says so" grep -q 'ulimit -f' "$ERR"
	CALL_WRAP=()
	pinfold rm --force small nosuch
	exits 0 "rm --force: one that is not there is no error"
	pinfold rm -f small
	exits 0 "nor is one that is gone"
	pinfold rm small
	refuses not_found small "without it, it is"
}

checks()
{
	making
	names
	missing
	statuses
	options
	documents
	hostile_log
	labels
	file_limit
	run_with_a_name
	same_names
	directories
	full
	no_name
	others_fill
	inodes
	pinfold rm demo
	pinfold rm second
	pinfold rm third
	check "all is removed" wait_for 40 settled
	check "and no layer is left" test -z "$(ls "$M/home/layers")"
}

run_checks
