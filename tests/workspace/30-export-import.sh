#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Archives out of a workspace and into one: what other programs read in them, that the same snapshot is the
# same bytes, that what goes out comes in again, and one layer as OCI has it.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

PYTAR='
import os, sys, tarfile
for m in tarfile.open(sys.argv[1]):
    print(os.fsencode(m.name), m.type.decode(), oct(m.mode), m.uid, m.gid, m.linkname, m.size,
          m.pax_headers.get("SCHILY.xattr.user.note"), "sparse" if m.sparse else "")'

listing()
{
	/usr/bin/python3 -I -c "$PYTAR" "$1"
}

make()
{
	fresh demo
	sh_in demo 'mkdir -p d/e locked; echo hello >d/e/f; ln d/e/f d/g; ln -s /etc/passwd l; mkfifo p
		truncate -s 3G holes; printf x | dd of=holes bs=1 seek=5000000 conv=notrunc status=none
		touch -d "2001-02-03 04:05:06.123456789" "$(printf "n\351w\nl")" é; : >-rf
		: >"$(printf %0200d 0)"; mkdir -p "$(printf "%0100d/%0100d" 1 2)"; chmod 1777 d; chmod 500 locked
		python3 -c "import os; os.setxattr(\"d/e/f\", \"user.note\", b\"v\")"'
	exits 0 "files of every kind"
	sh_in demo 'rm d/g; echo more >>d/e/f; rm -rf locked; mkdir locked; : >locked/x'
	exits 0 "and changed ones"
}

out()
{
	pinfold export -o "$W/a.tar" demo
	exits 0 "export to a file"
	prints "" "says nothing"
	pinfold export demo "$W/b.tar"
	exits 0 "the file as the second word"
	check "is the same" cmp "$W/a.tar" "$W/b.tar"
	rm "$W/b.tar"
	pinfold export -o "$W/b.tar" demo "$W/c.tar"
	refuses invalid_argument -o "but not twice"
	pinfold export demo
	check "to standard output: the same bytes" cmp "$OUT" "$W/a.tar"
	check "nothing else was made there" test "$(ls "$W")" = a.tar
	check "GNU tar reads it, without a word" test -z "$(tar -tf "$W/a.tar" 2>&1 >/dev/null)"
	check "Python reads it" listing "$W/a.tar"
	listing "$W/a.tar" >"$W/list"
	check "owners as inside" grep -qxF "b'home/user/d/e/f' 0 0o644 1000 1000  11 v " "$W/list"
	check "holes as holes" grep -qxF "b'home/user/holes' 0 0o644 1000 1000  3221225472 None sparse" "$W/list"
	check "which takes no room" test "$(stat -c %s "$W/a.tar")" -lt 200000
	check "a link" grep -qF "b'home/user/l' 2 0o777 1000 1000 /etc/passwd" "$W/list"
	check "names with any byte" grep -qF "b'home/user/n\\xe9w\\nl' 0" "$W/list"
	check "a FIFO" grep -qF "b'home/user/p' 6" "$W/list"
	check "what was removed is not there" not grep -qF home/user/d/g "$W/list"
	check "in order" /usr/bin/python3 -I -c 'import os, sys, tarfile
names = [os.fsencode(m.name).split(b"/") for m in tarfile.open(sys.argv[1])]
assert names == sorted(names)' "$W/a.tar"
	mkdir "$W/x" && tar -C "$W/x" --no-same-owner -xf "$W/a.tar"
	check "times with nanoseconds" test "$(stat -c %y "$W/x/home/user/é")" = "$(date -d '2001-02-03 04:05:06.123456789 UTC' '+%F %T.%N %z')"
	check "GNU tar makes the holes" test "$(stat -c '%s %b' "$W/x/home/user/holes" | awk '{print $1, $2 < 100}')" = "3221225472 1"
	if needs bsdtar "bsdtar reads it"; then
		check "bsdtar reads it" test "$(bsdtar -tf "$W/a.tar" 2>/dev/null | wc -l)" -ge 15
	fi
	rm -rf "$W/x" "$W/list"
	pinfold export --at 2 demo
	check "an older snapshot is another archive" not cmp -s "$OUT" "$W/a.tar"
	check "with what was there then" grep -qa home/user/d/g "$OUT"
}

in_again()
{
	local how

	pinfold import --json --to / twin "$W/a.tar"
	exits 0 "import of an export"
	doc_has 'd["snapshot"] == 2 and d["files"] > 5 and d["fifos"] == 1 and d["devices"] == 0' "its numbers"
	pinfold export twin
	check "what goes out comes in: the same bytes" cmp "$OUT" "$W/a.tar"
	pinfold log --json twin
	doc_is import 'd["items"][0]["kind"]' "it is in the log"
	pinfold undo twin
	pinfold export twin
	check "and can be undone" test -z "$(tar -tf "$OUT" 2>/dev/null)"
	for how in "gzip -9" "xz -1" "zstd -3"; do
		needs "${how% *}" "$how" || continue
		fresh packed
		$how <"$W/a.tar" >"$W/a.packed"
		pinfold import --to / packed - <"$W/a.packed"
		exits 0 "$how, from standard input"
		pinfold export packed
		check "$how: the same bytes" cmp "$OUT" "$W/a.tar"
	done
	pinfold import --to sub/dir packed "$W/a.packed"
	ws packed cat sub/dir/home/user/d/e/f
	prints "hello
more" "to a directory that is made"
}

directory()
{
	mkdir -p "$W/dir/sub"
	echo one >"$W/dir/sub/one"
	ln -s sub/one "$W/dir/link"
	own "$W/dir"
	pinfold import fromdir "$W/dir"
	exits 0 "a directory"
	ws fromdir cat link
	prints one "its content"
	pinfold import fromdir "$W/nowhere"
	refuses not_found nowhere "a file that is not there"
	pinfold export -o "$W/none/x" fromdir
	check "an export to nowhere" test "$RC" = 125
	pinfold export nobody
	refuses not_found nobody "an export of nothing"
}

# A layer on another tree, by somebody else's rules.
layer()
{
	fresh lay
	sh_in lay 'mkdir -p d o; echo 1 >d/gone; echo 1 >d/kept; echo 1 >o/lower'
	pinfold export --layer -o "$W/l2.tar" lay
	sh_in lay 'rm d/gone; rm -rf o; mkdir o; echo 2 >o/upper'
	pinfold export --layer -o "$W/l3.tar" lay
	listing "$W/l3.tar" >"$W/list"
	check "what is gone is a whiteout" grep -qF "b'home/user/d/.wh.gone' 0" "$W/list"
	check "a directory made anew is opaque" grep -qF "b'home/user/o/.wh..wh..opq' 0" "$W/list"
	check "what did not change is not there" not grep -qF d/kept "$W/list"
	pinfold export --layer --at 2 lay
	check "the layer before it, by its number" cmp "$OUT" "$W/l2.tar"
	/usr/bin/python3 -I - "$W" <<'PY'
import io, json, sys, tarfile
w = sys.argv[1]
with tarfile.open(w + "/image.tar", "w") as t:
    for name in "l3.tar", "l2.tar":
        t.add(w + "/" + name, "blobs/" + name)
    m = json.dumps([{"Layers": ["blobs/l2.tar", "blobs/l3.tar"]}]).encode()
    i = tarfile.TarInfo("manifest.json")
    i.size = len(m)
    t.addfile(i, io.BytesIO(m))
PY
	pinfold import --to / lay2 "$W/image.tar"
	exits 0 "two layers as an image"
	sh_in lay2 'find d o -type f | sort'
	prints "d/kept
o/upper" "are the workspace again"
	pinfold snap lay
	pinfold export --layer lay
	refuses invalid_argument "no layer" "a snapshot without a layer"
	sh_in lay ': >.wh.x'
	pinfold export --layer lay
	check "a name that would mean something else" test "$RC" = 125
	says 'unsupported: .*\.wh\.x' "is refused by name"
}

# Root's own: everything but the home directory.
outside_home()
{
	[ "$MODE" = R ] || return
	fresh sys
	pinfold exec --user root sys -- sh -c 'echo x >/usr/local/tool; echo y >/etc/extra; chown 1000:7 /etc/extra'
	pinfold export -o "$W/s.tar" sys
	listing "$W/s.tar" >"$W/list"
	check "/usr is there" grep -qF "b'usr/local/tool' 0 0o644 0 0" "$W/list"
	check "/etc, with owners" grep -qF "b'etc/extra' 0 0o644 1000 7" "$W/list"
	pinfold import --to / sys2 "$W/s.tar"
	pinfold export sys2
	check "and comes in again" cmp "$OUT" "$W/s.tar"
}

checks()
{
	make
	out
	in_again
	directory
	layer
	outside_home
	on_terminal -- export demo
	check "nothing to a terminal" test "$RC" = 125
}

run_checks
