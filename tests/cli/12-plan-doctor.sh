#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# plan says what a run would do and does none of it; doctor says what this host can enforce.
. "$(dirname "$0")/../lib/cli.sh"

# operations NAME...: the plan in OUT has these, in this order.
operations()
{
	check "$1: its steps, in order" /usr/bin/python3 -I - "$OUT" "${@:2}" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["isolation"] in ("strict", "landlock")
		assert [s["step"] for s in d["steps"]] == list(range(len(d["steps"])))
		assert all(isinstance(s["does"], str) and s["does"] for s in d["steps"])
		names = [s["op"] for s in d["steps"]]
		at = -1
		for want in sys.argv[2:]:
		    at = names.index(want, at + 1)
	END
}

plans()
{
	pinfold plan -- touch "$W/made"
	exits 0 "a plan"
	check "a step a line" grep -qE '^ +[0-9]+  seccomp' "$OUT"
	check "the limits and what holds them" grep -q 'memory 536870912 by' "$OUT"
	check "nothing is done" test ! -e "$W/made" -a -z "$(find "$M/run" "$M/home" -name 'sbx*')"
	pinfold plan --json -- true
	check "one line of JSON" test "$(wc -l <"$OUT")" = 1
	json_has 'd["limits"]["memory"]["value"] == 512 << 20 and "held_by" in d["limits"]["pids"] and
		"journal" in d["host"][0]' "limits and what is done on the host"
	operations "plan --json" stage pivot landlock caps no-dump seccomp
	pinfold plan --json --dir "$W" --workdir /work --lang python -c 'print(1)'
	operations "a plan with --dir" stage overlay pivot seccomp
	check "it names the directory" grep -qF "$W" "$OUT"
	pinfold plan --memory lots -- true
	refuses invalid_argument --memory "a bad value"
	pinfold plan
	refuses invalid_argument COMMAND "no command"
	pinfold plan --name x -- true
	refuses invalid_argument --name "what a plan knows nothing of"
	pinfold plan --help
	check "and does not offer" test -z "$(grep -E -- '--(name|deps|apt) ' "$OUT")"
	pinfold plan --dir "$W/no-such" -- true
	refuses not_found --dir "a directory that is not there"
}

doctors()
{
	local strict

	pinfold doctor
	check "the status is 0 or 1" test "$RC" = 0 -o "$RC" = 1
	check "every line says whether it is so, or what would help" test -s "$OUT" -a -z \
		"$(grep -vE \
		'^(ok|no) +[a-z]|^ +-> .' "$OUT")"
	check "level strict" grep -qE '^(ok|no) +strict ' "$OUT"
	check "level landlock" grep -qE '^(ok|no) +landlock ' "$OUT"
	check "nothing on standard error" test ! -s "$ERR"
	strict=$RC
	pinfold doctor --json
	exits "$strict" "the same status with --json"
	check "its document" /usr/bin/python3 -I - "$OUT" "$RC" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert isinstance(d["version"], str)
		rows = {(c["kind"], c["name"]): c for c in d["checks"]}
		assert all(c["ok"] in (True, False) and c["message"] for c in d["checks"])
		assert all(c["ok"] or c["remedy"] for c in d["checks"])
		assert ("level", "strict") in rows and ("level", "landlock") in rows
		assert (sys.argv[2] == "0") == all(c["ok"] for c in d["checks"])
	END
	check "the way out is tried" grep -q '"name":"network policy","kind":"probe","ok":true' "$OUT"
	mkdir -p "$W/config" && printf short >"$W/config/vault.key" && chmod 0600 "$W/config/vault.key"
	own "$W/config" "$W/config/vault.key"
	CALL_ENV+=("PINFOLD_CONFIG=$W/config" "PINFOLD_RESOLVER=192.0.2.1:53")
	pinfold doctor
	check "a key that is none is said" grep -q '^no   key of secrets .*vault.key is no key' "$OUT"
	check "so is which name server" grep -q '^ok   name servers  *192.0.2.1:53, by PINFOLD_RESOLVER' "$OUT"
	CALL_ENV=()
	pinfold doctor extra
	refuses invalid_argument extra "one argument too many"
	# What doctor says is what a run finds.
	inside --limits strict -- true
	check "doctor and run agree" test "$RC" = $((strict == 0 ? 0 : 125))
}

checks()
{
	plans
	doctors
}

run_checks
