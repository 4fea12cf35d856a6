/* SPDX-License-Identifier: Apache-2.0 */
/* Which package has a command. */
#include "deps/command.h"

#include <string.h>

#include "tap.h"

#define WORDS(...)                                                                                 \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static const struct {
	const char *words[6];
	const char *module; /* NULL: nobody's */
	const char *rest;   /* the next word, where it takes a program */
} rows[] = {
	{WORDS("pytest", "-q"), "pytest", NULL},
	{WORDS("yt-dlp", "x"), "yt_dlp", NULL},
	{WORDS("tsx", "a.ts"), "tsx", "a.ts"},
	{WORDS("npx", "tsx", "a.ts"), "tsx", "a.ts"},
	{WORDS("npx", "-y", "tsc", "--noEmit"), "typescript", NULL},
	{WORDS("npx", "cowsay@1.5.0", "moo"), "cowsay", NULL},
	{WORDS("npx", "@biomejs/biome@1", "check"), "@biomejs/biome", NULL},
	{WORDS("npx", "-p", "typescript", "tsc"), "typescript", NULL},
	{WORDS("npx", "--package=ts-node", "ts-node", "a.ts"), "ts-node", "a.ts"},
	{WORDS("npx", "pytest"), NULL, NULL},
	{WORDS("npx", "-c", "x"), NULL, NULL},
	{WORDS("npx", "-p"), NULL, NULL},
	{WORDS("npx", "../x"), NULL, NULL},
	{WORDS("npx"), NULL, NULL},
	{WORDS("make"), NULL, NULL},
	{WORDS("./pytest"), NULL, NULL},
};

static void commands(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct deps_command c = {.takes = false};
		bool found = deps_command(rows[i].words, &c);

		is_str(found ? c.module : NULL, rows[i].module, rows[i].words[0]);
		is_str(found && c.takes ? c.rest[0] : NULL, rows[i].rest, "its program");
	}
}

/* They are searched as sorted. */
static void sorted(void)
{
#define COMMAND(name, lang, module, takes) name,
	static const char *const names[] = {
#include "deps/command_names.def"
	};
#undef COMMAND

	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		ok(strcmp(names[i - 1], names[i]) < 0, names[i]);
}

int main(void)
{
	TAP_RUN(commands);
	TAP_RUN(sorted);
	return tap_done();
}
