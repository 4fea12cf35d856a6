#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What was refused is explained: the address, the system call, the file that exists but is hidden.
. "$(dirname "$0")/../lib/cli.sh"

connecting='
import socket, sys
for family, kind, host, port in eval(sys.argv[1]):
    s = socket.socket(family, kind)
    s.settimeout(20)
    try:
        s.connect((host, port)) if kind == socket.SOCK_STREAM else s.sendto(b"x", (host, port))
        print("reached", host)
    except OSError as e:
        print(type(e).__name__)'
tcp=socket.AF_INET,socket.SOCK_STREAM
udp=socket.AF_INET,socket.SOCK_DGRAM
tcp6=socket.AF_INET6,socket.SOCK_STREAM

# denied KIND WHAT COUNT NAME: the last document has exactly this denial of this kind and text.
denied()
{
	json_is "[[$3, true]]" "[[x['count'], len(x['hint']) > 20] for x in d['denials']
		if x['kind'] == '$1' and x['what'] == '$2']" "$4: denial"
}

network()
{
	inside_json -- /usr/bin/python3 -c "$connecting" "[($tcp,'192.0.2.1',443)] * 3"
	document "a refused connection"
	json_has 'b"reached" not in out and len(out.split()) == 3' "a connection is refused"
	denied network "connect 192.0.2.1:443" 3 "a refused connection"
	json_is '[["192.0.2.1", 443, "denied"]]' '[[n["host"], n["port"], n["verdict"]] for n in
		d["network"]]' "network"
	json_has '"--dir" in d["denials"][0]["hint"] or "--allow" in d["denials"][0]["hint"]' \
		"the hint says what to do"
	inside -- /usr/bin/python3 -c "$connecting" "[($tcp,'192.0.2.1',443)]"
	says '^pinfold: denied network: connect 192\.0\.2\.1:443: ' \
		"without --json it is said in a line"
	inside_json -- /usr/bin/python3 -c "$connecting" \
		"[($udp,'192.0.2.1',53),($tcp6,'2001:db8::1',80),($tcp,'10.0.0.1',22)]"
	document "other addresses"
	json_has 'len([x for x in d["denials"] if x["kind"] == "network"]) == 3 and
		any("[2001:db8::1]:80" in x["what"] for x in d["denials"])' "each address is told"
	inside_json -- getent hosts www.example.org
	check "a name is not found" test "$RC" = 2
	json_has 'any(x["kind"] == "network" for x in d["denials"])' "and the lookup is told"
	inside_json -- /usr/bin/python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
try: socket.create_connection(("127.0.0.1", 9))
except ConnectionRefusedError: print("refused")
u = socket.socket(socket.AF_UNIX); u.bind("/tmp/u"); u.listen()
socket.socket(socket.AF_UNIX).connect("/tmp/u")'
	exits 0 "loopback and sockets of its own work"
	json_is '[]' 'd["denials"]' "and are no denial"
}

system_calls()
{
	inside_json -- mount -t tmpfs x /mnt
	check "mount fails" test "$RC" != 0 -a "$RC" != 125
	document "mount"
	denied syscall mount 1 "mount"
	inside -- mount -t tmpfs x /mnt
	says '^pinfold: denied syscall: mount: ' "mount: in a line"
	inside_json -- unshare -r true
	denied syscall unshare 1 "unshare"
	inside_json -- /usr/bin/python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for i in range(5): libc.syscall(321, 0, 0, 0)  # bpf
print(ctypes.get_errno())'
	if [ "$(uname -m)" = x86_64 ]; then
		json_is 1 'd["stdout"]["text"].strip()' "bpf answers EPERM"
		denied syscall bpf 5 "bpf"
	fi
	inside_json -- /usr/bin/python3 -c 'import numpy, threading, subprocess, sqlite3
subprocess.run(["ls", "-l", "/"], check=True)'
	json_is '[]' 'd["denials"]' "an innocent program has no denial"
	inside_json -- /usr/bin/python3 -c '
import ctypes, sys
libc = ctypes.CDLL(None)
for i in range(20000): libc.mount(b"x", b"/mnt", b"tmpfs", 0, None)'
	denied syscall mount 20000 "20,000 times"
}

hidden()
{
	echo 'print("ran")' >"$W/script.py"
	chmod 644 "$W/script.py"
	printf '#!/bin/sh\necho ran\n' >"$W/tool"
	chmod 755 "$W/tool"
	own "$W"
	inside_json -- python3 script.py
	check "a script of the host is not there" test "$RC" = 2
	document "a hidden script"
	denied path script.py 1 "a hidden script, by a relative path"
	json_has 'any("--dir" in x["hint"] for x in d["denials"])' "the hint names --dir"
	inside_json -- python3 "$W/script.py"
	denied path "$W/script.py" 1 "a hidden script, by its full path"
	inside -- python3 script.py
	says '^pinfold: denied path: script.py: ' "in a line"
	inside_json -- ls "$W"
	denied path "$W" 1 "a hidden directory"
	inside_json -- sh -c 'exit 1' /tmp work /home
	json_is '[]' 'd["denials"]' "what is inside, too, and words are none"
	inside --dir "$W" --workdir /work -- python3 script.py
	prints ran "with --dir it is there"
	inside_json --dir "$W" --workdir /work -- sh -c 'exit 3' sh script.py
	json_is '[]' 'd["denials"]' "a command that fails for another reason is not explained so"
	inside_json -- cat /etc/login.defs
	denied path /etc/login.defs 1 "a file of /etc that is not listed"
	inside_json -- cat /etc/passwd /no/such
	json_is '[]' 'd["denials"]' "nor a file that is nowhere"
	inside_json -- "$W/tool"
	exits 127 "a program of the host is not there"
	document "a hidden program"
	denied path "$W/tool" 1 "a hidden program"
	json_has '"hidden" in d["error"]["remedy"] and "--dir" in d["error"]["remedy"]' \
		"and the remedy"
	programs
	inside_json --env PATH=/nowhere -- true
	exits 127 "a program that the PATH inside has not"
	json_is '[0, "it is not on the PATH inside: call it as /usr/bin/true"]' \
		'[len(d["denials"]), d["error"]["remedy"]]' "is not hidden, and its place is said"
	inside_json --workdir "$W" -- true
	exits 125 "a working directory of the host is not there"
	document "a hidden working directory"
	denied path "$W" 1 "a hidden working directory"
	inside --workdir "$W" -- true
	says 'remedy: .*hidden.*--dir' "a hidden working directory: the remedy"
}

# Programs that the caller's own shell would find.
programs()
{
	inside_json -- ./tool
	exits 127 "./tool of the host is not there"
	denied path ./tool 1 "./tool"
	json_has '"--dir . --workdir /work" in d["error"]["remedy"]' "./tool: the remedy"
	mkdir -p "$W/bin" && cp "$W/tool" "$W/bin/only-here" && own "$W"
	CALL_WRAP=(/usr/bin/env "PATH=$W/bin:/usr/bin:/bin")
	inside_json -- only-here
	exits 127 "a program of the caller's PATH is not there"
	denied path "$W/bin/only-here" 1 "a program of the caller's PATH"
	json_has '"/work/only-here" in d["error"]["remedy"]' "it is said how to call it"
	CALL_WRAP=()
	inside_json -- no-such-program
	json_is '[]' 'd["denials"]' "one that is nowhere is not explained so"
	printf '#!/no/such/interpreter -x\n' >"$W/orphan"
	chmod 755 "$W/orphan" && own "$W"
	inside_json --dir "$W" --workdir /work -- ./orphan
	exits 127 "a script without its interpreter"
	json_has '"/no/such/interpreter" in d["error"]["message"]' "is told by that"
	inside_json --dir "$W" -- /work/script.py
	exits 126 "a file that is not executable"
	json_has '"chmod +x" in d["error"]["remedy"]' "is told what to do"
	inside_json --workdir /etc/passwd -- true
	json_has '"file" in d["error"]["remedy"] and d["denials"] == []' "a file is no directory"
	[ "$MODE" = R ] || return # a user's /root is his own
	inside_json --workdir /root -- true
	json_has '"may not enter" in d["error"]["remedy"] and d["denials"] == []' "nor is /root for all"
}

# In a container of somebody's making, /proc may show other processes than ours.
foreign_proc()
{
	[ "$EUID" = 0 ] || return
	CALL_OUTER=(/usr/bin/unshare --pid --fork)
	inside -- true
	CALL_OUTER=()
	refuses denied "user namespace" "a /proc of another process namespace"
	says '^pinfold: remedy: .*--mount-proc' "a /proc of another process namespace: what helps"
}

checks()
{
	network
	system_calls
	hidden
	foreign_proc
}

run_checks
