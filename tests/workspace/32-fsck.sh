#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of the data directory: clean where nothing happened, each kind of damage named with who needs
# it (F09 of the attacks), and a repair that touches nothing good.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# fsck STATUS CLAIM [OPTION...]
fsck()
{
	pinfold fsck --json "${@:3}"
	exits "$1" "$2"
}

# clean CLAIM
clean()
{
	fsck 0 "$1: fsck is clean"
	doc_is '[]' 'd["problems"]' "$1: no problem"
}

# finds KIND USERS CLAIM: one problem, of this kind, needed by these.
finds()
{
	doc_is "[[\"$1\", \"$2\", ${4:-false}]]" '[[p["kind"], p["used_by"], p["repaired"]] for p in d["problems"]]' "$3"
}

# In the store's directory, as whose it is.
in_store()
{
	local as=()

	[ "$MODE" = U ] && [ "$EUID" = 0 ] && as=(setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups)
	(cd "$M/home" && "${as[@]}" "$@")
}

make()
{
	fresh demo
	sh_in demo 'echo one >one; mkdir d'
	sh_in demo 'echo two >two; ln -s two l'
	sh_in demo 'echo three >three; rm one'
	pinfold fork --at 3 demo twin
	sh_in twin 'echo other >other'
	wait_for 40 settled
}

# layer NAME SEQ: the number of the layer that a snapshot added.
layer()
{
	sql "SELECT layer FROM snap WHERE seq = $2 AND workspace IN (SELECT id FROM workspace WHERE name = '$1')"
}

digests()
{
	check "behind commands, content is written down" wait_for 40 all_digested
	clean "after commands"
	doc_is '[2, 6, 4, 0]' '[d[k] for k in ("workspaces", "snapshots", "layers", "recorded")]' "what there is"
	sql "UPDATE layer SET digest = NULL" >/dev/null
	fsck 0 "content that was not written down"
	doc_is 4 'd["recorded"]' "is written down"
	clean "and then"
	pinfold fsck
	check "as text" grep -q '^2 workspaces, 6 snapshots, 4 layers: clean$' "$OUT"
}

all_digested()
{
	[ "$(sql 'SELECT count(*) FROM layer WHERE digest IS NULL')" = 0 ]
}

changed()
{
	local n file

	n=$(layer demo 3)
	file=layers/$n/root/home/user/two
	in_store cp -p "$file" "$W/../run/save"
	in_store sh -c 'printf T | dd of="$1" conv=notrunc status=none; touch -r "$2" "$1"' sh "$file" "$W/../run/save"
	fsck 1 "one byte of a file was changed"
	finds changed "demo 3 4, twin 1 2" "it says which snapshots have it"
	ws demo true
	refuses conflict.changed fsck "no command runs on it"
	pinfold cp "$W/../run/save" twin:more
	refuses conflict.changed twin "nor is anything copied onto it"
	pinfold cp demo:three three
	exits 0 "out of it can be copied"
	rm -f "$W/three"
	pinfold rollback demo 2
	ws demo cat one
	prints one "before it all is well"
	pinfold undo demo 2
	fsck 1 "repair leaves it" --repair
	finds changed "demo 3 4, twin 1 2" "and says so"
	in_store sh -c 'cat "$2" >"$1"; touch -r "$2" "$1"' sh "$file" "$W/../run/save"
	clean "as it was"
	ws demo cat two
	prints two "and can be used again"
	pinfold undo demo
	in_store chmod 600 "$file"
	fsck 1 "its mode was changed"
	fsck 0 "it is accepted as it is" --accept
	finds changed "demo 3 4 7, twin 1 2" "and told of" true
	clean "then it is"
	ws demo stat -c %a two
	prints 600 "and can be used"
	pinfold undo demo
	in_store chmod 644 "$file"
	fsck 0 "back" --accept
	in_store touch "layers/$n/root/home/user/more"
	fsck 1 "a file was added"
	in_store rm "layers/$n/root/home/user/more"
	# Names above it have other times now, which nobody has written down.
	clean "without it"
}

orphans()
{
	in_store mkdir -p layers/4000/root layers/stray
	fsck 1 "directories that nobody has"
	doc_is '["orphan", "orphan"]' '[p["kind"] for p in d["problems"]]' "are orphans"
	check "and are there still" test -d "$M/home/layers/4000"
	fsck 0 "they are removed" --repair
	check "both" test ! -e "$M/home/layers/4000" -a ! -e "$M/home/layers/stray"
	clean "then"
}

rows()
{
	local n

	n=$(layer twin 2)
	sql "DELETE FROM layer WHERE id = $n" >/dev/null
	fsck 1 "a layer lost its row"
	finds row "twin 2" "it is no orphan: somebody has it"
	fsck 0 "it gets one" --repair
	ws twin cat other
	prints other "and is there"
	sql "UPDATE workspace SET head = 4000 WHERE name = 'twin'" >/dev/null
	fsck 1 "a workspace stands nowhere"
	fsck 0 "it is put on its newest snapshot" --repair
	ws twin cat other
	prints other "with its files"
	clean "then"
}

missing()
{
	local n

	n=$(layer demo 4)
	in_store rm -rf "layers/$n"
	fsck 1 "a layer is gone"
	finds missing "demo 4 7 8" "it says who needs it"
	ws demo true
	refuses internal "layer $n is not there" "a command on it"
	says 'remedy: run pinfold fsck' "it says what to do"
	pinfold diff demo 1
	refuses internal "layer $n is not there" "a look at it"
	pinfold pull demo nowhere
	refuses internal "layer $n is not there" "a pull of it"
	pinfold info --json demo
	fsck 0 "what needs it is dropped" --repair
	finds missing "demo 4 7 8" "and told of" true
	pinfold log --json demo
	doc_is '3 2 1' '" ".join(str(s["snapshot"]) for s in d["items"])' "the rest of the history is there"
	sh_in demo 'cat one two; ls -A'
	prints "one
two
d
l
one
two" "and the newest whole snapshot is where it stands"
	sh_in demo 'echo again >again'
	pinfold undo demo
	exits 0 "and goes on"
	clean "then"
	n=$(layer demo 2)
	in_store rm -rf "layers/$n"
	fsck 0 "the lowest layer is gone" --repair
	ws demo ls -A
	prints "" "nothing is left of it"
	ws twin ls -A
	prints "" "nor of who had it"
	clean "and then"
}

database()
{
	in_store cp store.db "$W/../run/db"
	held busy demo
	fsck 125 "while a command runs"
	json_is busy 'd["error"]["code"]' "it is busy"
	kill -TERM "$busy_PID"
	inside_wait busy
	wait_for 40 settled
	in_store rm -f store.db-wal store.db-shm
	in_store dd if=/dev/urandom of=store.db bs=4096 seek=1 count=4 conv=notrunc status=none
	pinfold fsck
	check "a damaged database" test "$RC" = 1
	check "is named" grep -q 'store.db' "$OUT"
	in_store dd if=/dev/urandom of=store.db bs=100 count=1 conv=notrunc status=none
	pinfold fsck --json
	exits 1 "no database at all"
	doc_is '["database"]' '[p["kind"] for p in d["problems"]]' "is one"
}

checks()
{
	fsck 0 "an empty store"
	make
	digests
	changed
	orphans
	rows
	missing
	database
}

run_checks
