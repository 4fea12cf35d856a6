#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Directories of an earlier command, and of a view of the host's, can be renamed, although overlayfs
# refuses it, and nobody gets by it what he may not do himself.
# red: move-rights, move-domain
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# Of a directory that an earlier command made, in every way that a program has to say it.
RENAME='import ctypes, os, errno
def t(what, call):
    try:
        call()
        print(what, "renamed")
    except OSError as e:
        print(what, errno.errorcode[e.errno])
def exchange(a, b):
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, a, -100, b, 2):
        raise OSError(ctypes.get_errno(), "")
t("here", lambda: os.rename("a", "b"))
t("back, with a slash", lambda: os.rename("b/", "/home/user/a/"))
t("onto an empty one", lambda: os.rename("a", "empty"))
t("onto a full one", lambda: os.rename("empty", "full"))
t("onto a file", lambda: os.rename("empty", "full/file"))
t("into itself", lambda: os.rename("empty", "empty/x"))
t("what is not there", lambda: os.rename("nothing", "x"))
t("exchanged", lambda: exchange(b"empty", b"full"))
t("to another filesystem", lambda: os.rename("empty", "/tmp/x"))
fd = os.open("empty", os.O_RDONLY)
t("from a descriptor", lambda: os.rename("b", "../out", src_dir_fd=fd, dst_dir_fd=fd))
os.chdir("out")
t("from below", lambda: os.rename("c", "../full/c"))
t("what may not be written to", lambda: os.rename("../closed", "../z"))
os.chdir("..")
os.rename("out", "full/c/out")
print(sorted(os.listdir()))'

renaming()
{
	fresh m
	sh_in m 'mkdir -p a/b/c empty full closed/in; echo 1 >a/one; echo 2 >a/b/two; ln a/one a/same; touch full/file closed/in/x
		ln -s one a/link; mkfifo a/pipe; chmod 751 a/b; chmod 500 closed closed/in
		python3 -c "import os; os.setxattr(\"a/b\", \"user.k\", b\"v\")"
		touch -hd "2020-02-02 02:02:02.123456789" a/one a/link a/b/c a/b a'
	sh_in m 'cd a; find . -printf "%P %y %m %s %T+ %l\n" | sort'
	cp "$OUT" "$W/was"
	pinfold exec m -- python3 -c "$RENAME"
	prints "here renamed
back, with a slash renamed
onto an empty one renamed
onto a full one ENOTEMPTY
onto a file ENOTDIR
into itself EINVAL
what is not there ENOENT
exchanged EXDEV
to another filesystem EXDEV
from a descriptor renamed
from below renamed
what may not be written to renamed
['empty', 'full', 'z']" "directories of an earlier command"
	sh_in m 'find full empty z -mindepth 1 | sort | tr "\n" " "; cat full/c/out/two; test empty/one -ef empty/same && echo linked
		python3 -c "import os; print(os.getxattr(\"full/c/out\", \"user.k\"))"; stat -c %a z z/in'
	prints 'empty/link empty/one empty/pipe empty/same full/c full/c/out full/c/out/two full/file z/in z/in/x 2
linked
b'"'v'"'
500
500' "are where they went, with all that is in them"
	pinfold diff --json m 1 3
	doc_has 'not any("rename" in x["path"] for x in d["items"])' "and nothing else is left"
	pinfold undo m 3
	sh_in m 'cd a; find . -printf "%P %y %m %s %T+ %l\n" | sort'
	check "undone, all is as it was" diff "$W/was" "$OUT"
	pinfold exec m -- python3 -c 'import os; os.rename("a", "e")'
	sh_in m 'cd e; find . -printf "%P %y %m %s %T+ %l\n" | sort'
	check "and is the same under another name" diff "$W/was" "$OUT"
	pinfold diff --json m 6
	doc_has '{(x["change"], x["path"]) for x in d["items"]} >= {("deleted", "/home/user/a/one"), ("added", "/home/user/e/b/two")}' \
		"which diff shows"
	pinfold fork m other
	sh_in other 'cat e/b/two; ls'
	prints $'2\nclosed\ne\nempty\nfull' "and a fork has"
	pinfold rm other
	pinfold rm m
}

OWN_DOMAIN='import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(444, struct.pack("Q", 1 << 7), 8, 0)  # may make no directory
libc.prctl(38, 1, 0, 0, 0)
print(libc.syscall(446, fd, 0))
try:
    os.rename("a", "b")
    print("renamed")
except OSError as e:
    print("refused")'

# The helper has a command'"'"'s rights: who has fewer gets no more by it.
renaming_with_less()
{
	fresh m
	sh_in m 'mkdir a; touch a/x'
	pinfold exec m -- python3 -c "$OWN_DOMAIN"
	prints $'0\nrefused' "who closed it to himself is not helped"
	[ "$MODE" = R ] || return
	pinfold exec --user root m -- sh -c 'mkdir -p /srv/top/d /srv/top/e; touch /srv/top/d/x; chmod 755 /srv/top'
	pinfold exec --user root m -- setpriv --reuid 1000 --regid 1000 --clear-groups \
		python3 -c 'import os; os.rename("/srv/top/d", "/srv/top/z")'
	check "nor a user by root inside" grep -q 'Permission denied' "$ERR"
	pinfold exec --user root m -- python3 -c 'import os; os.rename("/srv/top/d", "/srv/top/z"); print(os.listdir("/srv/top/z"))'
	prints "['x']" "who is, for himself"
	pinfold rm m
}

renaming_a_view()
{
	mkdir -p "$M/view/src/in"
	echo 1 >"$M/view/src/in/file"
	own "$M/view"
	fresh v --dir "$M/view"
	pinfold exec v -- python3 -c 'import os; os.rename("/work/src", "/work/lib"); print(open("/work/lib/in/file").read())'
	prints 1 "a directory of the host's, in its view"
	check "which is as it was" test "$(cd "$M/view" && echo src/in/*)" = src/in/file
	pinfold review v
	check "and the review says so" grep -q 'lib/in/file' "$OUT"
	pinfold apply v
	check "and apply does it" test "$(cd "$M/view" && echo */in/*)" = lib/in/file
	pinfold run --no-daemon --dir "$M/view" -- python3 -c 'import os; os.rename("/work/lib", "/work/z"); print(os.listdir("/work"))'
	prints "['z']" "and without a workspace"
	pinfold rm v
}

checks()
{
	renaming
	renaming_with_less
	renaming_a_view
}

run_checks
