#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Images: root file systems in every form that they come in, what a run and a workspace see of them, that
# digests hold, and that an image full of links and files where we mount gets nothing of the host's.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# take NAME SRC: an image, in the place of one of that name.
# take NAME FILE: a file of $A, or anywhere.
take()
{
	local from=$2

	[[ "$from" = /* ]] || from=$A/$from
	pinfold image rm "$1"
	pinfold image import --json "$1" "$from"
	check "$2 is taken in" test "$RC" = 0
}

# in_image NAME TEXT: a shell in a fresh sandbox on it.
in_image()
{
	pinfold run --image "$1" -- sh -c "$2"
}

forms()
{
	local form

	for form in root.tar root.tar.gz root.tar.xz tree; do
		take one "$form"
		doc_has 'd["layers"] == 0 and d["digest"].startswith("sha256:") and d["files"] > 20' "$form: what it is"
		in_image one 'cat /usr/share/note; cat /etc/os-release; ls -d /mail /srv'
		prints "of the image
ID=tiny
/mail
/srv" "$form: its files"
	done
	take one root.tar
	doc_is "sha256:$(sha256sum <"$A/root.tar" | cut -d' ' -f1)" 'd["digest"]' "the digest of a plain archive"
	for form in docker.tar docker-packed.tar oci.tar oci-dot.tar layout both.tar; do
		take two "$form"
		doc_is '[2, "/srv", "/bin/sh -c id", ["PATH=/opt/bin:/bin", "SECRET=of the image"]]' \
			'[d["layers"], d["workdir"], d["command"], d["env"]]' "$form: what it says of itself"
		in_image two 'cat /usr/share/note; ls -d /mail 2>/dev/null; hello; echo $PATH; echo "$SECRET"; pwd'
		prints "of the second layer
hello
/opt/bin:/bin

/home/user" "$form: layer on layer, its PATH and nothing else of its configuration"
	done
	take two oci.tar
	doc_is "$(cat "$A/manifest-digest")" 'd["digest"]' "the digest of an OCI image is its manifest's"
	pinfold image import three - <"$A/root.tar"
	exits 0 "standard input"
	pinfold image rm three
	exits 0 "and away"
}

# refused CODE SRC WORD: and nothing is left of it.
refused()
{
	pinfold image import bad "$A/$2"
	refuses "$1" "" "$2"
	check "$2: says $3" grep -qE -e "$3" "$ERR"
	pinfold image info bad
	check "$2: there is no such image" test "$RC" = 125
}

digests()
{
	local a

	for a in oci-changed-layer.tar oci-changed-behind.tar oci-changed-config.tar oci-changed-manifest.tar \
		docker-changed-layer.tar docker-changed-packed.tar docker-changed-config.tar oci-sha512.tar \
		layout-changed; do
		refused invalid_argument "$a" digest
	done
	refused invalid_argument docker-other-layers.tar 'other layers'
	refused invalid_argument oci-missing.tar 'not in the archive'
	refused invalid_argument dotdot.tar 'leads out'
	refused invalid_argument empty.tar 'nothing in it'
	pinfold import changed "$A/oci-changed-layer.tar"
	refuses invalid_argument digest "nor into a workspace"
	pinfold image import --disk 1M bad "$A/root.tar"
	refuses limit_exceeded "" "more than --disk"
	wait_for 40 settled
	check "nothing is left of those" settled
}

names()
{
	local name

	for name in tiny tiny:1.0 a_b.c-d 0 "$(printf %063d 0):$(printf %063d 0)"; do
		pinfold image import "$name" "$A/little.tar"
		exits 0 "a name: ${name:0:20}"
		pinfold image rm "$name"
	done
	for name in host Tiny a/b ../x -x .x x: :x x:y:z "x y" "$(printf %064d 0)"; do
		pinfold image import -- "$name" "$A/little.tar"
		[ "$name" = -x ] || refuses invalid_argument "" "no name: ${name:0:20}"
	done
	pinfold image import one "$A/little.tar"
	refuses conflict one "a name that is taken"
	pinfold image rm nobody
	refuses not_found nobody "rm of what is not there"
	pinfold image info ../store
	refuses not_found ../store "info of what is no name"
	pinfold run --image nobody -- echo ran
	refuses not_found --image "a run on what is not there"
	pinfold image
	refuses invalid_argument image "image alone"
	pinfold image import one
	refuses invalid_argument import "too few words"
	pinfold image ls extra
	refuses invalid_argument ls "too many"
	pinfold image ls
	check "ls has both" test "$(awk 'NR > 1 {print $1}' "$OUT" | tr '\n' ' ')" = "one two "
	pinfold image ls --json
	doc_is '["one", "two"]' '[i["name"] for i in d["items"]]' "ls --json"
	pinfold image info two
	check "info says its command" grep -qx 'command     /bin/sh -c id' "$OUT"
	pinfold run --image one --isolation landlock -- true
	refuses unsupported --image "level landlock"
	pinfold run --image host -- sh -c 'echo host'
	prints host "image host is what it was"
}

# What is around the image is as in any sandbox, and nothing of the host shows.
around()
{
	in_image one 'id; cat /etc/passwd /etc/group; echo; cat /etc/nsswitch.conf /etc/resolv.conf'
	prints "uid=1000(user) gid=1000(user) groups=1000(user)
user:x:1000:1000:user:/home/user:/bin/sh
root:x:0:0:root:/root:/bin/sh
node::1000:1000::/home/node:/bin/sh
user:x:500:500::/:/bin/shuser:x:1000:
root:x:0:
staff:x:50:

passwd: files
options timeout:1 attempts:1" "who is there"
	in_image one 'head -n1 /etc/hosts; cat /etc/hostname'
	check "it knows its own name" grep -qE '^127.0.0.1 localhost sbx' "$OUT"
	in_image one 'ls /; ls /usr /usr/share'
	prints "bin
dev
etc
home
lib
lib64
mail
proc
run
srv
sys
tmp
usr
var
/usr:
share

/usr/share:
note" "the image's root, ours on it, and nothing of the host's"
	in_image one 'for d in /etc /usr /bin /proc /sys / /var; do touch $d/x 2>/dev/null && echo "$d"; done
		for d in /home/user /tmp /run /dev/shm /var/tmp; do touch $d/x || echo "not $d"; done'
	prints "" "where it may write"
	inside_json --image one -- sh -c 'echo x >new; rm -f nothing'
	json_is '["/home/user/new"]' 'list(files)' "what has changed is told"
	in_image one 'ls -A'
	prints "" "and is gone with the run"
	mkdir -p "$W/dir" && echo there >"$W/dir/f" && own "$W/dir"
	inside --image one --dir "$W/dir" -- sh -c 'cat /work/f; echo x >/work/f; cat /work/f'
	prints "there
x" "a directory of the host beside it"
	check "which is not written" test "$(cat "$W/dir/f")" = there
	inside --image one --env PATH=/nowhere -- /bin/sh -c 'echo $PATH'
	prints /nowhere "PATH can be given"
	inside --image one --disk 1M -- sh -c 'cat /dev/zero >big 2>/dev/null; stat -c %s big'
	check "the disk limit holds" test "$(cat "$OUT")" -lt 2000000
	on_terminal 'expect:\$ ' 'send:echo in $((6*7))\n' 'expect:in 42' 'send:exit 3\n' -- shell --image one
	exits 3 "a shell"
	if [ "$MODE" = R ]; then
		inside --image one --user root -- sh -c 'id; echo x >/usr/share/note; cat /usr/share/note; stat -c %g /mail; ls -d /srv/.'
		prints "uid=0(root) gid=0(root) groups=0(root)
x
50
/srv/." "the sandbox's root, and owners as they were"
		in_image one 'cat /usr/share/note; ls /srv 2>/dev/null'
		prints "of the image" "what it wrote is gone"
	else
		inside --image one --user root -- id
		refuses unsupported --user "an ordinary user's images have one owner"
		in_image one 'stat -c %u:%g /mail /usr /etc/passwd'
		prints "1000:1000
1000:1000
1000:1000" "and everything is the user's"
	fi
	pinfold plan --image one -- true
	exits 0 "its plan can be printed"
	check "and has nothing of the host's" not grep -qE ' /(usr|etc)( |$)' "$OUT"
}

python()
{
	take py python.tar
	inside --image py --lang python -c 'import sys, json; print(sys.executable, json.dumps([6 * 7]))'
	prints "/opt/py/bin/python3 [42]" "the image's own Python"
	printf 'import sys\nprint(__file__, sys.argv[1:])\n' >"$W/p.py"
	inside --image py --lang python "$W/p.py" a b
	prints "/run/code/p.py ['a', 'b']" "a file of the caller's"
	inside --image one --lang python -c 'print(1)'
	refuses not_found python3 "an image without Python"
	inside --image py --lang node -c '1'
	refuses not_found node "or without node"
	fresh pyw --image py
	pinfold exec pyw --lang python -c 'open("f", "w").write("x"); print(1)'
	prints 1 "in a workspace on it"
	fresh onew --image one
	pinfold exec onew --lang python -c 'print(1)'
	refuses not_found python3 "and in one without"
	pinfold rm pyw
	pinfold rm onew
}

workspaces()
{
	fresh w --image one
	pinfold info --json w
	doc_is one 'd["image"]' "a workspace says what it stands on"
	sh_in w 'cat /usr/share/note; echo a >a; ls'
	prints "of the image
a" "a command in it"
	sh_in w 'echo b >b; rm a'
	pinfold diff --names w 1
	prints "A /home/user/b" "diff is what has changed"
	pinfold undo w
	sh_in w 'ls; cat a'
	prints "a
a" "undo"
	pinfold export -o "$W/w.tar" w
	check "export is whole" grep -qx 'usr/share/note' <(tar tf "$W/w.tar")
	check "with what has changed" grep -qx 'home/user/a' <(tar tf "$W/w.tar")
	check "and nothing of ours" not grep -qE '^v/|sbx' <(tar tf "$W/w.tar")
	take again "$W/w.tar"
	in_image again 'cat /usr/share/note a'
	prints "of the image
a" "what was exported is an image again"
	pinfold image rm again
	pinfold fork w w2
	pinfold rm w
	sh_in w2 'cat a /etc/os-release'
	prints "a
ID=tiny" "a fork stands on it, too"
	pinfold image info --json one
	doc_is 1 'd["workspaces"]' "and is counted"
	pinfold image rm one
	refuses conflict w2 "an image that is stood on is not removed"
	pinfold exec --image one w2 -- true
	check "exec takes no image" test "$RC" = 125
	[ "$MODE" != R ] || pinfold exec --user root w2 -- sh -c 'rm /etc/hosts /bin/head; echo c >/etc/os-release'
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
		sh_in w2 "echo $i >n$i; rm -f n$((i - 1))"
	done
	sh_in w2 'ls; cat /usr/share/note'
	prints "a
n18
of the image" "many commands"
	[ "$MODE" != R ] || sh_in w2 'ls /etc/hosts /bin/head 2>/dev/null; cat /etc/os-release'
	[ "$MODE" != R ] || prints c "what root removed of the image, and of ours, stays so when layers are merged"
	pinfold info --json w2
	doc_has 'd["layers"] <= 15 and d["shared_bytes"] > 1000000 and d["own_bytes"] < 2000000' "few layers, the image shared"
	mkdir -p "$W/push" && echo pushed >"$W/push/p" && own "$W/push"
	pinfold push w2 "$W/push"
	exits 0 "push"
	mkdir -p "$W/pull" && own "$W/pull"
	pinfold pull w2 "$W/pull"
	check "and pull" grep -qx pushed "$W/pull/p"
	pinfold cp w2:/etc/nsswitch.conf "$W/got"
	check "cp brings the image's file" test "$(cat "$W/got")" = "passwd: files"
	pinfold run --image one --name named -- sh -c 'echo kept >kept'
	sh_in named 'cat kept /usr/share/note'
	prints "kept
of the image" "run --name on an image"
	pinfold rm named
	held busy w2
	pinfold snap w2 marked
	if [ "$RC" = 0 ]; then
		says 'a command is running: it stood still' "a snapshot meanwhile"
	else
		refuses busy w2 "no snapshot meanwhile, where nothing can make it stand still"
	fi
	check "it goes on" kill -TERM "$busy_PID"
	inside_wait busy
}

# Something runs in it; the store is checked; something is not there any more.
kept()
{
	inside_start long --image two -- sh -c 'echo ready; exec sleep 60'
	ready long
	pinfold image rm two
	refuses busy "in use" "an image that something runs in is not removed"
	kill -TERM "$long_PID"
	inside_wait long
	wait_for 40 settled
	pinfold fsck
	exits 0 "fsck is content"
	local layer

	layer=$(sql "SELECT stack FROM image WHERE name = 'two'")
	layer=${layer%:*}
	echo changed >"$M/home/layers/$layer/root/usr/share/note"
	pinfold fsck
	exits 1 "a layer that was changed"
	check "is the image's" grep -q 'needed by image two' "$OUT"
	rm -rf "$M/home/layers/$layer"
	pinfold fsck --repair
	pinfold image info two
	refuses not_found two "an image whose files are gone is dropped"
	pinfold fsck
	exits 0 "and all is well"
	pinfold rm w2
	pinfold image rm one
	exits 0 "one that nobody needs any more"
	pinfold image rm py
	wait_for 40 settled
	check "gives its space back" test -z "$(ls "$M/home/layers")"
}

HOST='for f in /etc/shadow /etc/fstab /etc/debian_version /etc/apt /usr/bin/perl /proc/1/root/etc/shadow; do
	test -e $f && echo "$f is there"; done'

hostile()
{
	local image

	for image in links files lists; do
		take "$image" "$image.tar"
		in_image "$image" "$HOST"'; id; readlink /proc/self >/dev/null || echo no proc
			for d in proc dev sys tmp run home/user etc; do
				test -d /$d -a ! -L /$d || echo "$d is no directory"; done
			test -c /dev/null -a -f /proc/mounts || echo no mounts
			for d in /tmp /run /dev/shm /home/user; do touch $d/x || echo "not $d"; done
			cat /etc/hostname | head -c3'
		prints "uid=1000(user) gid=1000(user) groups=1000(user)
sbx" "$image: ours is where it belongs, and nothing of the host is in it"
		fresh ws --image "$image"
		sh_in ws "$HOST"'; echo x >x; echo y >/tmp/x; cat x'
		prints x "$image: the same in a workspace"
		pinfold diff --names ws
		prints "A /home/user/x" "$image: and in what is looked at of it"
		pinfold export -o "$W/h.tar" ws
		check "$image: nothing of the host is exported" not grep -qE 'shadow|fstab|canary' <(tar tf "$W/h.tar")
		pinfold rm ws
	done
	in_image links 'cat /etc/passwd'
	prints "user:x:1000:1000:user:/home/user:/bin/sh
root:x:0:0::/:/bin/sh
old:x:7:7::/:/bin/sh" "people that a link led to are still there"
	in_image files 'stat -c %a /bin/suid; ls /null /disk 2>/dev/null; /bin/suid -u; cat /etc/group'
	prints "755
1000
root:x:0:
user:x:1000:" "set-id bits and devices have not come in"
	for image in links files lists; do
		pinfold image rm "$image"
	done
}

checks()
{
	A=$T/images # the same for both modes: they are only read
	CALL_SECONDS=240
	[ -d "$A" ] || { mkdir -m 0755 "$A" && /usr/bin/python3 -I "$TEST_DIR/make-images.py" "$A"; } || not_ok "images are made"
	own "$A"
	forms
	names
	digests
	around
	python
	workspaces
	kept
	hostile
	wait_for 40 settled
	check "nothing is left behind" test -z "$(ls "$M/home/layers")"
}

run_checks
