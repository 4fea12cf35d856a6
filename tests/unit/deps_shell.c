/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs a text for a shell starts. */
#include "deps/shell.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

static bool kind(const char *program, enum deps_lang *ret, bool *ret_takes)
{
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

	*ret_takes = strcmp(name, "npm") != 0;
	*ret = strncmp(name, "python3", 7) == 0 ? DEPS_PYTHON : DEPS_NODE;
	return *ret == DEPS_PYTHON || strcmp(name, "node") == 0 || !*ret_takes;
}

static const struct {
	const char *shell, *text, *file;
	int lang; /* -1: nothing of a language */
} rows[] = {
	{"python3 m.py", NULL, "m.py", DEPS_PYTHON},
	{"cd /work && python3 m.py --x | tee log", NULL, "m.py", DEPS_PYTHON},
	{"A=1 env B=2 timeout -k 5 10 /usr/bin/python3 -u m.py >out 2>&1", NULL, "m.py",
	 DEPS_PYTHON},
	{"python3 -c 'import x; print(\"a\")'", "import x; print(\"a\")\n", NULL, DEPS_PYTHON},
	{"python3 -c \"import x; print('\\$a')\"", "import x; print('$a')\n", NULL, DEPS_PYTHON},
	{"python3 -c $'import x\\nimport y'", "import x\nimport y\n", NULL, DEPS_PYTHON},
	{"python3 - <<'END'\nimport x\n  END\nEND\necho done", "import x\n  END\n\n", NULL,
	 DEPS_PYTHON},
	{"python3 <<-END\n\timport x\n\tEND\n", "import x\n\n", NULL, DEPS_PYTHON},
	{"python3 - a b <<END", NULL, NULL, DEPS_PYTHON},
	{"python3 - a b <<END\n", "\n", NULL, DEPS_PYTHON},
	{"python3 <<< 'import x'", "import x\n", NULL, DEPS_PYTHON},
	{"cat <<END | python3\nimport x\nEND", "import x\n\n", NULL, DEPS_PYTHON},
	{"cat > a.py <<'END'\nimport x\nEND\npython3 a.py", "import x\n\n", NULL, DEPS_PYTHON},
	{"tee a.py <<'END'\nimport x\nEND\npython3 a.py", "import x\n\n", NULL, DEPS_PYTHON},
	{"python3 -c 'import x'; python3 -c 'import y'; node -e 'z'", "import x\nimport y\n", NULL,
	 DEPS_PYTHON},
	{"python3 a.py; python3 b.py", NULL, NULL, DEPS_PYTHON},
	{"python3 -c 'import x'; python3 a.py", "import x\n", "a.py", DEPS_PYTHON},
	{"/usr/bin/env -i A=1 python3 -c 'import x'", "import x\n", NULL, DEPS_PYTHON},
	{"nice -n 5 stdbuf -oL timeout -k 1 5 python3 a.py", NULL, "a.py", DEPS_PYTHON},
	{"ls | xargs -n 1 python3 a.py", NULL, "a.py", DEPS_PYTHON},
	{"sudo -u me python3 a.py", NULL, "a.py", DEPS_PYTHON},
	{"echo 'import x' | python3", "import x\n", NULL, DEPS_PYTHON},
	{"echo -e 'import x\\nimport y' > a.py && python3 a.py", "import x\nimport y\n", NULL,
	 DEPS_PYTHON},
	{"echo 'import x' > a.py; echo 'import y' >> a.py; python3 a.py", "import x\nimport y\n",
	 NULL, DEPS_PYTHON},
	{"printf 'import x\\n' >a.py; python3 a.py", "import x\n\n", NULL, DEPS_PYTHON},
	{"printf '%s\\n' 'import x' 'import y' | python3 -", "import x\nimport y\n", NULL,
	 DEPS_PYTHON},
	{"echo 'import x' >> a.py; python3 a.py", "import x\n", "a.py", DEPS_PYTHON},
	{"echo 'import x' > b.py; python3 a.py", NULL, "a.py", DEPS_PYTHON},
	{"echo | python3 a.py", NULL, "a.py", DEPS_PYTHON},
	{"python3 -m http.server", "import http.server\n\n", NULL, DEPS_PYTHON},
	{"node --import tsx a.ts", "require(\"tsx\");\n\n", "a.ts", DEPS_NODE},
	{"x=$(node -p 1); echo $x", "1\n", NULL, DEPS_NODE},
	{"if true; then node a.js; fi", NULL, "a.js", DEPS_NODE},
	{"npm test", NULL, NULL, DEPS_NODE},
	{"echo python3 m.py # python3 n.py\n", NULL, NULL, -1},
	{"echo 'python3 m.py' \"; python3 x\"", NULL, NULL, -1},
	{"<<A <<B <<C", NULL, NULL, -1},
	{"python3 - <<A <<B\nx\nA\ny", "y\n\n", NULL, DEPS_PYTHON},
	{"'", NULL, NULL, -1},
	{"\\", NULL, NULL, -1},
	{"", NULL, NULL, -1},
};

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void all(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct deps_shell s;
		bool found = deps_shell(rows[i].shell, kind, &s);

		ok(found == (rows[i].lang >= 0) && (!found || (int)s.lang == rows[i].lang) &&
			   is_same(s.text, rows[i].text) && is_same(s.file, rows[i].file),
		   rows[i].shell);
		deps_shell_done(&s);
	}
}

static void words(void)
{
	const char *const c[] = {"-c", "x", NULL}, *const lc[] = {"-e", "-lc", "x", NULL},
			  *const file[] = {"x.sh", "-c", NULL}, *const none[] = {"-c", NULL};

	ok(is_same(deps_shell_text(c), "x") && is_same(deps_shell_text(lc), "x"), "sh -c TEXT");
	ok(!deps_shell_text(file) && !deps_shell_text(none), "sh FILE");
	ok(deps_is_shell("/bin/bash") && !deps_is_shell("bashful"), "a shell");
}

/* Every text that is cut off somewhere: no byte behind it is read, and none of ours overwritten. */
static void cut(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t n = strlen(rows[i].shell); n > 0; n--) {
			char *text = strndup(rows[i].shell, n);
			struct deps_shell s;

			(void)deps_shell(text, kind, &s);
			deps_shell_done(&s);
			free(text);
		}
	ok(true, "texts that are cut off");
}

int main(void)
{
	TAP_RUN(all);
	TAP_RUN(words);
	TAP_RUN(cut);
	return tap_done();
}
