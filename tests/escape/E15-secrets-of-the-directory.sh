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

plant()
{
	mkdir -p "$W/p/deep/er" "$W/p/.ssh" "$W/p/.aws"
	for name in .env .env.production deep/.env deep/er/id_ed25519 .ssh/config .aws/credentials \
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

attack()
{
	local before

	plant
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
	same "the host's files" "$(cd "$W/p" && find . -type f -exec sha256sum {} + | sort)" "$before"
}

run_case
