#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a command left is the same for the next one, after undo and rollback, and in a fork: every kind
# of file, name, mode, owner, time, attribute and hole; and what must not stay does not.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# same NAME CLAIM
same()
{
	pinfold exec "${AS[@]}" --lang python "$1" - "${TREES[@]}" <"$TEST_DIR/listing.py"
	check "$2" diff "$W/made" "$OUT"
}

# everything WORD...: made by `user` or `root`; with `much` also what is large.
everything()
{
	local kind=$1

	AS=()
	TREES=(tree)
	[ "$#" = 1 ] || TREES+=(many chain=deep)
	[ "$kind" = user ] || AS=(--user root)
	fresh all
	pinfold exec "${AS[@]}" --time 60s --workdir /home/user --lang python all - "$@" \
		<"$TEST_DIR/make-tree.py"
	exits 0 "$kind makes one of everything"
	[ "$RC" = 0 ] || return
	AS+=(--workdir /home/user)
	pinfold exec "${AS[@]}" --lang python all - "${TREES[@]}" <"$TEST_DIR/listing.py"
	cp "$OUT" "$W/made"
	[ "$#" = 1 ] || {
		check "10,000 files in a directory" test "$(grep -c '^many/' "$W/made")" = 10000
		check "3,000 levels" grep -qx 'deep chain 3000 .*' "$W/made"
	}
	check "$kind: it is there" test "$(wc -l <"$W/made")" -gt 45
	check "$kind: hard links are" test "$(grep -c ' as ' "$W/made")" = 3
	check "$kind: holes are" grep -q '^tree/sparse file .* sparse' "$W/made"
	sh_in all 'echo other >elsewhere'
	same all "$kind, after a next command"
	pinfold snap all good
	pinfold exec "${AS[@]}" all -- sh -c 'chmod -R u+rwX tree; rm -rf tree many; mkdir tree; echo x >tree/one
		[ ! -e deep ] || echo x >deep/deep/deep/bottom'
	exits 0 "$kind: all of it is destroyed"
	pinfold undo all
	same all "$kind, undone"
	pinfold exec "${AS[@]}" all -- sh -c 'chmod -R u+rwX tree; rm -rf tree/l* many'
	pinfold rollback all good
	same all "$kind, rolled back"
	pinfold fork all copy
	pinfold rm all
	same copy "$kind, in a fork whose origin is gone"
	pinfold rm copy
	exits 0 "$kind: it can be removed"
	check "$kind: all of it" wait_for 40 no_layers
}

no_layers()
{
	[ -z "$(ls "$M/home/layers")" ]
}

# step NAME TEXT EXPECTED CLAIM: a command, and what the next finds.
step()
{
	sh_in "$1" "$2"
	[ "$RC" = 0 ] || { not_ok "$4: status $RC [$MODE]"; explain; }
	sh_in "$1" 'find . -mindepth 1 | sort | tr "\n" " "; cat f 2>/dev/null; true'
	prints "$3" "$4"
}

removing()
{
	fresh w
	step w 'mkdir -p d/e; echo 1 >f; echo 2 >d/g; echo 3 >d/e/h' './d ./d/e ./d/e/h ./d/g ./f 1' "some files"
	step w 'rm f' './d ./d/e ./d/e/h ./d/g ' "a file is removed"
	step w 'mkdir f; echo x >f/x' './d ./d/e ./d/e/h ./d/g ./f ./f/x ' "and is a directory"
	step w 'rm -r f; echo 4 >f' './d ./d/e ./d/e/h ./d/g ./f 4' "and a file again"
	step w 'rm -rf d; mkdir d' './d ./f 4' "a directory is made anew, and is empty"
	step w 'echo n >d/new' './d ./d/new ./f 4' "and has what came later"
	step w 'rm -rf d; mkdir -p d/e' './d ./d/e ./f 4' "also below"
	step w 'rm -rf d; ln -s /etc d' './d ./f 4' "a link in its place"
	step w 'rm d; mkdir d; rm f; ln -s d f' './d ./f ' "a link to a directory in place of a file"
	pinfold undo w 14
	sh_in w 'find . -mindepth 1 | sort | tr "\n" " "'
	prints './d ./d/e ./d/e/h ./d/g ' "and back by seven"
	pinfold rm w
}

# Within a command links are links. A write of a later one may break them (docs), and changes no
# other name's content by half.
hard_links()
{
	fresh l
	sh_in l 'echo 1 >a; ln a b; echo 2 >>b; cat a; stat -c %h a'
	prints $'1\n2\n2' "a link in one command"
	sh_in l 'test a -ef b && stat -c %h a'
	prints 2 "and in the next"
	sh_in l 'echo 3 >>a; cat a'
	prints $'1\n2\n3' "a later write"
	sh_in l 'cat a; cat b'
	check "is there, in one name or in both" grep -qxE '1 2 3 1 2 (3 )?' <(tr '\n' ' ' <"$OUT")
	sh_in l 'rm b; cat a'
	prints $'1\n2\n3' "one name removed, the other stays"
	pinfold rm l
}

holes()
{
	fresh s
	sh_in s 'truncate -s 4T huge 2>/dev/null || truncate -s 1T huge; printf x | dd of=huge bs=1 seek=1G conv=notrunc 2>/dev/null'
	sh_in s 'echo end >>huge; du -k huge | cut -f1; tail -c 4 huge'
	check "a sparse file of terabytes stays sparse when it is changed" test "$(head -1 "$OUT")" -lt 4096
	pinfold info --json s
	doc_has 'd["own_bytes"] < 4 << 20' "and counts for what it takes"
	pinfold rm s
}

# bits_left: files with set-id bits or device numbers in any layer; whiteouts are devices of number 0.
bits_left()
{
	find "$M/home/layers" -type f -perm /6000
	find "$M/home/layers" -type b
	find "$M/home/layers" -type c -exec stat -c '%t:%T %n' {} + | grep -v '^0:0 '
}

SETID='import os
def arm(name):
    with open(name, "w") as f:
        f.write("#!/bin/sh\n")
    os.chmod(name, 0o6755)
for i in range(1500):
    arm(f"s{i}")
os.mkdir("locked"); arm("locked/s"); os.chmod("locked", 0)
os.mkdir("locked2"); os.mkdir("locked2/x"); arm("locked2/x/s"); os.chmod("locked2/x", 0o300); os.chmod("locked2", 0o100)
os.makedirs("/".join(["d"] * 40)); os.chdir("/".join(["d"] * 40))
os.makedirs("/".join(["d"] * 40)); os.chdir("/".join(["d"] * 40)); arm("s")
for i in range(30):
    os.mkdir("n" * 250); os.chdir("n" * 250)
arm("s")'

# What stays on the host makes nobody anybody else, wherever it hides.
bits()
{
	fresh b
	pinfold exec b -- python3 -c "$SETID"
	exits 0 "set-id bits can be set"
	check "and do not stay" test -z "$(bits_left)"
	sh_in b 'stat -c %a locked locked2 s1'
	prints $'0\n100\n755' "other bits do"
	sh_in b 'mkdir g; chmod 2755 g; chmod 6755 s1; :'
	check "nor in a later command" test -z "$(bits_left)"
	sh_in b 'for n in null:1:3 zero:1:5 white:0:0 disk:8:0; do IFS=:; set -- $n; mknod $1 c $2 $3 && echo $1
		mknod $1 b $2 $3 && echo $1; done'
	prints "" "device nodes cannot be made"
	[ "$MODE" = U ] || {
		pinfold exec --user root b -- sh -c 'cd /home/user; cp s2 r; chown 0:0 r; chmod 6755 r; cp s2 /usr/local/r
			chmod 4755 /usr/local/r; chown 33 s3; chmod 6755 s3
			mknod n c 1 3 && echo n; mknod n b 8 0 && echo n; mknod n c 0 0 && echo n'
		prints "" "nor by root inside"
		check "whose bits do not stay either" test -z "$(bits_left)"
	}
	pinfold rm b
}

# Everything can be changed by root inside, and stays.
system_files()
{
	[ "$MODE" = R ] || return
	fresh u
	pinfold exec --user root u -- sh -c 'echo conf >/etc/new.conf; mkdir -p /opt/x /srv; echo 1 >/opt/x/f
		echo tool >/usr/local/tool; rm /usr/bin/env; echo "x:x:7:" >>/etc/group; chown 5:6 /opt/x/f'
	exits 0 "root changes the system"
	ws u sh -c 'cat /etc/new.conf /opt/x/f /usr/local/tool; ls /usr/bin/env; tail -1 /etc/group; stat -c %u:%g /opt/x/f'
	prints $'conf\n1\ntool\nx:x:7:\n5:6' "and the user finds it so"
	ws u sh -c 'echo y >/etc/mine; echo y >/usr/local/tool; rm -rf /opt; echo y >/f'
	sh_in u 'cat /etc/mine /usr/local/tool /opt/x/f /f'
	prints $'tool\n1' "but cannot change it"
	fresh home
	pinfold exec --user root home -- touch /home/user/roots
	ws home sh -c 'touch mine; stat -c "%u %n" . *'
	prints $'1000 .\n1000 mine\n0 roots' "a home directory that root wrote to first is the user's"
	pinfold undo u 4
	ws u sh -c 'ls /etc/new.conf /opt/x /usr/local/tool; ls /usr/bin/env'
	prints /usr/bin/env "undone, it is the host's again"
	pinfold rm u
}

checks()
{
	CALL_SECONDS=240
	if [ "$MODE" = R ]; then
		everything root much
		everything user
	else
		everything user much
	fi
	removing
	hard_links
	holes
	bits
	system_files
}

run_checks
