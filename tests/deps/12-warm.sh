#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: package-warm
#
# Interpreters that wait with packages imported: for who uses the same again and again, each in a sandbox of its
# own, and not with packages that nobody can wait with.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# with PACKAGE CODE [OPTION...]: a run with it, by the daemon because it may be warm there.
with()
{
	local package=$1 code=$2

	shift 2
	inside_json "${BEST[@]}" --package "$package" "$@" --lang python -c "$code"
}

started()
{
	json 'd["start"]'
}

# warm PACKAGE CODE: a run that finds an interpreter; one that is on its way is waited for.
warm()
{
	local tries=0

	while [ $((tries++)) -lt 15 ]; do
		wait_for 3 waiting_beyond 0
		with "$1" "$2"
		[ "$(started)" != interpreter ] || return 0
	done
}

# until_warm PACKAGE CODE: a few runs, then one that finds an interpreter.
until_warm()
{
	local i

	for ((i = 0; i < 3; i++)); do
		with "$1" "$2"
	done
	warm "$1" "$2"
}

often()
{
	local code=$'import apple\nimport sys\nprint(apple.__version__, apple.pear.__version__, sys.argv, __name__, sorted(globals()))'
	local cold

	with apple "$code"
	cold=$(json 'd["stdout"]["text"], d["exit_code"], d["packages"], d["changed"] if "changed" in d else 0')
	check "the first is not warm" test "$(started)" = cold
	check "nothing waits for who came once" wait_for 20 waiting_is 0
	with apple "$code"
	with apple "$code"
	check "after three, one waits" wait_for 20 waiting_beyond 0
	warm apple "$code"
	json_is interpreter 'd["start"]' "and is given to the next"
	check "to whom it is as any other" test \
		"$(json 'd["stdout"]["text"], d["exit_code"], d["packages"], d["changed"] if "changed" in d else 0')" = "$cold"
	json_has 'all(p["imported"] is True for p in d["packages"]) and len(d["packages"]) == 2' "what it imported is said"
	warm apple $'import sys\nimport apple\nprint(sys.version)\nraise ValueError("words")'
	check "another program of the same imports has it, too" test "$(started)" = interpreter
	json_has '"ValueError: words" in d["stderr"]["text"] and "driver" not in d["stderr"]["text"]' "with its own traceback"
}

# What it may do is what any other may.
rights()
{
	local cold code='import apple
import os, resource, socket
print([l for l in open("/proc/self/status") if l.split(":")[0] in
       ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters")])
print(sorted(os.listdir("/proc/self/fd")), socket.if_nameindex(), os.getcwd(), os.umask(0))
print([resource.getrlimit(i) for i in range(16)], sorted(l.split(" - ")[1].split(",uid=")[0] for l in open("/proc/self/mountinfo")))
for p in "/usr/local/lib/x", "/etc/x", "/x":
    try:
        open(p, "w")
        print(p, "can be written")
    except OSError as e:
        print(p, e.errno)
try:
    os.unshare(0) if hasattr(os, "unshare") else os.setuid(0)
except OSError as e:
    print(e.errno)'

	with apple "$code"
	cold=$(json 'd["stdout"]["text"], d["stderr"]["text"]')
	check "a cold one to compare with" test "$(started)" = cold
	until_warm apple "$code"
	json_is interpreter 'd["start"]' "the same program in one that waited"
	check "has the same rights, files and limits" test "$(json 'd["stdout"]["text"], d["stderr"]["text"]')" = "$cold"
}

others()
{
	wait_for 20 waiting_beyond 0
	with apple $'import apple\nprint(1)' --env KEY=value
	check "a variable: not one that imported without it" test "$(started)" != interpreter
	with apple $'import os\nos.environ["KEY"] = "1"\nimport apple\nprint(1)'
	check "a program that prepares its imports: not one that has done them" test "$(started)" != interpreter
	with apple $'print(1)'
	check "a program that imports none of it" test "$(started)" != interpreter
	with apple $'import apple\nprint(1)' --memory 256M
	check "other limits" test "$(started)" != interpreter
	with 'apple<2' $'import apple\nprint(apple.__version__)'
	check "another layer: not that one" test "$(started)" != interpreter
	json_is 1.1 'd["stdout"]["text"].strip()' "but its own"
}

# What one leaves, or knows, the next does not.
apart()
{
	local code=$'import imprint\nprint(imprint.seen, imprint.born, imprint.secret)\nmarker.secret.append("mine")' first
	local try='import os
import imprint
for p in "/usr/local/lib", imprint.__file__:
    try:
        open(p if os.path.isfile(p) else p + "/evil", "a").write("\nseen = [1]\n")
    except OSError:
        pass'

	until_warm imprint "$code"
	json_is interpreter 'd["start"]' "a package that leaves traces when it is imported"
	first=$(json 'd["stdout"]["text"]')
	check "finds none of an earlier one" grep -q '^\[\] [0-9a-f]* \[\]$' <<<"$first"
	warm imprint "$code"
	json_is interpreter 'd["start"]' "the next"
	check "nor does the next" grep -q '^\[\] [0-9a-f]* \[\]$' <<<"$(json 'd["stdout"]["text"]')"
	check "which is another interpreter" test "$(json 'd["stdout"]["text"]')" != "$first"
	warm imprint "$try"
	warm imprint "$code"
	check "and one that spoilt what it could spoilt its own" grep -q '^\[\] ' <<<"$(json 'd["stdout"]["text"]')"
}

# nobody_waits PACKAGE WHAT [SECONDS]: it is used as often as others.
nobody_waits()
{
	local i code=$'import '$1$'\nprint(6 * 7)'

	for ((i = 0; i < 3; i++)); do
		with "$1" "$code" --time 2s
	done
	wait_for 3 waiting_beyond 0 # or it was shorter than we can see
	check "$2: it goes" wait_for "${3:-10}" waiting_is 0
	with "$1" "$code" --time 2s
	check "and nobody waits with it" test "$(started)" != interpreter
}

odd()
{
	nobody_waits talker "one that prints"
	json_has '"hello from talker" in d["stdout"]["text"]' "what it prints is seen"
	nobody_waits faulty "one whose import fails there"
	json_is 42 'd["stdout"]["text"].strip()' "which works elsewhere"
	[ "$MODE" = R ] || return
	nobody_waits forker "one that leaves a process"
	nobody_waits restless "one that goes on computing" 30
	nobody_waits sleeper "one whose import hangs" 60
}

# The sandbox of the last run holds it until it is gone, which is after the result.
collected()
{
	pinfold deps gc --all
	pinfold deps ls
	[ ! -s "$OUT" ]
}

goes()
{
	until_warm apple $'import apple\nprint(1)'
	wait_for 20 waiting_beyond 0
	check "a layer that is waited with may be collected" wait_for 20 collected
	with apple $'import apple\nprint(apple.__version__)'
	json_is 2.0 'd["stdout"]["text"].strip()' "and is made again for who asks"
	check "by nothing of the old one" test "$(started)" != interpreter
}

checks()
{
	local i

	index || return
	daemon_mode
	daemon_start --warm 0 --warm-python 0
	often
	others
	daemon_stop
	daemon_start --warm 0 --warm-python 0
	rights
	apart
	daemon_stop
	daemon_start --warm 0 --warm-python 0
	odd
	daemon_stop
	daemon_start --warm 0 --warm-python 0
	goes
	daemon_stop
	daemon_start --warm 0 --warm-python 0 --warm-memory 8M
	for i in 1 2 3 4 5; do
		with apple $'import apple\nprint(1)'
	done
	check "none where --warm-memory has no room for it" test "$(started)" != interpreter
	check "nor does one wait" wait_for 20 waiting_is 0 # once those that ran are gone
	daemon_stop
	exits 0 "it ends"
	check "nothing is left" nothing_left
}

run_deps
