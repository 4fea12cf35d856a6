#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: secrets
#
# An agent is shown a project, and the project has keys in it. What looks like a secret is not there
# for it, however it looks: by name, through a link, a hard link, a listing, /proc, or under what it
# puts in its place. The host's files stay as they are.
. "$(dirname "$0")/../lib/escape.sh"

claim "E15 what looks like a secret in --dir is not seen inside"

SECRET=sesame-open-7431

put_secrets()
{
	mkdir -p "$W/p/deep/er" "$W/p/.ssh" "$W/p/.aws" "$W/p/.config/pinfold" "$W/p/.local/share/pinfold/ledger"
	for name in .config/pinfold/vault.key .local/share/pinfold/ledger/key .env .env.production deep/.env deep/er/id_ed25519 .ssh/config .aws/credentials \
		.netrc .git-credentials deep/store.p12; do
		echo "$SECRET" >"$W/p/$name"
	done
	printf -- '-----BEGIN RSA PRIVATE KEY-----\n%s\n' "$SECRET" >"$W/p/deep/server.pem"
	echo "//registry/:_authToken=$SECRET" >"$W/p/.npmrc"
	echo template >"$W/p/.env.example"
	echo certificate >"$W/p/deep/ca.pem"
	ln -s .env "$W/p/link"
	ln "$W/p/.ssh/config" "$W/p/deep/other-name"
	rm "$W/p/deep/other-name" # a hard link under another name is another file: not what we claim
	chmod -R a+rwX "$W/p"
}

# A search that gives up shows what it has not seen: the secrets are behind 51,000 other names, and deep.
in_the_crowd()
{
	local d=$W/crowd deep

	deep=$(printf 'd%.0s/' $(seq 60))
	mkdir -p "$d/a" "$d/z/$deep"
	(cd "$d/a" && umask 022 && seq 51000 | xargs touch)
	for name in .env.3 z/.env dump.sql "z/$deep.env"; do
		echo "$SECRET" >"$d/$name"
	done
	chmod a+r "$d"/.env.3 "$d"/dump.sql "$d"/z/.env "$d/z/$deep.env"
	find "$d" -type d -exec chmod a+rx {} +
	inside --dir "$d" --hide dump.sql -- sh -c "cd /work
		cat .env.3 z/.env z/$deep.env dump.sql 2>/dev/null | sed 's/^/open /'; ls a | wc -l
		echo shut crowd"
	ran
	KIND=READ shut crowd
	same "all others are there" "$(head -n 1 "$OUT")" 51000
	inside --dir "$d" --show z/ -- cat /work/z/.env
	same "--show DIR/ shows what is in it" "$(cat "$OUT")" "$SECRET"
	inside --dir "$d" --show z/ --hide z/.env -- cat /work/z/.env
	same "but for what --hide names there" "$(cat "$OUT")" ""
	(cd "$d/z" && seq -f .env.%.0f 300 | xargs touch && chmod a+r .env.*)
	inside --dir "$d" -- cat /work/z/.env.300
	holds "more than can be hidden is refused" grep -q 'limit_exceeded.*--dir' "$ERR"
	inside --dir "$d" --hide z -- ls /work
	same "unless their directory is hidden" "$(tr '\n' ' ' <"$OUT")" 'a dump.sql '
	rm -r "$d"
}

# Addresses have names before an @ that are no secret; others have tokens there.
git_config()
{
	local d=$W/git text

	mkdir -p "$d/.git"
	for text in 'url = https://me:hunter2@example.org/x.git' 'url = https://ghp_0123456789abcdefABCDEF@example.org/x' \
		'extraheader = AUTHORIZATION: basic aGk=' '[url "https://u:p@example.org/"]' \
		'helper = "!f() { echo password=x; }; f"' '	oauthToken = 12'; do
		printf '[remote "origin"]\n%s\n' "$text" >"$d/.git/config"
		chmod -R a+rX "$d"
		inside --dir "$d" -- sh -c "cat /work/.git/config 2>/dev/null | sed 's/^/open /'; echo shut config"
		ran
		KIND=READ shut config
	done
	printf '[user]\nemail = me@example.org\n[remote "o"]\nurl = git@example.org:me/tokenizer.git\nurl = %s\nurl = %s\n' \
		ssh://git@example.org/x https://me@example.org/x >"$d/.git/config"
	inside --dir "$d" -- cat /work/.git/config
	same "addresses without a password are shown" "$(cat "$OUT")" "$(cat "$d/.git/config")"
}

# Who shows his home directory shows neither the key that signs the record nor what is in the vault,
# wherever pinfold has them.
own_files()
{
	local config=

	[ "$MODE" = U ] || config=config # PINFOLD_CONFIG
	mkdir -p "$M/config"
	[ -e "$M/home/ledger/key" ] || fell CRASH "the ledger's private key is elsewhere"
	inside --dir "$M" -- sh -c "cd /work; for f in home/ledger/key home/store.db home/ledger/../ledger/events $config; do
		[ -e \$f ] && echo open \$f; done; mv home/ledger x 2>/dev/null && echo open moved; ls -d run; echo shut own"
	ran
	KIND=READ shut own
	same "what is beside them is there" "$(grep -c '^run$' "$OUT")" 1
	inside --dir "$M" --show home -- test -e /work/home/ledger/key
	ran
	inside --dir "$M/home" -- true
	holds "the data directory itself is refused" grep -q '^pinfold: invalid_argument: --dir: it is where pinfold' "$ERR"
	inside --dir "$M/home/ledger" -- cat /work/key
	KIND=READ holds "so is a directory in it" grep -q '^pinfold: invalid_argument: --dir: it is where pinfold' "$ERR"
}

attack()
{
	local before

	put_secrets
	before=$(cd "$W/p" && find . -type f -exec sha256sum {} + | sort)
	inside --dir "$W/p" -- sh -c "cd /work
		grep -r -l $SECRET . /proc/self/cwd/ 2>/dev/null | sed 's/^/open /'
		for f in .env ./.env deep/../.env link /proc/self/cwd/.env .ssh/config deep/er/id_ed25519; do
			cat \$f 2>/dev/null | sed 's/^/open /'; done
		rm -f .env; mv .env x 2>/dev/null; ln .env y 2>/dev/null; cp -a . /tmp/all 2>/dev/null
		grep -r $SECRET /tmp/all | sed 's/^/open /'
		mkdir .ssh 2>/dev/null; cat .ssh/* 2>/dev/null | sed 's/^/open /'
		echo shut all"
	ran
	KIND=READ shut all
	inside --dir "$W/p" -- sh -c 'cd /work; cat .env.example deep/ca.pem; ls -A deep | tr "\n" " "'
	ran
	same "what is no secret is there" "$(cat "$OUT")" $'template\ncertificate\nca.pem er '
	inside --dir "$W/p" --show .env -- cat /work/.env
	same "--show shows one" "$(cat "$OUT")" "$SECRET"
	inside --dir "$W/p" --hide 'ca.pem' -- ls /work/deep
	same "--hide hides one more" "$(tr '\n' ' ' <"$OUT")" "er "
	[ "$MODE" = U ] && [ "$EUID" = 0 ] || in_the_crowd # slow to make, and searched by the same code
	git_config
	own_files
	same "the host's files" "$(cd "$W/p" && find . -type f -exec sha256sum {} + | sort)" "$before"
}

run_case
