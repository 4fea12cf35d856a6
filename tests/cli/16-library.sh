#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# libpinfold: the header is plain C99 and C++, the example works, the header's promises hold.
. "$(dirname "$0")/../lib/cli.sh"

include=$PROJECT_DIR/include
warn=(-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Werror)

header()
{
	echo '#include <pinfold/pinfold.h>' >"$M/header.c"
	check "the header compiles alone, as C99" cc -std=c99 "${warn[@]}" -I"$include" \
		-fsyntax-only \
		"$M/header.c"
	check "and twice" cc -std=c99 "${warn[@]}" -I"$include" -fsyntax-only \
		-include pinfold/pinfold.h "$M/header.c"
	needs g++ "the header as C++" || return
	cat >"$M/header.cc" <<-'END'
		#include <pinfold/pinfold.h>
		int main()
		{
			pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
			pinfold_run *run = nullptr;
			pinfold_error e;
			return pinfold_run_start(&o, &run, &e) == -1 && *pinfold_version() ? 0 : 1;
		}
	END
	check "the header as C++11" g++ -std=c++11 -Wall -Wpedantic -Werror -I"$include" -o \
		"$M/cplusplus" \
		"$M/header.cc" "${LINK[@]}"
	check "a C++ program links and runs" env "PINFOLD_HOME=$W/home" "PINFOLD_SOCKET=$W/none" "$M/cplusplus"
	check "the library has no other names than its own" test -z \
		"$(nm -g --defined-only "${LINK[0]}" |
		awk 'NF == 3 && $3 !~ /^pinfold_/')"
}

# example ARG...: runs it as `pinfold` runs the binary.
example()
{
	PINFOLD_COPY=$M/example pinfold "$@"
}

examples()
{
	local lines

	lines=$(sed 's,/\*.*\*/,,; /^ *\/\*/,/\*\//d' "$PROJECT_DIR/examples/run.c" |
		grep -c '[^[:space:]]')
	check "the example has at most 40 lines of code ($lines)" test "$lines" -le 40
	check "the example compiles" cc -std=c99 "${warn[@]}" -I"$include" -o "$M/example" \
		"$PROJECT_DIR/examples/run.c" "${LINK[@]}"
	example sh -c 'echo out; echo err >&2; exit 5'
	exits 5 "the example ends like its command"
	check "its output came first" test "$(head -1 "$OUT")" = out
	check "both streams" grep -qx err "$ERR"
	sed -i 1d "$OUT"
	document "the example"
	json_is '["out\n", "err\n"]' '[d["stdout"]["text"], d["stderr"]["text"]]' \
		"the example's document"
	example no-such-command
	exits 127 "a command that is not found"
	example
	exits 125 "no command"
}

promises()
{
	local word name

	check "library.c compiles" cc -std=gnu11 "${warn[@]}" -I"$include" -o "$M/library" \
		"$TEST_DIR/library.c" "${LINK[@]}"
	PINFOLD_COPY=$M/library pinfold
	exits 0 "library.c ran"
	while read -r word name; do
		case $word in
		ok) ok "$name [$MODE]" ;;
		not) not_ok "${name#ok } [$MODE]" ;;
		'#') diag "$name" ;;
		done) ok "library.c came to its end [$MODE]" ;;
		esac
	done <"$OUT"
	check "all promises were tried" grep -qx 'done' "$OUT"
}

checks()
{
	find_library
	header
	examples
	promises
}

run_checks
