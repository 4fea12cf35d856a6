#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# git: a new repository, and a clone of one of the caller's, which stays as it is.
. "$(dirname "$0")/../lib/cli.sh"

checks()
{
	needs git "git" || return
	inside_json -- sh -ec '
		git init -q -b main r && cd r
		git config user.email a@b.c; git config user.name A
		echo one >f; git add f; git commit -qm first
		git checkout -qb topic; echo two >>f; git commit -qam second
		git checkout -q main; git merge -q topic; git tag v1; git gc -q
		git clone -q . ../c; cd ../c; git log --format=%s; git fsck 2>&1
		git status --short'
	exits 0 "init, commit, branch, merge, gc, clone, fsck"
	json_is $'second\nfirst' 'd["stdout"]["text"].strip()' "its log"
	json_is '[]' 'd["denials"]' "nothing was refused"
	as_caller git init -q -b main "$W/repo"
	as_caller git -C "$W/repo" -c user.email=a@b.c -c user.name=A commit -q --allow-empty -m \
		hosts
	find "$W/repo" -printf '%p %T@ %s\n' | sort >"$EVIDENCE/before"
	inside --dir "$W/repo" --workdir /work -- sh -ec '
		git log --format=%s; echo x >x; git add x
		git -c user.email=a@b.c -c user.name=A commit -qm inside; git log --format=%s -1
		git clone -q /work ~/copy; ls ~/copy'
	prints $'hosts\ninside\nx' "a repository of the caller's: read, commit, clone"
	find "$W/repo" -printf '%p %T@ %s\n' | sort >"$EVIDENCE/after"
	check "and it is as it was" cmp "$EVIDENCE/before" "$EVIDENCE/after"
	inside -- sh -ec 'git init -q r; cd r; printf "1\n2\n" >f; git add f; printf "1\n3\n" >f
		git diff --stat; git stash list; git diff | git apply --check -R && echo applies'
	check "diff and apply" grep -q applies "$OUT"
}

as_caller()
{
	if [ "$MODE" = U ] && [ "$EUID" = 0 ]; then
		setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups env \
			HOME=/nonexistent "$@"
	else
		env HOME=/nonexistent "$@"
	fi
}

run_checks
