#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: env, caller-env, ref-naive
#
# Variables that make the dynamic linker, the C library or a shell load code: a caller may set them
# for the command, and there they work. No process of ours, on the host or inside, may see them.
. "$(dirname "$0")/../lib/escape.sh"

claim "A15 variables that load code reach the command only"

attack()
{
	mkdir -p "$M/pwned"
	chmod 0777 "$M/pwned"
	if ! cc -shared -fPIC -O1 -DMARK="\"$M/pwned/mark\"" -o "$BIN/evil.so" "$CASE_STEM.c"; then
		fell CRASH "cannot compile the library"
		return
	fi
	printf 'echo "bash_env ran in $$"; echo x >>"%s"\n' "$M/pwned/mark" >"$BIN/rc"
	chmod 0755 "$BIN"/*
	# By its path on the host, which does not exist inside: only host code could load it.
	inside --env "LD_PRELOAD=$BIN/evil.so" --env "LD_LIBRARY_PATH=$BIN" --env "BASH_ENV=$BIN/rc" \
		--env "GCONV_PATH=$BIN" --env "PYTHONSTARTUP=$BIN/rc" --env "LD_AUDIT=$BIN/evil.so" \
		--env PATH=/usr/bin:/bin --dir "$BIN" -- env
	ran
	same "the command gets them as they are" \
		"$(grep -cE "^(LD_PRELOAD|LD_LIBRARY_PATH|BASH_ENV|GCONV_PATH|PYTHONSTARTUP|LD_AUDIT)=$BIN" \
			"$OUT")" 6
	# By its path inside: the command loads it, and PID 1 does not.
	inside --env LD_PRELOAD=/work/evil.so --dir "$BIN" -- /usr/bin/true
	ran
	same "who loaded it inside" "$(grep -c 'loaded by' "$ERR")" 1
	same "PID 1 loaded it" "$(grep -cx 'loaded by 1' "$ERR")" 0
	inside --env PATH=.:/work --dir "$BIN" --workdir /work -- rc
	KIND=ESCAPE same "what ran on the host" "$(cat "$M/pwned/mark" 2>/dev/null)" ""

	# The same variables around pinfold itself: its caller's business, but never the sandbox's.
	INSIDE_ENV=("LD_PRELOAD_CANARY=$CANARY_ENV_VALUE" "BASH_ENV=$BIN/rc" "PYTHONSTARTUP=$BIN/rc")
	inside --dir "$BIN" -- bash -c 'env; true'
	INSIDE_ENV=()
	ran
	absent "a variable of the caller" BASH_ENV
	absent "a variable of the caller" PYTHONSTARTUP

	[ "$EUID" = 0 ] || return 0
	inside_start SLEEPER --env LD_PRELOAD=/work/evil.so --env SEEN=1 --dir "$BIN" -- tail -f /dev/null
	guest_of SLEEPER || return
	same "environment of PID 1" "$(tr '\0' ' ' <"/proc/$GUEST/environ")" ""
	absent "PID 1 maps the library" evil.so "/proc/$GUEST/maps"
	sandbox_end SLEEPER
}

run_case
