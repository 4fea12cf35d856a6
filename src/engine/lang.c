/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs given as text. Short code goes on the interpreter's command line, so that the working
 * directory is where modules are found, as the user of `python3 -c` expects; a file or long code
 * goes to /run/code, which is no part of the layer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/run_int.h"

#define INLINE_MAX 65536u /* the kernel takes 128 KiB for one argument */

static const struct lang {
	const char *name;
	const char *program[2]; /* the first that is on the host */
	const char *inline_flag;
	const char *file;
	const char *package;
	enum sandbox_driver driver; /* that waits for such programs */
	const char *shapes[4]; /* variables that it reads when it starts: what they begin with */
} langs[] = {
	{"python",
	 {"/usr/bin/python3", NULL},
	 "-c",
	 "main.py",
	 "python3",
	 DRIVER_PYTHON,
	 {"PYTHON", "VIRTUAL_ENV"}},
	{"node",
	 {"/usr/bin/node", "/usr/bin/nodejs"},
	 "-e",
	 "main.js",
	 "nodejs",
	 DRIVER_NODE,
	 {"NODE", "UV_", "ICU_", "TZ="}},
	{"bash", {"/usr/bin/bash", "/bin/bash"}, "-c", "main.sh", "bash", DRIVER_NONE, {NULL}},
	{"r",
	 {"/usr/bin/Rscript", NULL},
	 "-e",
	 "main.R",
	 "r-base-core",
	 DRIVER_R,
	 {"R_", "TZ=", "TMP", "TEMP"}},
};

static const struct lang *find(const char *name)
{
	for (size_t i = 0; i < sizeof(langs) / sizeof(langs[0]); i++)
		if (strcmp(langs[i].name, name) == 0)
			return &langs[i];
	return NULL;
}

/* NULL: on the host. */
static const char *find_program(struct request *r, const struct lang *lang)
{
	for (int i = 0; i < 2 && lang->program[i]; i++) {
		const char *path = lang->program[i];

		if (r && spec_on_image(&r->spec))
			path = request_keep(r, request_image_program(r, strrchr(path, '/') + 1));
		else if (access(path, X_OK) < 0)
			path = NULL;
		if (path)
			return path;
	}
	return NULL;
}

static int refuse_without(const struct request *r, const struct lang *lang, struct err *e)
{
	bool image = r && spec_on_image(&r->spec);

	(void)err_set(e, ERR_MISSING, "%s is not %s",
		      image ? strrchr(lang->program[0], '/') + 1 : lang->program[0],
		      image ? "in this image" : "installed on this host");
	(void)err_detail(e, "interpreter");
	return image ? err_remedy(e, "take an image that has it in its PATH")
		     : err_remedy(e, "install the package %s", lang->package);
}

static int check_name(const char *name, struct err *e)
{
	size_t n = strlen(name);

	if (n == 0 || n > 200 || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return err_set(e, ERR_INVALID, "FILE: \"%.80s\" cannot be a program's name inside",
			       name),
		       err_remedy(e, "use a name of at most 200 bytes, without a slash");
	return 0;
}

/* The text as a file; returns its path inside. */
static char *as_file(struct request *r, const struct lang *lang,
		     const struct pinfold_run_options *o, struct err *e)
{
	const char *name = o->code_name ? o->code_name : lang->file;
	char *path = NULL;

	if (check_name(name, e) < 0)
		return NULL;
	r->spec.code_name = request_keep(r, strdup(name));
	r->spec.code = o->code;
	r->spec.code_len = o->code_len;
	if (asprintf(&path, "/run/code/%s", name) < 0)
		path = NULL;
	char *kept = (char *)(uintptr_t)request_keep(r, path);
	if (!kept || !r->spec.code_name)
		(void)err_set(e, ERR_INTERNAL, "out of memory");
	return kept;
}

/* An interpreter that waits was started without these; who sets one means it. */
static bool shapes_start(const struct lang *lang, const char *entry)
{
	static const char *const prefixes[] = {"LC_",	  "LANG",  "LD_",      "GLIBC_",
					       "MALLOC_", "OMP_",  "OPENBLAS", "MKL_",
					       "OPENSSL", "HOME=", "PATH="};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	for (size_t i = 0; i < 4 && lang->shapes[i]; i++)
		if (strncmp(entry, lang->shapes[i], strlen(lang->shapes[i])) == 0)
			return true;
	return false;
}

/* Which interpreter that waits the program can be given to. */
static enum sandbox_driver suits(const struct lang *lang, const struct pinfold_run_options *o,
				 bool text)
{
	if ((o->flags & PINFOLD_PTY) || (lang->driver == DRIVER_R && o->code_len == 0))
		return DRIVER_NONE; /* what waits there evaluates a text */
	for (unsigned i = 0; o->env && o->env[i]; i++)
		if (shapes_start(lang, o->env[i]))
			return DRIVER_NONE;
	/* node looks for what is imported by a text from where it was started. */
	if (text && lang->driver == DRIVER_NODE && memmem(o->code, o->code_len, "import", 6))
		return DRIVER_NONE;
	/* R takes some options behind the text of a program for its own. */
	for (unsigned i = 0; text && lang->driver == DRIVER_R && o->argv && o->argv[i]; i++)
		if (o->argv[i][0] == '-')
			return DRIVER_NONE;
	return lang->driver;
}

int lang_program(const char *name, const char **ret, struct err *e)
{
	const struct lang *lang = find(name);
	const char *program = find_program(NULL, lang);

	if (!program)
		return refuse_without(NULL, lang, e);
	*ret = program;
	return 0;
}

/* R's front end is a script of the shell: it takes a tab in what stands behind -e for the end of it,
 * wants something to stand there, and takes an argument -e for more of the program. */
static bool is_split(const struct lang *lang, const struct pinfold_run_options *o)
{
	if (lang->driver != DRIVER_R)
		return false;
	for (unsigned i = 0; o->argv && o->argv[i]; i++)
		if (strcmp(o->argv[i], "-e") == 0)
			return true;
	return o->code_len == 0 || memchr(o->code, '\t', o->code_len);
}

/* What stands where a program's name would, before its arguments: bash takes the first for $0, node
 * for the script, so that process.argv.slice(2) would lack it. */
static const char *name_of_text(const struct lang *lang, const struct pinfold_run_options *o)
{
	if (!o->argv || !o->argv[0])
		return NULL;
	return lang->driver == DRIVER_NODE ? "-" : strcmp(lang->name, "bash") == 0 ? "bash" : NULL;
}

/* A program that is there already, as the first argument. */
static int check_file(const struct pinfold_run_options *o, struct err *e)
{
	const char *file = o->argv ? o->argv[0] : NULL;

	if (!file || !file[0])
		return err_set(e, ERR_INVALID, "--lang %s needs -c CODE, a FILE or -", o->lang),
		       err_remedy(e, "give the program: -c CODE, a FILE, or - for standard input");
	if (file[0] != '-')
		return 0;
	(void)err_set(e, ERR_INVALID, "FILE: %.200s would be an option", file);
	return err_remedy(e, "write ./%.200s", file);
}

int request_lang(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	const struct lang *lang = find(o->lang);
	unsigned n = 0, more = 0;

	if (!lang) {
		(void)err_set(e, ERR_INVALID, "--lang: unknown language \"%s\"", o->lang);
		return err_remedy(e, "use python, node, bash or r");
	}
	int bad = o->code ? 0 : check_file(o, e);
	if (bad < 0)
		return bad;
	const char *program = find_program(r, lang);
	if (!program)
		return refuse_without(r, lang, e);
	while (o->argv && o->argv[more])
		more++;
	char **argv = more <= REQUEST_ARGS ? r->argv : calloc(more + 5, sizeof(*argv));
	if (!argv)
		return err_set(e, ERR_INTERNAL, "out of memory");
	if (argv != r->argv)
		(void)request_keep(r, (char *)argv);
	argv[n++] = (char *)(uintptr_t)program;
	bool text = o->code && !o->code_name && o->code_len <= INLINE_MAX &&
		    !memchr(o->code, 0, o->code_len) && !is_split(lang, o);
	if (o->code && !spec_on_image(&r->spec))
		r->spec.driver = suits(lang, o, text);
	if (text) {
		char *code = strndup(o->code, o->code_len);

		argv[n++] = (char *)(uintptr_t)lang->inline_flag;
		argv[n++] = (char *)(uintptr_t)request_keep(r, code);
		if (!code)
			return err_set(e, ERR_INTERNAL, "out of memory");
		argv[n] = (char *)(uintptr_t)name_of_text(lang, o);
		n += argv[n] != NULL;
	} else if (o->code) {
		argv[n] = as_file(r, lang, o, e);
		if (!argv[n++])
			return -EINVAL;
	}
	for (unsigned i = 0; i < more; i++)
		argv[n++] = (char *)(uintptr_t)o->argv[i];
	argv[n] = NULL;
	r->spec.argv = (const char *const *)argv;
	return 0;
}
