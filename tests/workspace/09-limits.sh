#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Limits that are changed later, and limits on all workspaces of a user together: what they say, that they
# hold wherever something is made or written, and that they go away again.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

changed()
{
	fresh demo --disk 2M
	pinfold limit demo
	prints $'disk      2.0M\ninodes    1048576' "what it may hold"
	sh_in demo 'head -c 2500000 /dev/urandom >big'
	ws demo true
	refuses limit_exceeded demo "a workspace that is full"
	says '^pinfold: remedy: .*pinfold limit --disk SIZE demo' "it says how to get more"
	pinfold limit --json --disk 8M demo
	doc_is '["demo", 8388608, 1048576]' '[d[k] for k in ("name", "disk_limit_bytes", "inode_limit")]' "it gets more"
	ws demo true
	exits 0 "and goes on"
	pinfold info --json demo
	doc_is 8388608 'd["disk_limit_bytes"]' "info says so, too"
	pinfold fork demo twin
	pinfold limit --disk 4M twin
	pinfold info --json demo
	doc_is 8388608 'd["disk_limit_bytes"]' "a fork has its own"
	pinfold limit demo --inodes 3
	ws demo true
	exits 0 "few files"
	sh_in demo 'mkdir d; touch d/1 d/2 d/3 d/4 d/5; timeout 50 tail -f /dev/null'
	exits 137 "a limit on files that was set later"
	pinfold limit demo --inodes 1000
	ws demo true
	exits 0 "and that was raised"
	pinfold limit --disk 1M demo
	ws demo true
	refuses limit_exceeded demo "less than it has"
	pinfold undo demo 5
	pinfold rm twin
	pinfold rm demo
}

refused()
{
	pinfold limit nobody --disk 1G
	refuses not_found nobody "a workspace that is none"
	pinfold limit --disk 1G
	refuses invalid_argument NAME "no workspace"
	pinfold limit --workspaces 3 demo
	refuses invalid_argument --total "a number of workspaces for one"
	pinfold limit --total demo
	refuses invalid_argument --total "a name and all"
	pinfold limit --disk nothing demo
	refuses invalid_argument --disk "no size"
}

number()
{
	pinfold limit --total
	prints $'disk        0 of no limit\nworkspaces  0 of no limit' "no limit at first"
	pinfold limit --total --workspaces 2 --json
	doc_is '[null, 0, 2, 0]' '[d[k] for k in ("disk_limit_bytes", "disk_bytes", "workspace_limit", "workspaces")]' \
		"a limit on their number"
	pinfold new one
	pinfold new two
	exits 0 "as many as may be"
	pinfold new three
	refuses limit_exceeded.workspaces 2 "one more"
	pinfold fork one three
	refuses limit_exceeded.workspaces 2 "a fork"
	mkdir -p "$W/d" && echo x >"$W/d/x" && own "$W/d"
	pinfold import three d
	refuses limit_exceeded.workspaces 2 "one that import would make"
	pinfold run --name three -- true
	check "one that run would make is refused" test "$RC" = 125
	pinfold ls --json
	doc_is '["one", "two"]' '[w["name"] for w in d["items"]]' "nothing of them is there"
	pinfold rm two
	pinfold new three
	exits 0 "when one has gone there is room"
	pinfold rm three
}

bytes()
{
	pinfold limit --total --disk 4M
	check "as text" grep -qE '^disk +[0-9.KM]+ of 4.0M$' "$OUT"
	pinfold new two
	sh_in one 'head -c 2000000 /dev/urandom >a'
	exits 0 "some of it"
	pinfold exec --json two -- sh -c 'head -c 9000000 /dev/urandom >a; timeout 50 tail -f /dev/null'
	doc_is '["killed", "disk"]' '[d["status"], d["limit"]["kind"]]' "another takes more than the rest"
	doc_has '"--total" in d["limit"]["hint"]' "and is told which limit that is"
	ws one true
	refuses limit_exceeded.disk together "then nobody runs any more"
	head -c 100000 /dev/urandom >"$W/d/more"
	pinfold push one d
	refuses limit_exceeded.disk together "nor is anything pushed"
	pinfold import one d
	refuses limit_exceeded.disk together "nor imported"
	pinfold cp d one:
	refuses limit_exceeded.disk together "nor copied in"
	tar -C "$W/d" -cf "$W/t.tar" .
	pinfold image import tiny "$W/t.tar"
	refuses limit_exceeded.disk together "nor is an image taken in"
	pinfold undo two
	ws two true
	exits 0 "what was undone makes room"
	head -c 3000000 /dev/urandom >"$W/d/more"
	own "$W/d"
	pinfold push one d
	refuses limit_exceeded.disk "room" "a push of more than the rest is refused before"
	pinfold limit --total --unlimited
	check "limits are taken away" test "$(grep -c 'of no limit' "$OUT")" = 2
	pinfold push one d
	exits 0 "then there is none"
	pinfold fsck
	exits 0 "fsck is clean"
}

# Looking at many files takes long, so they are looked at seldom; what is written to is looked at all the same.
many_files_then_one()
{
	local most=$((200 << 20)) taken

	fresh late --disk 200M
	CALL_SECONDS=300
	pinfold exec --json --time 4m late -- /usr/bin/python3 -c '
import os, time
for d in range(50):
    os.mkdir(str(d))
    for f in range(500):
        os.close(os.open(f"{d}/{f}", os.O_CREAT))
data = b"x" * (1 << 20)
f = os.open("big", os.O_WRONLY | os.O_CREAT)
for _ in range(2000):
    os.write(f, data)
    time.sleep(0.001)'
	doc_is '["killed", "disk"]' '[d["status"], d["limit"]["kind"]]' "a large file beside many is too much"
	CALL_SECONDS=240
	taken=$(($(du -sk "$M/home/layers" | cut -f1) << 10))
	diag "$((taken >> 20)) MiB of $((most >> 20))"
	# Nearly a second of its writing, in which nobody may get to look. By looks at all files it would be two and more.
	check "and was stopped soon" test "$taken" -lt "$((most + (512 << 20)))"
	pinfold rm late
}

checks()
{
	many_files_then_one
	refused
	changed
	number
	bytes
}

run_checks
