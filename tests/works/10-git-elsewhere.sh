#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Worktrees and submodules: a directory whose git directory is elsewhere. It is seen inside, and stays as
# it is; and a file .git that names something else opens nothing.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

WHO=(--env GIT_AUTHOR_NAME=n --env GIT_AUTHOR_EMAIL=e --env GIT_COMMITTER_NAME=n --env GIT_COMMITTER_EMAIL=e)
COMMIT='git status --short; git log --format=%s -1; echo x >x; git add x; git commit -qm inside; git log --format=%s -1
	git rev-parse --show-toplevel'

as_caller()
{
	local as=()

	[ "$MODE" = U ] && [ "$EUID" = 0 ] && as=(setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups)
	(cd "$W" && "${as[@]}" env HOME="$M/run" GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null \
		GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e sh -ec "$1")
}

# in_dir DIR TEXT [OPTION...]
in_dir()
{
	inside --no-daemon "${WHO[@]}" "${@:3}" --dir "$W/$1" --workdir /work -- sh -c "$2"
}

state()
{
	find "$W/repo" "$W/wt" -printf '%p %T@ %s\n' | sort
}

shown()
{
	local before

	before=$(state)
	in_dir wt "$COMMIT"
	prints $'second\ninside\n/work' "a worktree: status, log and commit"
	in_dir repo/sub "$COMMIT"
	prints $'lib\ninside\n/work' "a submodule"
	in_dir repo 'git status --short; git log --format=%s -1; cd sub; git log --format=%s -1'
	prints $'second\nlib' "a repository with one in it"
	check "all of it is as it was" test "$before" = "$(state)"
	in_dir wt "ls -a '$W/repo' '$W'"
	check "nothing else of the repository is seen" test "$(tr '\n' ' ' <"$OUT")" = "$W: . .. repo  $W/repo: . .. .git "
	if [ "$MODE" = R ]; then
		in_dir wt 'git -c safe.directory=* log --format=%s -1' --user root
		prints second "as the sandbox's root"
	fi
}

in_a_workspace()
{
	pinfold new wt --dir wt
	pinfold exec --workdir /work "${WHO[@]}" wt -- sh -c 'git status --short; git log --format=%s -1; echo x >x; git add x 2>&1 | head -1'
	check "in a workspace it is there, and read-only" test "$(head -1 "$OUT")" = second
	check "and says so" grep -qi 'read-only' "$OUT"
	pinfold rm wt
}

hidden()
{
	as_caller 'git -C repo config remote.origin.url https://me:sesame-7431@example.org/x; git -C repo/sub config http.extraheader sesame-7431'
	in_dir wt "git log --format=%s -1; grep -rs sesame-7431 '$W' /work"
	prints second "what looks like a secret in it is not seen"
	in_dir repo/sub 'git log --format=%s -1; grep -rs sesame-7431 /.git /work'
	prints lib "nor of a submodule"
	in_dir repo 'grep -rs sesame-7431 /work; echo done'
	prints done "nor in the repository itself"
	as_caller 'git -C repo config --unset remote.origin.url; git -C repo/sub config --unset http.extraheader'
}

# refused CLAIM: not shown, and the run says why.
refused()
{
	in_dir evil "cat '$W/repo/.git/HEAD' /private/HEAD '$W/private/HEAD' /tmp/private/HEAD; ls -R / | grep sesame" 2>/dev/null
	check "$1: nothing is shown" not grep -qE 'ref:|sesame' "$OUT"
	check "$1: a note" grep -q 'not shown' "$ERR"
}

hostile()
{
	as_caller 'mkdir evil private; mkdir private/objects private/refs; echo "ref: x" >private/HEAD; echo sesame >private/sesame'
	as_caller 'echo "gitdir: $PWD/repo/.git/worktrees/wt" >evil/.git'
	refused "the worktree of another"
	as_caller 'echo "gitdir: $PWD/repo/.git" >evil/.git'
	refused "a repository that is elsewhere"
	as_caller 'echo "gitdir: $PWD/private" >evil/.git'
	refused "a directory that does not point back"
	as_caller 'printf "[core]\n\tworktree = %s/evil\n" "$PWD" >private/config; ln -s private way; echo "gitdir: $PWD/way" >evil/.git'
	refused "a link"
	as_caller 'echo "gitdir: ../way/../private" >evil/.git; rm -r private/refs'
	refused "what is no git directory"
	as_caller 'mkdir private/refs; rm private/HEAD; ln -s sesame private/HEAD; echo "gitdir: $PWD/private" >evil/.git'
	refused "nor one with links in it"
	as_caller 'echo "gitdir: /etc" >evil/.git'
	refused "/etc"
	as_caller 'echo "gitdir: /proc/self/root" >evil/.git'
	refused "/proc"
	as_caller 'rm evil/.git; ln -s ../wt/.git evil/.git'
	in_dir evil "ls '$W'"
	check "a .git that is a link is none" test "$RC" != 0
	if [ "$MODE" = U ] && [ "$EUID" = 0 ]; then
		rm "$W/evil/.git"
		printf 'ref: x\n' >"$W/head"
		mkdir -p "$W/roots/objects" "$W/roots/refs"
		mv "$W/head" "$W/roots/HEAD"
		printf '[core]\n\tworktree = %s/evil\n' "$W" >"$W/roots/config"
		echo sesame >"$W/roots/sesame"
		as_caller 'echo "gitdir: $PWD/roots" >evil/.git'
		refused "what belongs to somebody else"
		rm -r "$W/roots"
	fi
	in_dir private true
	exits 0 "and a directory without one is as ever"
}

checks()
{
	needs git "git" || return
	own "$W"
	as_caller 'git init -q -b main repo; cd repo; echo a >a; git add a; git commit -qm first
		git init -q -b main ../lib; cd ../lib; echo l >l; git add l; git commit -qm lib
		cd ../repo; git -c protocol.file.allow=always submodule --quiet add "$PWD/../lib" sub; git commit -qm second
		git worktree add -q ../wt -b topic'
	shown
	in_a_workspace
	hidden
	hostile
}

run_checks
