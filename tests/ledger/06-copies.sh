#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: witness-signed, witness-goes-on
#
# Copies elsewhere and witnesses: a ledger that was exchanged for an older copy of itself, or that tells
# another story, is found by either (L03).
. "$(dirname "$0")/../lib/cli.sh"

# reads FILE WORDS...: the verb with that on standard input.
reads()
{
	call_stdin=$1
	shift
	pinfold "$@" <"$call_stdin"
}

keep()
{
	cp "$OUT" "$M/$1"
	chmod a+r "$M/$1"
}

receiver()
{
	mkdir -p "$M/$1"
	/usr/bin/python3 -I "$TEST_DIR/receiver.py" "$1" "$M/$1" 2>"$M/$1/err" &
	RECEIVERS+=($!)
	wait_for 20 test -s "$M/$1/port"
	PORT=$(cat "$M/$1/port")
}

copies()
{
	RECEIVERS=()
	inside -- true
	mkdir -p "$M/copy" && own "$M/copy"
	pinfold audit sink add ftp://there
	refuses invalid_argument ftp "what is no place"
	pinfold audit sink add "$M/nowhere"
	refuses not_found nowhere "a directory that is not there"
	pinfold audit sink add http://example.org:80/
	refuses invalid_argument example.org "a name that would be looked up"
	pinfold audit sink add "$M/copy"
	exits 0 "a directory"
	pinfold audit sink add "$M/copy"
	check "once" test "$RC" = 125
	receiver http
	pinfold audit sink add "http://127.0.0.1:$PORT/in"
	receiver syslog
	pinfold audit sink add "syslog://127.0.0.1:$PORT"
	inside -- sh -c 'exit 2'
	pinfold audit sink ship
	exits 0 "they get it"
	pinfold audit sink ls --json
	json_has 'len(d["items"]) == 3 and all(i["behind"] == 0 and i["shipped"] > 5 for i in d["items"])' \
		"all of it"
	wait_for 10 cmp -s "$M/syslog/got" "$M/home/ledger/events"
	wait_for 10 test -s "$M/syslog/notes"
	COPY=$(echo "$M"/copy/led*)
	check "a copy is the same" cmp "$COPY/events" "$M/home/ledger/events"
	check "also by HTTP" cmp "$M/http/got" "$M/home/ledger/events"
	check "also by syslog" cmp "$M/syslog/got" "$M/home/ledger/events"
	check "with checkpoints" cmp <(tail -n 6 "$M/http/notes") <(tail -n 6 "$M/syslog/notes")
	pinfold verify --ledger "$COPY"
	exits 0 "a copy can be checked"
	pinfold verify --anchor "$COPY/checkpoints"
	exits 0 "and is what the ledger is checked by"
}

# The same by a line of settings.yaml.
set_copies()
{
	mkdir -p "$M/settings" "$M/always" && own "$M/always"
	printf 'ledger.sink: %s # every night to tape\n' "$M/always" >"$M/settings/settings.yaml"
	CALL_ENV=("PINFOLD_CONFIG=$M/settings")
	inside -- true
	exits 0 "ledger.sink in settings.yaml"
	check "has a copy made" wait_for 60 cmp -s "$M/always/${COPY##*/}/events" "$M/home/ledger/events"
	pinfold audit sink ls --json
	json_has '[i["behind"] for i in d["items"] if i["target"].endswith("/always")] == [0]' "which is listed"
	CALL_ENV+=("PINFOLD_LEDGER_SINK=none")
	pinfold audit sink ls
	check "a variable takes precedence" test -z "$(grep -F /always "$OUT")"
	CALL_ENV=()
}

# What is not taken is sent again, and nothing is pruned before.
behind()
{
	touch "$M/http/refuse"
	inside -- true
	pinfold audit sink ship
	check "a no is said" test "$RC" = 125
	says '503' "with the answer"
	pinfold audit sink ls
	check "who is behind is seen" grep -q 'it failed: .*503' "$OUT"
	pinfold audit prune --before 1ms --json
	json_has 'd["items"][0]["events"] == 0' "what is not there yet is not pruned"
	rm "$M/http/refuse"
	pinfold audit sink ship
	exits 0 "later it is taken"
	check "and nothing is missing" test "$(sort -u "$M/http/got")" = "$(sort -u "$COPY/events")"
	pinfold audit sink rm "http://127.0.0.1:$(cat "$M/http/port")/in"
	exits 0 "one less"
	pinfold audit sink rm no-such
	refuses not_found no-such "one that is not there"
}

witness()
{
	pinfold audit witness "$M/w" --name example.org/witness
	if [ "$MODE" = U ] && [ "$RC" != 0 ]; then
		mkdir -p "$M/w" && own "$M/w"
		pinfold audit witness "$M/w" --name example.org/witness
	fi
	exits 0 "a witness"
	keep witness.key
	pinfold audit key
	keep key.pem
	pinfold audit checkpoint
	exits 0 "what he is asked"
	keep request
	reads "$M/request" audit witness "$M/w"
	refuses invalid_argument --key "whom he does not know"
	reads "$M/request" audit witness "$M/w" --key "$M/witness.key"
	check "nor with a key that is none" test "$RC" = 125
	reads "$M/request" audit witness "$M/w" --key "$M/key.pem"
	exits 0 "he signs"
	keep line
	pinfold verify --witness-key "$M/witness.key"
	check "before it is kept it is missed" test "$RC" = 1
	reads "$M/line" audit cosign
	exits 0 "it is kept"
	pinfold verify --witness-key "$M/witness.key"
	exits 0 "and found"
	check "with when" grep -q 'the witness signed' "$OUT"
	# In the middle: the last byte of a signature is often zero already.
	sed -i 's/^\(— example.*\)A\(.\{20\}\)$/\1B\2/;t;s/^\(— example.*\).\(.\{20\}\)$/\1A\2/' \
		"$M/home/ledger/cosignatures"
	pinfold verify --witness-key "$M/witness.key"
	check "a forged one is found" test "$RC" = 1
	reads "$M/line" audit cosign
	reads "$M/line" audit witness "$M/w"
	refuses invalid_argument request "what is no request"
}

# The ledger is exchanged for what it was before two more runs.
rolled_back()
{
	cp -a "$M/home/ledger" "$M/old"
	inside -- true
	inside -- true
	pinfold audit sink ship
	pinfold audit checkpoint
	keep request
	reads "$M/request" audit witness "$M/w"
	exits 0 "he signs what goes on"
	rm -rf "$M/home/ledger"
	mv "$M/old" "$M/home/ledger"
	pinfold verify
	exits 0 "an older copy is good by itself"
	pinfold verify --anchor "$COPY/checkpoints"
	check "by the copy elsewhere it is not" test "$RC" = 1
	check "and it says why" grep -q 'events are missing' "$OUT"
	cp "$COPY/keys" "$M/keys"
	pinfold audit sink ship
	refuses conflict "$M/copy" "who brings what is new there finds it at once"
	inside -- false
	pinfold audit sink ship
	refuses conflict "$M/copy" "nothing is written over the copy"
	check "nor over its keys" cmp -s "$M/keys" "$COPY/keys"
	pinfold audit checkpoint
	keep request
	reads "$M/request" audit witness "$M/w"
	refuses conflict "" "and the witness signs no more"
	for _ in 1 2 3 4 5; do
		inside -- false
	done
	pinfold audit sink ship
	refuses conflict "$M/copy" "also when it is longer again: it is another story"
	pinfold audit checkpoint --old "$(head -n 1 "$M/w"/led*)"
	keep request
	reads "$M/request" audit witness "$M/w"
	refuses conflict "" "for the witness, too"
}

checks()
{
	copies
	set_copies
	behind
	witness
	rolled_back
	kill "${RECEIVERS[@]}"
	wait "${RECEIVERS[@]}" 2>/dev/null
}

run_checks
