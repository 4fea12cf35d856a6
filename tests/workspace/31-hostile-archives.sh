#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: archive-names, archive-links, archive-modes
#
# Archives that mean harm (F01-F05 and E03, E08, E09 of the attacks): refused by name, and the workspace is
# as it was; or what must not get in is left out and counted. Nothing is ever made outside.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# refused CODE ARCHIVE WORD: and nothing has changed.
refused()
{
	pinfold import ws "$A/$2"
	check "$2: refused" test "$RC" = 125
	check "$2: code $1" grep -qE -e "^pinfold: $1(\.[a-z_]+)?: " "$ERR"
	check "$2: says $3" grep -qE -e "$3" "$ERR"
	check "$2: the workspace is as it was" unchanged
}

# Its history, its layers, and the room that they take.
state()
{
	pinfold log --json ws
	doc 'len(d["items"])'
	sql "SELECT count(*) FROM layer WHERE state = 1 AND workspace IN
		(SELECT id FROM workspace WHERE name = 'ws')"
}

unchanged()
{
	[ "$(state)" = "$STATE" ] && wait_for 40 settled
}

names()
{
	refused invalid_argument dotdot.tar 'x.*leads out'
	refused invalid_argument dotdot-deep.tar 'leads out'
	refused invalid_argument dotdot-first.tar 'leads out'
	refused invalid_argument absolute.tar '/tmp/pinfold-abs.*absolute'
	check "nothing was made there" test ! -e /tmp/pinfold-abs
	refused limit_exceeded long-name.tar 'name of 256 bytes'
	refused invalid_argument long-path.tar 'too long'
}

links()
{
	local a

	for a in through-link through-link-dir through-chain image-through-link; do
		refused conflict "$a.tar" 'no directory, maybe a link'
	done
	refused conflict link-over-dir.tar 'd is a directory there'
	refused invalid_argument hard-out.tar 'h: .*leads out'
	refused invalid_argument hard-absolute.tar 'h: .*absolute'
	refused conflict hard-through-link.tar 'hard link h'
	refused '[a-z_]+' hard-nowhere.tar 'hard link h'
	refused invalid_argument hard-itself.tar 'hard link to itself'
	refused '[a-z_]+' empty-link.tar '.'
}

# E03: what a command left there before is a link.
links_inside()
{
	fresh trap
	sh_in trap 'ln -s /etc in; ln -s /home/user/../../tmp tmp; ln -s nowhere good.txt; mkdir real'
	pinfold import trap --to /home/user/in "$A/stripped.tar"
	check "a link is no place to import to" test "$RC" = 125
	pinfold import trap --to /home/user/tmp/x "$A/stripped.tar"
	check "nor is what is behind one" test "$RC" = 125
	pinfold import trap "$A/manifest-of-nobody.tar"
	exits 0 "a link in the place of a file"
	sh_in trap 'test ! -e nowhere && test ! -L good.txt && cat good.txt'
	prints good "is replaced, not followed"
}

numbers()
{
	refused limit_exceeded size-huge.tar 'more than is left'
	refused invalid_argument size-negative.tar '.'
	refused invalid_argument size-more.tar '.'
	refused invalid_argument pax-giga.tar 'too large'
	refused invalid_argument pax-broken.tar '.'
	refused invalid_argument checksum.tar '.'
	refused invalid_argument cut.tar '.'
	refused invalid_argument cut.tar.gz '.'
	refused invalid_argument noise.tar 'not a good tar file'
}

bombs()
{
	local a used

	used=$(du -sk "$M/home" | cut -f1)
	for a in bomb.tar.gz bomb.tar.xz image-bomb.tar; do
		refused limit_exceeded "$a" '200 times as large'
	done
	refused invalid_argument twice.tar.gz 'more than once'
	pinfold new small --disk 1M
	pinfold import small "$A/bomb.tar.gz"
	check "what is larger than the disk limit" test "$RC" = 125
	says 'limit_exceeded\.disk' "is the disk limit"
	check "and the disk is as it was" test "$(($(du -sk "$M/home" | cut -f1) - used))" -lt 2000
}

# What must not get in.
stripped()
{
	fresh strip
	pinfold import --json strip "$A/stripped.tar"
	exits 0 "an archive with what must not get in"
	doc_is 3 'd["devices"]' "devices are left out"
	doc_is 2 'd["setid"]' "set-id bits are left out"
	doc_is 7 'd["attributes"]' "attributes are left out"
	doc_is 1 'd["times"]' "a time that is none"
	doc_is 1 'd["replaced"]' "what is there twice"
	doc_has 'd["owners"] > 10' "owners are the user"
	# shellcheck disable=SC2016
	sh_in strip 'ls -A | LC_ALL=C sort | tr "\n" "|"; stat -c %a setuid setgid; cat twice; stat -c %u:%g root-owned
		stat -c %Y late; test -p fifo && test -L out && test -f dot/slash/x && ls poisoned /etc/passwd
		python3 -c "import os; print(os.listxattr(\"attr\"), os.listxattr(\"poisoned\"))"'
	prints "-rf|C:\\x|attr|dot|fifo|inv$(printf '\xff')|late|line|new|out|poisoned|root-owned|setgid|setuid|twice|up|755
755
second1000:1000
0
/etc/passwd

poisoned:
['user.ok'] []" "what came of it"
	check "no device, no bit in the store" test -z "$(find "$M/home/layers" ! -type c -perm /6000 -o -type b)"
}

images()
{
	local a

	for a in image.tar oci.tar; do
		fresh img
		pinfold import --json img "$A/$a"
		doc_is 2 'd["layers"]' "$a: its layers"
		# shellcheck disable=SC2035
		sh_in img 'cat d/old d/new kept o/upper; test ! -e gone; ls o *.json .wh* 2>/dev/null'
		prints "oldnewchangeduppero:
upper" "$a: one on the other, whiteouts too"
	done
	refused invalid_argument image-dotdot.tar 'layer .*leads out'
	refused invalid_argument image-whiteout-out.tar 'layer .*leads out'
	refused invalid_argument image-missing.tar 'not in the archive'
	refused limit_exceeded image-many.tar 'layers'
	refused invalid_argument oci-digest-out.tar 'digest'
	refused invalid_argument oci-loop.tar 'digest'
	fresh img
	pinfold import img "$A/image-whiteout-dots.tar"
	exits 0 "whiteouts that name no name"
	sh_in img 'cat d/old kept; ls -A'
	prints "oldkeptd
gone
kept
o" "remove nothing"
	fresh img
	pinfold import --json img "$A/manifest-of-nobody.tar"
	doc_is '[0, 2]' '[d["layers"], d["files"]]' "a manifest.json that is no image's"
}

checks()
{
	A=$T/archives # the same for both modes: they are only read
	CALL_SECONDS=240
	[ -d "$A" ] || { mkdir -m 0755 "$A" && /usr/bin/python3 -I "$TEST_DIR/hostile-archives.py" "$A"; } || not_ok "archives are made"
	own "$A"
	fresh ws
	sh_in ws 'echo here >here'
	wait_for 40 settled
	STATE=$(state)
	names
	links
	links_inside
	numbers
	bombs
	stripped
	images
	pinfold import newcomer "$A/dotdot.tar"
	pinfold info newcomer
	refuses not_found newcomer "a workspace that was to be made"
	sh_in ws 'ls -A; cat here'
	prints "here
here" "nothing has come in"
}

run_checks
