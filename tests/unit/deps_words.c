/* SPDX-License-Identifier: Apache-2.0 */
/* Which program an interpreter's command line starts. */
#include "deps/words.h"

#include <string.h>

#include "tap.h"

#define WORDS(...)                                                                                 \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static const struct {
	enum deps_lang lang;
	const char *words[6];
	const char *text, *file;
} rows[] = {
	{DEPS_PYTHON, WORDS("m.py", "-c", "x"), NULL, "m.py"},
	{DEPS_PYTHON, WORDS("-u", "m.py"), NULL, "m.py"},
	{DEPS_PYTHON, WORDS("-W", "ignore", "m.py"), NULL, "m.py"},
	{DEPS_PYTHON, WORDS("-Wignore", "tool"), NULL, "tool"},
	{DEPS_PYTHON, WORDS("-X", "dev", "-B", "m.py"), NULL, "m.py"},
	{DEPS_PYTHON, WORDS("-c", "import x"), "import x", NULL},
	{DEPS_PYTHON, WORDS("-uc", "import x"), "import x", NULL},
	{DEPS_PYTHON, WORDS("-Ic", "import x", "m.py"), "import x", NULL},
	{DEPS_PYTHON, WORDS("-cimport x"), "import x", NULL},
	{DEPS_PYTHON, WORDS("-c"), NULL, NULL},
	{DEPS_PYTHON, WORDS("-m", "pytest", "m.py"), NULL, NULL},
	{DEPS_PYTHON, WORDS("-um", "pytest"), NULL, NULL},
	{DEPS_PYTHON, WORDS("-mpytest"), NULL, NULL},
	{DEPS_PYTHON, WORDS("-"), NULL, NULL},
	{DEPS_PYTHON, WORDS("--", "m.py"), NULL, "m.py"},
	{DEPS_PYTHON, WORDS("--check-hash-based-pycs", "always", "m.py"), NULL, "m.py"},
	{DEPS_NODE, WORDS("f.js"), NULL, "f.js"},
	{DEPS_NODE, WORDS("-pe", "1"), "1", NULL},
	{DEPS_NODE, WORDS("-p", "1"), "1", NULL},
	{DEPS_NODE, WORDS("--eval=1"), "1", NULL},
	{DEPS_NODE, WORDS("--import", "tsx", "f.ts"), NULL, "f.ts"},
	{DEPS_NODE, WORDS("--import=tsx", "f"), NULL, "f"},
	{DEPS_NODE, WORDS("-r", "dotenv/config", "f"), NULL, "f"},
	{DEPS_NODE, WORDS("--no-warnings", "f.mjs"), NULL, "f.mjs"},
	{DEPS_NODE, WORDS("--what-is-this", "value", "f.mjs"), NULL, NULL},
	{DEPS_NODE, WORDS("--max-old-space-size=100", "f"), NULL, "f"},
	{DEPS_R, WORDS("--vanilla", "a.R"), NULL, "a.R"},
	{DEPS_R, WORDS("-e", "library(x)"), "library(x)", NULL},
};

static void modules(void)
{
	static const struct {
		enum deps_lang lang;
		const char *words[6], *import;
	} asked[] = {
		{DEPS_PYTHON, WORDS("-m", "pytest", "m.py"), "import pytest\n"},
		{DEPS_PYTHON, WORDS("-um", "a.b"), "import a.b\n"},
		{DEPS_PYTHON, WORDS("-mpytest"), "import pytest\n"},
		{DEPS_PYTHON, WORDS("-m"), ""},
		{DEPS_PYTHON, WORDS("-m", "a;b"), ""},
		{DEPS_PYTHON, WORDS("m.py", "-m", "x"), ""},
		{DEPS_NODE, WORDS("--import", "tsx", "f.ts"), "require(\"tsx\");\n"},
		{DEPS_NODE, WORDS("--import=@a/b/c", "f.ts"), "require(\"@a/b/c\");\n"},
		{DEPS_NODE, WORDS("-r", "dotenv/config", "-e", "1"),
		 "require(\"dotenv/config\");\n"},
		{DEPS_NODE, WORDS("-r", "./x.js", "f"), ""},
		{DEPS_NODE, WORDS("--conditions", "x", "f"), ""},
	};

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const char *module = deps_words(asked[i].lang, asked[i].words).module;
		char got[DEPS_IMPORT_SIZE] = "";

		if (!module || !deps_words_import(asked[i].lang, module, got))
			got[0] = '\0';
		is_str(got, asked[i].import, asked[i].words[0]);
	}
}

static void words(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct deps_words w = deps_words(rows[i].lang, rows[i].words);

		is_str(w.text ? w.text : "-", rows[i].text ? rows[i].text : "-", rows[i].words[0]);
		is_str(w.file ? w.file : "-", rows[i].file ? rows[i].file : "-", rows[i].words[0]);
	}
}

int main(void)
{
	TAP_RUN(words);
	TAP_RUN(modules);
	return tap_done();
}
