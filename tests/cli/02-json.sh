#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With --json standard output is one document of the contract's shape, however the run ends.
. "$(dirname "$0")/../lib/cli.sh"

# documented RC NAME ARG...: the call ends so, and prints a whole document.
documented()
{
	local rc=$1 name=$2

	shift 2
	inside_json "$@"
	exits "$rc" "$name: status $rc"
	document "$name"
}

endings()
{
	documented 0 "a silent command" -- true
	silent "a silent command says nothing on standard error"
	documented 3 "a failing command" -- sh -c 'echo out; echo err >&2; exit 3'
	json_is '["out\n", "err\n"]' '[d["stdout"]["text"], d["stderr"]["text"]]' "the streams"
	documented 143 "a signal" -- sh -c 'kill $$'
	documented 124 "a timeout" --time 200ms -- tail -f /dev/null
	documented 137 "out of memory" --memory 32M -- \
		/usr/bin/python3 -c 'import signal; x = bytearray(200 << 20); signal.pause()'
	documented 137 "the CPU time limit" --cpu-time 200ms -- sh -c 'while :; do :; done'
	json_is '["killed", "cpu_time", 200, "ms"]' \
		'[d["status"], limit["kind"], limit["value"], limit["unit"]]' "the CPU time limit"
	documented 127 "no such command" -- no-such-command
	json_has \
		'd["error"]["code"].startswith("not_found") and
		"no-such-command" in d["error"]["message"]' \
		"no such command: the error says so"
	documented 126 "not executable" -- /etc/passwd
	documented 125 "no such directory" --dir /no/such -- true
	json_has 'd["error"]["code"].startswith("not_found") and "--dir" in d["error"]["message"]' \
		"no such directory: the error names --dir"
	documented 125 "a bad value" --memory lots -- true
	json_has \
		'd["error"]["code"] == "invalid_argument" and "--memory" in d["error"]["message"]' \
		"a bad value: the error names --memory"
	documented 125 "an unknown option" --no-such-option -- true
	documented 125 "no command"
	documented 125 "a part of a later version" --isolation vm -- true
	json_has 'd["error"]["code"] == "unsupported"' "a part of a later version: unsupported"
}

fields()
{
	inside_json --time 5s --cpu-time 4s --cpus 0.5 --memory 100M --pids 50 --disk 10M --nofile \
		100 \
		--dir "$W" -- sh -c 'echo hello >/work/f; cat /etc/hostname'
	exits 0 "all limits given"
	document "all limits given"
	json_is '[5000, 4000, 0.5, 104857600, 50, 10485760, 100]' '[d["limits"][k]["value"] for k in
		("time", "cpu_time", "cpus", "memory", "pids", "disk", "nofile")]' \
		"the values of the limits"
	json_is '[[2000, "timer"], [1048576, "quota"]]' '[[d["limits"][k]["value"],
		d["limits"][k]["held_by"]] for k in ("grace", "output")]' "grace and output, too"
	json_is "timer tmpfs rlimit" '" ".join(d["limits"][k]["held_by"] for k in
		("time", "disk", "nofile"))' "what holds them"
	[ "$MODE" = U ] || json_is "cgroup cgroup cgroup" \
		'" ".join(d["limits"][k]["held_by"] for k in
		("memory", "pids", "cpus"))' "what holds them as root"
	json_has 'd["sandbox"] == d["stdout"]["text"].strip()' \
		"the hostname is the id of the sandbox"
	json_has 'd["id"][3:] != d["sandbox"][3:] and "_" not in d["id"]' "two ids"
	json_has '0 < d["usage"]["wall_ms"] < 60000 and 0 <= d["usage"]["cpu_ms"] < 60000' \
		"times are sane"
	json_has '(1 << 12) <= d["usage"]["memory_peak_bytes"] <= (100 << 20)' \
		"the memory peak is sane"
	json_has '1 <= d["usage"]["processes_peak"] <= 3' "the peak of processes is sane"
	json_has '6 <= d["usage"]["disk_bytes"] < (1 << 20)' "the disk use is sane"
	json_is '["added", "file", 6]' '[files["/work/f"][k] for k in ("change", "type", "size")]' \
		"a file"
	json_has 'files["/work/f"]["sha256"] == hashlib.sha256(b"hello\n").hexdigest()' \
		"and its hash"
	json_is '["/work/f"]' 'sorted(files)' "no other file"
	inside_json -- /usr/bin/python3 -c 'import time
x = bytearray(60 << 20)
while time.process_time() < 0.3: pass'
	json_has '(60 << 20) <= d["usage"]["memory_peak_bytes"] <= (200 << 20)' "60 MiB are counted"
	json_has '290 <= d["usage"]["cpu_ms"] <= 3000' "300 ms of work are counted"
	json_has 'd["usage"]["wall_ms"] >= 250' "and at least as much time"
	inside_json --time 400ms -- sh -c 'for i in 1 2 3 4 5; do tail -f /dev/null & done; wait'
	json_has '5 <= d["usage"]["processes_peak"] <= 7' "five children are counted"
}

# Text that tries to end its string, or the document.
hostile()
{
	inside_json -- printf '%b' '"}\n{"id": "\\u0022 \001 \177 \0033[2J \0342\0200\0250'
	document "text that needs escapes"
	json_has 'out == b"\"}\n{\"id\": \"\\u0022 \x01 \x7f \x1b[2J \xe2\x80\xa8"' "text is exact"
	inside_json -- sh -c 'cd /tmp; cd; touch "a\"b" "new
line" "$(printf "\377x")"'
	document "odd file names"
	json_has '"/home/user/a\"b" in files and "/home/user/new\nline" in files' "names are exact"
	inside_json -- sh -c 'echo 1 >&1; echo "{}" >&2'
	check "standard error of the command is not mixed in" test ! -s "$ERR" -o -z \
		"$(grep -v '^pinfold: ' "$ERR")"
	inside_json -- sh -c 'i=0; while [ $i -lt 1200 ]; do : >f$i; i=$((i+1)); done'
	document "many files"
	json_is '[1000, 200]' '[len(files), d["files_omitted"]]' \
		"1,000 files are listed, the rest counted"
}

checks()
{
	endings
	fields
	hostile
}

run_checks
