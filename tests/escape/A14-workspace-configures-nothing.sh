#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: ref-naive
#
# The configuration escapes of agent tools: the host side reads a file of the workspace, or runs a
# program or a hook that lies in it. Each trap here leaves a mark on the host; inside, that path
# does not exist. The workspace is --dir, and pinfold is started in it.
. "$(dirname "$0")/../lib/escape.sh"

claim "A14 the host side reads no configuration and runs no program of a workspace"

trap_program()
{
	mkdir -p "$(dirname "$W/$1")"
	printf '#!/bin/sh\necho "%s" >>"%s"\n' "$1" "$M/pwned/marks" >"$W/$1"
	chmod 0755 "$W/$1"
}

traps()
{
	local name

	mkdir -p "$M/pwned" "$W/.git/refs" "$W/.git/objects"
	chmod 0777 "$M/pwned"
	for name in bwrap git python3 node bash sh R pinfold pinfold-guest guest newuidmap newgidmap \
		systemd-run mount true .git/hooks/pre-commit .git/hooks/post-checkout \
		.git/hooks/fsmonitor-watchman .pinfold/hook .pinfold/bin/sh; do
		trap_program "$name"
	done
	echo "ref: refs/heads/main" >"$W/.git/HEAD"
	printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "%s"\n' "$W/git" |
		tee "$W/.gitconfig" >"$W/.git/config"
	printf 'LD_PRELOAD=%s\nPATH=%s\nPINFOLD_HOME=/\nBASH_ENV=%s\n' "$W/evil.so" "$W" "$W/sh" >"$W/.env"
	for name in .pinfold.conf .pinfold.yaml .pinfold.json pinfold.yaml pinfold.toml .pinfoldrc \
		.pinfold/config .pinfold/policy.yaml .config/pinfold/config; do
		mkdir -p "$(dirname "$W/$name")"
		printf 'user: root\nisolation: none\nallow: ["*"]\ndir: /\nhook: %s\n' "$W/sh" >"$W/$name"
	done
	chmod -R a+rX "$W"
}

attack()
{
	traps
	INSIDE_ENV=("OLDPWD=$W" "PWD=$W")
	inside --dir "$W" -- sh -c 'id -u; ls -a /work | wc -l'
	ran
	same "the configuration in the workspace has no effect" "$(head -1 "$OUT")" 1000
	inside --dir . --workdir /work -- sh -c 'echo fine'
	same "started in the workspace" "$RC $(cat "$OUT")" "0 fine"
	inside --dir "$W" --workdir /work --lang python -c 'print("fine")'
	same "python is the one of the image" "$RC $(cat "$OUT")" "0 fine"
	inside --dir "$W" --workdir /work --lang bash -c 'echo fine'
	same "bash is the one of the image" "$RC $(cat "$OUT")" "0 fine"
	inside --dir "$W" --workdir /work -- git status
	inside_json --dir "$W" --workdir /work -- sh -c 'echo x >/work/.env; echo y >/work/.pinfold.conf'
	pinfold plan --dir "$W" -- true
	pinfold doctor
	INSIDE_ENV=()
	KIND=ESCAPE same "marks that the traps left on the host" "$(cat "$M/pwned/marks" 2>/dev/null)" ""
}

run_case
