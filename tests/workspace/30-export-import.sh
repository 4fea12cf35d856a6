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
	# The reader has gone before the first byte.
	call_files export demo "| true"
	call_argv
	exec 5> >(exit)
	wait $!
	"${CALL[@]}" export demo 2>"$ERR" >&5
	RC=$?
	exec 5>&-
	exits 141 "who reads no more ends it, as any verb: by SIGPIPE"
	forget_report "^signal 13$"
	check "without a word" test ! -s "$ERR"
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
	doc_is "$W/a.tar /" 'd["items"][0]["command"]' "with where it went"
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

# Nobody says where to.
round_trip()
{
	local how

	fresh trip
	pinfold import --json trip "$W/a.tar"
	exits 0 "an export says itself where it goes"
	doc_is 1 'd["ours"]' "which the numbers tell"
	pinfold export trip
	check "round trip: the same bytes" cmp "$OUT" "$W/a.tar"
	for how in "gzip -9" "xz -1" "zstd -3"; do
		needs "${how% *}" "$how" || continue
		fresh trip
		$how <"$W/a.tar" | pinfold import trip -
		pinfold export trip
		check "$how: the same bytes" cmp "$OUT" "$W/a.tar"
	done
	# A compressor's first block is larger than what is read at once.
	fresh big
	sh_in big 'head -c 3000000 /dev/urandom | base64 >noise'
	pinfold export -o "$W/big.tar" big
	fresh trip
	xz -0 <"$W/big.tar" | pinfold import trip -
	pinfold export trip
	check "a large one, through a pipe" cmp "$OUT" "$W/big.tar"
	rm -f "$W/big.tar"
	pinfold export --layer --at 3 -o "$W/l.tar" demo
	fresh trip
	pinfold import trip "$W/l.tar"
	ws trip cat d/e/f
	prints "hello
more" "a layer, too"
	fresh none
	pinfold export -o "$W/n.tar" none
	fresh trip
	pinfold import trip "$W/n.tar"
	exits 0 "one of nothing"
	pinfold import --to /home/user trip "$W/a.tar"
	ws trip cat home/user/d/e/f
	prints "hello
more" "--to is obeyed"
	mkdir -p "$W/f/home/user" && echo foreign >"$W/f/home/user/file"
	tar -C "$W/f" -cf "$W/f.tar" home
	fresh trip
	pinfold import --json trip "$W/f.tar"
	doc_is 0 'd["ours"]' "what another program wrote"
	ws trip cat home/user/file
	prints foreign "goes to the home directory, whatever it looks like"
	sh_in trip 'stat -c "%u %g" home home/user/file; echo x >home/user/more'
	prints "1000 1000
1000 1000" "and is the user's"
	rm -rf "$W/f"
	mark_hostile
}

# Anybody can write the mark: it opens nothing.
mark_hostile()
{
	/usr/bin/python3 -I - "$W" <<'PY'
import io, sys, tarfile
w = sys.argv[1]
mark = open(w + "/n.tar", "rb").read(1024)
def make(name, entries, mark=mark):
    b = io.BytesIO()
    with tarfile.open(fileobj=b, mode="w") as t:
        for path, kind, link in entries:
            i = tarfile.TarInfo(path)
            i.type, i.linkname, i.mode = kind, link, 0o6755
            t.addfile(i)
    open(w + "/" + name, "wb").write(mark + b.getvalue())
make("up.tar", [("../x", b"0", "")])
make("abs.tar", [("/etc/passwd", b"0", "")])
make("link.tar", [("home/user/l", b"2", "/etc"), ("home/user/l/x", b"0", "")])
make("dev.tar", [("home/user/n", b"3", ""), ("home/user/s", b"0", "")])
make("almost.tar", [("home/user/s", b"0", "")], mark[:600] + b"x" + mark[601:])
open(w + "/cut.tar", "wb").write(mark + b"x" * 700)
PY
	for how in "up invalid_argument" "abs invalid_argument" "link conflict" "cut invalid_argument"; do
		fresh trip
		pinfold import trip "$W/${how% *}.tar"
		refuses "${how#* }" "" "marked and hostile: ${how% *}"
	done
	pinfold import --json trip "$W/dev.tar"
	doc_has 'd["devices"] == 1 and d["setid"] == 1' "marked: devices and set-id bits stay out"
	fresh trip
	pinfold import trip "$W/almost.tar"
	ws trip ls
	prints home "a mark that is not quite one is none"
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
	pinfold import sys3 "$W/s.tar"
	pinfold export sys3
	check "by itself, too" cmp "$OUT" "$W/s.tar"
}

checks()
{
	make
	out
	in_again
	round_trip
	directory
	layer
	outside_home
	on_terminal -- export demo
	check "nothing to a terminal" test "$RC" = 125
}

run_checks
