#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Help, man page and completions: made from one table, so they name the same things.
. "$(dirname "$0")/../lib/cli.sh"

verbs="run shell approvals approve deny deps plan doctor bench version help exec ps logs attach kill pause resume extend new ls rm info
snap log diff review apply cp push pull watch undo rollback fork export import image gc fsck allow trust secret audit receipt verify replay
serve mcp token tenant top"
run_options="--json --dir --env --workdir --stdin --pty --image --isolation --limits --allow
--policy --deps --user --raw --daemon --no-daemon --name --lang -c --time --grace --cpu-time
--cpus --memory --pids --disk --nofile --output --keep --detach --help"

help_texts()
{
	local verb option missing=

	pinfold
	exits 0 "without arguments"
	for verb in $verbs; do
		check "the overview names $verb" grep -qE "^  $verb +[a-z]" "$OUT"
	done
	for verb in help --help -h; do
		pinfold $verb
		check "pinfold $verb is the overview" grep -q '^Usage: pinfold VERB' "$OUT"
	done
	for verb in $verbs; do
		pinfold "$verb" --help
		exits 0 "$verb --help: status"
		check "$verb --help: usage" grep -q "^Usage: pinfold $verb" "$OUT"
		check "$verb --help: an example" grep -qE "^ +(.* )?pinfold $verb" <(sed \
			'1,/^Examples:/d' "$OUT")
		check "$verb --help: at most 80 columns" test -z "$(grep -E '.{81}' "$OUT")"
		check "$verb --help: silent otherwise" test ! -s "$ERR"
		cp "$OUT" "$EVIDENCE/help.$verb"
		pinfold help "$verb"
		check "help $verb: the same" cmp "$OUT" "$EVIDENCE/help.$verb"
		pinfold "$verb" -h
		check "$verb -h: the same" cmp "$OUT" "$EVIDENCE/help.$verb"
	done
	for option in $run_options; do
		grep -qE -e "^  $option( |$)" "$EVIDENCE/help.run" || missing+="$option "
	done
	check "run --help has every option of the contract" test -z "$missing"
	check "run --help has the exit statuses" grep -q '^125\|125 Pinfold itself failed' \
		"$EVIDENCE/help.run"
	inside --help -- true
	check "--help comes before running" grep -q '^Usage: pinfold run' "$OUT"
	inside printf %s --help
	prints --help "but not behind the command"
}

verb_names()
{
	pinfold no-such-verb --json
	json_is invalid_argument 'd["error"]["code"]' "with --json as a document"
	pinfold no-such-verb
	refuses invalid_argument no-such-verb "an unknown verb"
	pinfold rum
	says 'did you mean pinfold run' "a typing error is recognised"
	pinfold foo
	check "another word is not" test -z "$(grep 'did you mean' "$ERR")"
	pinfold help no-such-verb
	refuses invalid_argument no-such-verb "help for an unknown verb"
	pinfold version
	like "$(cat "$OUT")" '^pinfold [0-9]+\.[0-9]+\.[0-9]+$' "version [$MODE]"
	pinfold --version
	like "$(cat "$OUT")" '^pinfold [0-9]+\.[0-9]+\.[0-9]+$' "--version [$MODE]"
	pinfold rm --json nosuch
	json_is '["code", "message", "remedy"]' 'sorted(d["error"])' "what is no run has its error alone"
	json_is '["error"]' 'list(d)' "and nothing of a run"
	pinfold version --json
	check "version --json" /usr/bin/python3 -I -c 'import json, re, sys
assert re.fullmatch(r"\d+\.\d+\.\d+", json.load(open(sys.argv[1]))["version"])' "$OUT"
	pinfold version extra
	refuses invalid_argument extra "one argument too many"
}

man_page()
{
	local word missing=

	pinfold docs man
	cp "$OUT" "$EVIDENCE/pinfold.1"
	check "the man page is printed" test -s "$OUT"
	if needs mandoc "the man page is clean for mandoc"; then
		check "the man page is clean for mandoc" test -z \
			"$(mandoc -T lint -W warning "$EVIDENCE/pinfold.1" 2>&1)"
		mandoc -T utf8 "$EVIDENCE/pinfold.1" | col -b >"$EVIDENCE/man.txt"
		for word in $verbs $run_options; do
			grep -qw -e "$word" "$EVIDENCE/man.txt" || missing+="$word "
		done
		check "the man page has every verb and option" test -z "$missing"
	fi
	if needs groff "the man page is clean for groff"; then
		check "the man page is clean for groff" test -z \
			"$(groff -mandoc -ww -T utf8 -z "$EVIDENCE/pinfold.1" 2>&1)"
	fi
}

# completes WORD... WANT: bash offers WANT for the last WORD.
completes()
{
	local words=("${@:1:$#-1}") want=${*: -1} got

	got=$(bash --norc -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_pinfold 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$EVIDENCE/pinfold.bash" "${words[@]}")
	check "completion of ${words[*]} has $want" grep -qx -e "$want *" <(printf '%s\n' "$got")
}

completions()
{
	local shell option name missing

	for shell in bash zsh fish; do
		pinfold docs "$shell"
		cp "$OUT" "$EVIDENCE/pinfold.$shell"
		missing=
		for option in $run_options; do
			name=${option#-}
			grep -qE -e "(${option}|-[los] '?${name#-})\b" "$EVIDENCE/pinfold.$shell" \
				|| missing+="$option "
		done
		check "completion for $shell has every option" test -z "$missing"
		if needs "$shell" "$shell reads its completion"; then
			check "$shell reads its completion" "$shell" -n "$EVIDENCE/pinfold.$shell"
		fi
	done
	completes pinfold ru run
	completes pinfold run --me --memory
	completes pinfold run --lang '' python
	completes pinfold run --isolation str strict
	completes pinfold doctor --j --json
	# Names of workspaces are asked for.
	mkdir -p "$EVIDENCE/bin"
	printf '#!/bin/sh\nprintf "NAME  STATUS\\ndemo  idle\\n"\n' >"$EVIDENCE/bin/pinfold"
	chmod +x "$EVIDENCE/bin/pinfold"
	PATH=$EVIDENCE/bin:$PATH completes pinfold exec d demo
	PATH=$EVIDENCE/bin:$PATH completes pinfold rm --force d demo
	pinfold docs klingon
	refuses invalid_argument klingon "a document that is not there"
}

checks()
{
	help_texts
	verb_names
	man_page
	completions
}

# Nothing here depends on who calls.
: "${PINFOLD_TEST_MODES:=U}"
run_checks
