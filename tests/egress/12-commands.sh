#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: commands
# Commands of a policy: a program that a rule matches waits for a person, or is refused; so does what is
# deleted. Without a daemon and with one, in sandboxes that live and in workspaces.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

policy()
{
	mkdir -p "$W/dir/tools" "$W/dir/keep"
	printf '#!/bin/sh\necho "shipped $*"\n' >"$W/dir/tools/ship"
	chmod 0755 "$W/dir/tools/ship"
	cp /usr/bin/env "$W/dir/tools/send"
	echo precious >"$W/dir/keep/file"
	cat >"$W/policy.yaml" <<-EOT
		commands:
		  - ask: ship now
		    reason: it leaves this machine
		  - deny: send off
		    reason: never by hand
		  - deny: {delete: outside /work/tools}
	EOT
	own "$W"
	WITH=("${BEST[@]}" --policy "$W/policy.yaml" --dir "$W/dir" --env PATH=/work/tools:/usr/bin:/bin)
}

# asked NAME: the id of its question, in ASKED.
asked()
{
	local err=${1}_ERR

	wait_for 20 grep -q '^pinfold: waits for approval: ' "${!err}"
	ASKED=$(grep -o 'pinfold approve apr[a-z2-7]*' "${!err}" | awk '{ print $3 }' | tail -n1)
}

denied()
{
	inside_json "${WITH[@]}" "$@" -- send off
	exits 126 "the command of the run itself"
	json_is '[["command", "send off", 1]]' '[[x["kind"], x["what"], x["count"]] for x in d["denials"]]' "a denial says which"
	json_has '"never by hand" in d["denials"][0]["hint"]' "and why"
	json_is "[]" 'd["network"]' "commands alone open no network"
	inside "${WITH[@]}" "$@" -- sh -c 'send on; send --unset=X on; send A=b true && echo fine; /bin/true && echo fine'
	prints $'fine\nfine' "other words are no matter, nor are other programs"
	inside "${WITH[@]}" "$@" -- nosuch
	exits 127 "what is not there"
	says 'nosuch: command not found' "is said"
	inside "${WITH[@]}" "$@" -- /work/keep/file
	exits 126 "what cannot be executed"
	inside "${WITH[@]}" "$@" --workdir /nosuch -- true
	exits 125 "a working directory that is not there"
}

# Every way to execute it that says its name.
ways()
{
	cat >"$W/dir/tools/ways.py" <<-'EOT'
		import ctypes, os, subprocess, sys
		def child(what):
		    pid = os.fork()
		    if pid == 0:
		        try:
		            what()
		        except OSError as e:
		            os._exit(100 + e.errno)
		        os._exit(0)
		    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		S = "/work/tools/send"
		os.symlink(S, "/tmp/other")
		fd = os.open(S, os.O_RDONLY)
		os.chdir("/work/keep")
		words = ["x", "off"]
		print("path", child(lambda: os.execv(S, words)))
		print("relative", child(lambda: os.execv("../tools/./send", words)))
		print("link", child(lambda: os.execv("/tmp/other", words)))
		print("descriptor", child(lambda: os.execve(fd, words, {})))
		print("proc", child(lambda: os.execv("/proc/self/fd/%d" % fd, words)))
		print("name", child(lambda: os.execv("/usr/bin/env", ["send", "off"])))
		print("options", child(lambda: os.execv(S, ["x", "-u", "HOME", "off"])))
		loader = next(p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(p))
		print("loader", child(lambda: os.execv(loader, ["ld", S, "off"])))
		print("many", child(lambda: os.execv(S, ["x"] + ["-v"] * 5000 + ["off"])))
		print("long", child(lambda: os.execv(S, ["x", "-" + "v" * 20000, "off"])))
		try:
		    os.posix_spawn(S, words, {})
		    print("spawn 0")
		except PermissionError:
		    print("spawn 101")
		try:
		    subprocess.run([S, "off"])
		except PermissionError:
		    print("subprocess 101")
		libc = ctypes.CDLL(None, use_errno=True)
		libc.execve(ctypes.c_void_p(8), None, None)
		print("nowhere", ctypes.get_errno())
		libc.execve(S.encode(), ctypes.c_void_p(8), None)
		print("nothing", ctypes.get_errno())
	EOT
	inside "${WITH[@]}" "$@" -- /usr/bin/python3 -I /work/tools/ways.py
	prints "$(printf '%s 101\n' path relative link descriptor proc name options loader many long spawn subprocess)"$'\nnowhere 14\nnothing 14' "by every way"
}

deletes()
{
	cat >"$W/dir/tools/deletes.py" <<-'EOT'
		import os
		def t(name, what):
		    try:
		        what()
		        print(name, "done")
		    except OSError as e:
		        print(name, e.errno)
		K = "/work/keep/file"
		os.symlink("/work/keep", "/work/tools/way")
		d = os.open("/work/keep", os.O_RDONLY)
		os.mkdir("/work/keep/empty")
		open("/work/keep/other", "w").close()
		open("/work/tools/own", "w").close()
		os.chdir("/work/tools")
		t("path", lambda: os.unlink(K))
		t("relative", lambda: os.unlink("../tools/../keep/file"))
		t("link", lambda: os.unlink("/work/tools/way/file"))
		t("descriptor", lambda: os.unlink("file", dir_fd=d))
		t("directory", lambda: os.rmdir("/work/keep/empty"))
		t("away", lambda: os.rename(K, "/work/tools/taken"))
		t("memory", lambda: os.unlink("/tmp/none"))
		t("absent", lambda: os.unlink("/work/keep/none"))
		t("within", lambda: os.rename("/work/keep/other", "/work/keep/another"))
		t("own", lambda: os.unlink("own"))
		t("back", lambda: (open("b", "w").close(), os.rename("b", "/work/keep/b")))
		print(open(K).read().strip())
	EOT
	inside "${WITH[@]}" "$@" -- /usr/bin/python3 -I /work/tools/deletes.py
	prints "$(printf '%s 1\n' path relative link descriptor directory away)"$'\nmemory 2\nabsent 2\nwithin done\nown done\nback done\nprecious' "what is deleted, by every way"
}

held()
{
	inside_start HELD --json "${WITH[@]}" "$@" -- sh -c "ship now 'a b'; ship now 'a b'; ship later"
	asked HELD
	pinfold approvals
	check "the question says what, and why" grep -q "^$ASKED .*command: .*ship now 'a b', for sandbox sbx" "$OUT"
	check "and by which rule" grep -q "the policy says ask ship now: it leaves this machine" "$OUT"
	pinfold approve "$ASKED"
	exits 0 "yes, once"
	wait_for 20 second_asked "$ASKED"
	asked HELD
	pinfold approve --sandbox "$ASKED"
	inside_wait HELD
	json_is $'shipped now a b\nshipped now a b\nshipped later' 'd["stdout"]["text"]' "the next is asked for again"
	json_is "[]" 'd["denials"]' "nothing was denied"

	inside_start HELD --json "${WITH[@]}" "$@" -- sh -c 'ship now; ship now; echo $?'
	asked HELD
	pinfold deny "$ASKED"
	inside_wait HELD
	json_is 126 'd["stdout"]["text"]' "a no is EPERM"
	json_is '[["approval", 2]]' '[(x["kind"], x["count"]) for x in d["denials"]]' "a denial, and not asked for again"
}

second_asked()
{
	grep -o 'pinfold approve apr[a-z2-7]*' "$HELD_ERR" | grep -qv "$1"
}

ended()
{
	inside_start HELD "${WITH[@]}" "$@" -- ship now
	asked HELD
	kill -TERM "$HELD_PID"
	inside_wait HELD
	pinfold approvals --json
	prints '{"items":[],"next":null}' "who was ended asks nothing any more"
	inside "${WITH[@]}" "$@" --time 2s --grace 100ms -- ship now
	exits 126 "nobody answers: it is refused while the run still lives"
}

# The harness waits for who holds it; sets ID.
detach()
{
	call_files run --detach "$@"
	call_argv -g 60000
	"${CALL[@]}" run --detach "$@" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	HOLDER_CALL=$!
	BACKGROUND+=("$HOLDER_CALL")
	wait_for 20 test -s "$OUT"
	ID=$(cat "$OUT")
}

# Who decides for it, in HOLDER.
holder()
{
	HOLDER=$(pgrep -P "$HOLDER_CALL" -x pinfold-egress)
}

# The number of the first question, in ASKED.
pending()
{
	pinfold approvals
	ASKED=$(awk '/command: /{ print $1; exit }' "$OUT")
	[ -n "$ASKED" ]
}

lives()
{
	detach "${WITH[@]}"
	pinfold exec --json "$ID" -- /work/tools/send off
	exits 126 "a command in one that lives"
	json_is '["command"]' '[x["kind"] for x in d["denials"]]' "is told why"
	pinfold exec "$ID" -- sh -c 'rm /work/keep/file; cat /work/keep/file'
	prints precious "what it deletes"
	pinfold exec --detach "$ID" -- /work/tools/ship now
	local pid
	pid=$(cat "$OUT")
	wait_for 20 pending
	pinfold exec "$ID" -- echo meanwhile
	prints meanwhile "others go on while one waits"
	pinfold approve "$ASKED"
	pinfold logs --follow "$ID" "$pid"
	prints "shipped now" "and it goes on"
	pinfold exec --detach "$ID" -- /work/tools/ship now
	pid=$(cat "$OUT")
	wait_for 20 pending
	wait_for 20 holder
	kill -KILL "$HOLDER"
	wait "$HOLDER_CALL" 2>/dev/null
	pinfold logs --follow "$ID" "$pid"
	says 'ship: not permitted' "without who decides nobody says yes"
	pinfold exec "$ID" -- true
	exits 126 "to anything"
	pinfold kill "$ID"
}

elsewhere()
{
	pinfold new box
	pinfold exec --policy "$W/policy.yaml" box -- sh -c 'cp /usr/bin/env send; ./send off'
	exits 126 "in a workspace"
	printf 'commands: [{deny: sort}]\n' >"$W/ceiling.yaml"
	chmod a+r "$W/ceiling.yaml"
	CALL_ENV+=("PINFOLD_CEILING=$W/ceiling.yaml")
	inside "${BEST[@]}" -- sort /dev/null
	exits 126 "a ceiling's commands hold for who has no policy"
	unset 'CALL_ENV[-1]'
	pinfold allow --policy "$W/policy.yaml" --explain-command 'send -x off'
	exits 1 "explained: denied"
	pinfold allow --policy "$W/policy.yaml" --explain-command 'ship now'
	exits 2 "asked"
	pinfold allow --policy "$W/policy.yaml" --explain-command 'ship'
	exits 0 "allowed"
	inside "${BEST[@]}" --isolation landlock --policy "$W/policy.yaml" -- true
	exits 125 "not without namespaces"
	pinfold plan "${BEST[@]}" -- true
	local without
	without=$(grep ' seccomp ' "$OUT")
	pinfold plan "${BEST[@]}" --policy "$W/policy.yaml" -- true
	check "another filter" test "$(grep ' seccomp ' "$OUT")" != "$without"
}

checks()
{
	daemon_mode
	policy
	inside "${WITH[@]}" --no-daemon -- send off
	exits 126 "a rule denies"
	[ "$RC" = 126 ] || return # nobody would ever be asked
	denied --no-daemon
	ways --no-daemon
	deletes --no-daemon
	held --no-daemon
	ended --no-daemon
	elsewhere
	daemon_start --warm 0
	denied --daemon
	ways --daemon
	deletes --daemon
	held --daemon
	lives
	daemon_stop
}

run_checks
