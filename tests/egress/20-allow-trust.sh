#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `allow --explain` says which rule decides; `trust` makes a project's proposal count, until it
# changes; the user's own policy and the operator's ceiling hold for runs. Nothing is connected to.
. "$(dirname "$0")/../lib/cli.sh"

DOC=$(dirname "$TEST_DIR")/../docs/egress.md

# explains VERDICT TEXT ARG...: its exit status, and TEXT somewhere in what it prints.
explains()
{
	local status=1 verdict=$1 text=$2

	case $verdict in allowed) status=0 ;; ask) status=2 ;; esac
	shift 2
	pinfold allow "$@"
	check "$verdict: ${*: -1}" test "$RC" = "$status" -a "$(head -c ${#verdict} "$OUT")" = "$verdict"
	check "and why: $text" grep -qF -e "$text" "$OUT"
}

policies()
{
	cat >"$W/net.yaml" <<-'END'
		allow:
		  - name: reader
		    host: api.test
		    methods: [GET]
		    paths: ['/v1/**']
		    bytes_up: 1M
		  - '*.wild.test'
		  - '*.github.io'
		ask: [push.test]
		deny: [bad.wild.test]
	END
	explains allowed 'allow example.org:80,443 http,tls' --allow example.org --explain https://example.org/x
	explains allowed 'example.org:8443 tcp' --allow example.org:8443 --explain example.org:8443
	explains denied '--allow example.org:22' --allow example.org --explain example.org:22
	explains denied 'no rule names it' --explain https://example.org/
	explains allowed 'line 2' --policy "$W/net.yaml" --explain https://api.test/v1/x
	explains denied 'allows GET here, not POST' --policy "$W/net.yaml" --method POST \
		--explain https://api.test/v1/x
	explains denied 'dot segment' --policy "$W/net.yaml" --explain https://api.test/v1/../x
	explains denied 'on purpose' --policy "$W/net.yaml" --explain https://bad.wild.test/
	explains ask 'approve' --policy "$W/net.yaml" --explain https://push.test/
	explains allowed 'anybody can have a name' --policy "$W/net.yaml" --explain a.github.io
	explains denied 'no rule names it' --allow 10.0.0.1 --explain http://0x7f.1/
	explains allowed '10.0.0.1' --allow 10.0.0.1 --explain http://167772161/
	pinfold allow --policy "$W/net.yaml" --explain --json https://api.test/v1/x
	check "one document" /usr/bin/python3 -I - "$OUT" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["verdict"] == "allowed" and d["protocol"] == "https" and d["inspected"], d
		assert d["rule"]["name"] == "reader" and d["rule"]["line"] == 2, d
		assert d["limits"] == {"bytes_up": 1048576}, d
	END
}

mistakes()
{
	local text

	pinfold allow
	refuses invalid_argument missing "nothing to explain"
	pinfold allow --explain ftp://example.org
	refuses invalid_argument --explain "another scheme"
	for text in '*' 'exa mple.org' localhost http://example.org; do
		pinfold allow --allow "$text" --explain example.org
		refuses invalid_argument --allow "--allow '$text'"
	done
	printf 'allow:\n  - host: a.test\n    prot: tls\n' >"$W/bad.yaml"
	pinfold allow --policy "$W/bad.yaml" --explain a.test
	refuses invalid_argument 'line 3, column 5: allow[0].prot' "a key that is none, by its place"
	inside --policy "$W/bad.yaml" -- echo ran
	refuses invalid_argument 'line 3, column 5' "and no run starts with it"
	pinfold allow --allow https://a.test/b --explain a.test
	check "the host of a URL is offered" grep -qF -e '--allow a.test;' "$ERR"
	for text in 'allow: a.test' 'allow: [{host: a.test, methods: GET}]' 'allow: [{host: a.test, connections: -1}]' \
		'allow: [{host: a.test, inject: {secret: K, header: Host}}]'; do
		echo "$text" >"$W/bad.yaml"
		pinfold allow --policy "$W/bad.yaml" --explain a.test
		refuses invalid_argument 'line 1, column' "$text"
		check "and what helps is said" test "$(grep -c 'remedy: .*help VERB' "$ERR")" = 0
	done
	: >"$W/empty.yaml"
	inside --policy "$W/empty.yaml" -- echo ran
	refuses invalid_argument 'empty' "an empty file is no policy"
	head -c 4194304 /dev/zero | tr '\0' '#' >"$W/large.yaml"
	inside --policy "$W/large.yaml" -- echo ran
	refuses invalid_argument '4 MiB' "nor is one that is too large, which is said"
	printf 'allow: []\0\n' >"$W/nul.yaml"
	inside --policy "$W/nul.yaml" -- echo ran
	refuses invalid_argument NUL "nor one with NUL in it"
}

trusted()
{
	mkdir -p "$W/project"
	printf 'allow: [proposed.test]\n' >"$W/project/pinfold.yaml"
	chmod -R a+rX "$W/project"
	inside --dir "$W/project" -- true
	exits 0 "with a proposal that nobody trusts"
	check "it is said, once" test "$(grep -c 'pinfold trust' "$ERR")" = 1
	explains denied 'no rule names it' --dir "$W/project" --explain proposed.test
	pinfold trust "$W/project"
	exits 0 "trusted"
	check "in a directory that, of root's, others can look into" test "$(stat -c %a "$CONFIG")" = \
		"$([ "$MODE" = R ] && echo 755 || echo 700)"
	explains allowed pinfold.yaml --dir "$W/project" --explain proposed.test
	inside --dir "$W/project" -- true
	silent "nothing is said any more"
	pinfold trust --list
	check "the list has it" grep -q '^trusted .*/project/pinfold.yaml$' "$OUT"
	printf 'allow: [proposed.test, more.test]\n' >"$W/project/pinfold.yaml"
	explains denied 'no rule names it' --dir "$W/project" --explain proposed.test
	inside --dir "$W/project" -- true
	check "a change has to be trusted again" grep -q 'it changed since' "$ERR"
	pinfold trust --list --json
	check "the list knows" grep -q '"state":"changed"' "$OUT"
	printf 'allow: [proposed.test]\n' >"$W/project/pinfold.yaml"
	explains allowed pinfold.yaml --dir "$W/project" --explain proposed.test
	cp -r "$W/project" "$W/copy"
	explains denied 'no rule names it' --dir "$W/copy" --explain proposed.test
	pinfold trust --forget "$W/project/pinfold.yaml"
	exits 0 "forgotten"
	explains denied 'no rule names it' --dir "$W/project" --explain proposed.test
	pinfold trust --forget "$W/project"
	refuses not_found 'is not trusted' "it was not there"
	ln -sf ../project/pinfold.yaml "$W/copy/pinfold.yaml"
	pinfold trust "$W/copy"
	check "a link is not trusted" test "$RC" = 125
	inside --dir "$W/copy" -- true
	exits 0 "and no reason not to run"
	printf 'allow: [1]\n' >"$W/project/pinfold.yaml"
	pinfold trust "$W/project"
	refuses invalid_argument 'allow[0]' "nor is what cannot be used"
}

standing()
{
	mkdir -p "$CONFIG"
	printf 'allow: [own.test, both.test]\ndeny: [never.test]\n' >"$CONFIG/policy.yaml"
	[ "$MODE" = U ] && [ "$EUID" = 0 ] && chown -R "$USER_ID" "$CONFIG"
	explains allowed policy.yaml --explain own.test
	explains denied 'on purpose' --allow never.test --explain never.test
	printf 'allow: [both.test]\n' >"$W/ceiling.yaml"
	chmod a+r "$W/ceiling.yaml"
	CALL_ENV+=("PINFOLD_CEILING=$W/ceiling.yaml")
	explains allowed policy.yaml --explain both.test
	explains denied 'the operator of this machine' --explain own.test
	explains denied 'the operator of this machine' --allow more.test --explain more.test
	printf 'allow: [oops\n' >"$W/ceiling.yaml"
	inside --allow both.test -- echo ran
	refuses invalid_argument ceiling.yaml "a ceiling that cannot be read ends it"
	rm "$W/ceiling.yaml"
	inside --allow both.test -- echo ran
	refuses not_found ceiling.yaml "so does one that is not there"
	chmod a+w "$CONFIG/policy.yaml"
	pinfold allow --explain own.test
	refuses denied 'somebody else' "a policy that others may write is not believed"
}

presets()
{
	CALL_ENV+=("PIP_INDEX_URL=https://user:word@index.test:8443/simple" "npm_config_registry=")
	printf 'allow: [{preset: pip}]\n' >"$W/pip.yaml"
	explains allowed 'preset pip: index.test' --policy "$W/pip.yaml" \
		--explain https://index.test:8443/simple/
	check "without the password" test -z "$(grep -r word "$OUT")"
	explains denied 'allows GET,HEAD here' --policy "$W/pip.yaml" --method POST \
		--explain https://index.test:8443/legacy/
	printf '[url "https://git.test/"]\n\tinsteadOf = git@git.test:\n' >"$W/gitconfig"
	mkdir -p "$W/xdg/git" && cp "$W/gitconfig" "$W/xdg/git/config" && chmod -R a+rX "$W/xdg"
	CALL_ENV+=("XDG_CONFIG_HOME=$W/xdg")
	printf 'allow: [{preset: git}]\n' >"$W/git.yaml"
	explains allowed 'preset git: git.test' --policy "$W/git.yaml" --method POST \
		--explain https://git.test/o/r.git/git-upload-pack
	explains denied 'does not have this path' --policy "$W/git.yaml" --method POST \
		--explain https://git.test/o/r.git/git-receive-pack
	printf 'allow: [{preset: cargo}]\n' >"$W/none.yaml"
	pinfold allow --policy "$W/none.yaml" --explain a.test
	refuses invalid_argument 'allow[0].preset' "a preset that is none"
}

# The examples of docs/egress.md, as they stand there.
documented()
{
	local line words got=

	sed -n '/^```yaml$/,/^```$/p' "$DOC" | grep -v '^```' >"$W/net.yaml"
	sed -n '/^## Ask before/,/^## [^A]/p' "$DOC" | sed -n '/^```console$/,/^```$/p' | grep -v '^```' >"$W/want"
	while read -r line; do
		read -ra words <<<"${line#\$ pinfold }"
		pinfold "${words[@]}"
		got+="$line"$'\n'"$(cat "$OUT" "$ERR")"$'\n'
	done < <(grep '^\$' "$W/want")
	check "the examples of docs/egress.md" diff "$W/want" <(printf %s "$got")
}

checks()
{
	CONFIG=$W/config
	CALL_ENV=("PINFOLD_CONFIG=$CONFIG")
	policies
	documented
	mistakes
	trusted
	standing
	CALL_ENV=("PINFOLD_CONFIG=$CONFIG/none")
	presets
	CALL_ENV=()
}

run_checks
