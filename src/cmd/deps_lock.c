/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold deps, but for scan: the lock of a directory, and the layers that there are. */
#include "cmd/deps.h"

#include <fcntl.h>
#include <limits.h>
#include <ctype.h>
#include <pinfold/deps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "base/value.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

#define LOCK_NAME "pinfold.lock"
#define LOCK_BYTES_MAX (4u << 20)
#define UNUSED_MS (UINT64_C(30) * 24 * 3600 * 1000)

static const char *path_of(const struct request *r)
{
	return r->lock_file ? r->lock_file : LOCK_NAME;
}

/* *ret is NULL where there is none. */
static int read_file(const char *path, char **ret, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;

	*ret = NULL;
	if (fd < 0 && errno == ENOENT)
		return 0;
	char *text = fd < 0 ? NULL : calloc(1, LOCK_BYTES_MAX + 2);
	if (!text)
		return err_sys(e, "%s", path);
	int r = fd_read_max(fd, text, LOCK_BYTES_MAX + 1, &len);
	if (r >= 0 && len <= LOCK_BYTES_MAX && !memchr(text, '\0', len)) {
		*ret = text;
		return 0;
	}
	free(text);
	errno = -r;
	return r < 0 ? err_sys(e, "%s", path) : err_set(e, ERR_INVALID, "%s: not a lock", path);
}

/* Whole or not at all: it is made beside the old one. */
static int write_file(const char *path, const char *text, struct err *e)
{
	auto_free char *made = NULL;

	if (asprintf(&made, "%s.new", path) < 0)
		return err_sys(e, "%s", path);
	(void)unlink(made); /* of one who did not come to the end */
	auto_close int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
	if (r >= 0 && rename(made, path) < 0)
		r = -errno;
	if (r >= 0)
		return 0;
	(void)unlink(made); /* so that nothing is left */
	errno = -r;
	return err_sys(e, "write %s", path);
}

/* Of a directory, or of a workspace. False: it was said why not. */
static bool read_lock(const struct request *r, char **ret)
{
	struct pinfold_error failure;
	struct err e = ERR_INIT;

	if (r->run.name && pinfold_deps_read(r->run.name, ret, &failure) < 0)
		(void)say_library_failure(&failure, r->json);
	else if (!r->run.name && read_file(path_of(r), ret, &e) < 0)
		(void)say_failure(&e, r->json);
	else
		return true;
	return false;
}

static bool write_lock(const struct request *r, const char *text)
{
	struct pinfold_error failure;
	struct err e = ERR_INIT;

	if (r->run.name && pinfold_deps_write(r->run.name, text, &failure) < 0)
		(void)say_library_failure(&failure, r->json);
	else if (!r->run.name && write_file(path_of(r), text, &e) < 0)
		(void)say_failure(&e, r->json);
	else
		return true;
	return false;
}

static const char *text_of(const struct value *v, const char *key)
{
	const char *s = value_str(value_get(v, key));

	return s ? s : "";
}

/* Names as the index compares them: ruamel.yaml is ruamel-yaml. */
static bool is_same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		bool joint = strchr("-_.", *a) && strchr("-_.", *b);

		if (!joint && tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
	}
	return *a == *b;
}

/* Who asked for it: a program, a person or a manifest, or another package. */
static void reason_of(const struct value *part, const struct value *p, char *to, size_t size)
{
	const struct value *imports = value_get(part, "imports"), *by = value_get(p, "needed_by");
	const char *name = text_of(p, "name");

	(void)snprintf(to, size, "asked for");
	for (size_t i = 0; i < value_len(imports); i++) {
		const struct value *row = value_at(imports, i);

		const char *import = value_str(value_get(row, "import"));
		const char *how = value_str(value_get(row, "how"));

		if (is_same_name(text_of(row, "package"), name))
			(void)snprintf(to, size, "%.200s:%lld%s%.100s", text_of(row, "file"),
				       (long long)value_int(value_get(row, "line")),
				       how	? " "
				       : import ? " import "
						: "",
				       how	? how
				       : import ? import
						: "");
	}
	if (value_len(by) && !value_true(value_get(p, "requested")))
		(void)snprintf(to, size, "for %.200s%s", value_str(value_at(by, 0)),
			       value_len(by) > 1 ? " and others" : "");
}

static void print_part(const struct value *part)
{
	const struct value *list = value_get(part, "packages");
	char line[1024], size[24], why[400];

	for (size_t i = 0; i < value_len(list); i++) {
		const struct value *p = value_at(list, i);

		reason_of(part, p, why, sizeof(why));
		(void)snprintf(line, sizeof(line), "%-28.100s %-12.60s %7s  %-30.200s %s",
			       text_of(p, "name"), text_of(p, "version"),
			       show_size((uint64_t)value_int(value_get(p, "size")), size,
					 sizeof(size)),
			       why, text_of(p, "url"));
		show_text(line);
	}
}

static int print_lock(const char *text)
{
	auto_value *lock = NULL;
	struct err e = ERR_INIT;

	if (value_parse(text, strlen(text), &lock, &e) < 0)
		return say_failure(&e, false);
	for (const char *k = value_next_key(lock, NULL); k; k = value_next_key(lock, k))
		if (value_kind(value_get(lock, k)) == VALUE_OBJECT)
			print_part(value_get(lock, k));
	return help_flush();
}

static int say_document(const char *text)
{
	return printf("%s\n", text) < 0 ? EXIT_PINFOLD : help_flush();
}

static int refuse_none(const struct request *r)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_MISSING, "there is no %s%s%s", path_of(r),
		      r->run.name ? " in workspace " : "", r->run.name ? r->run.name : "");
	(void)err_remedy(&e, r->run.name
				     ? "a command with --deps auto makes one, or pinfold deps add"
				     : "make one with pinfold deps add NAME..., or name one with "
				       "--lock or a workspace with --name");
	return say_failure(&e, r->json);
}

/* false: there is none, which was said; *ret_status is what to end with. */
static bool need_lock(struct request *r, char **ret, int *ret_status)
{
	if (!read_lock(r, ret))
		*ret_status = EXIT_PINFOLD;
	else if (!*ret)
		*ret_status = refuse_none(r);
	return *ret;
}

int deps_show(struct request *r)
{
	auto_free char *lock = NULL, *text = NULL;
	struct pinfold_error failure;
	int status = 0;

	if (!need_lock(r, &lock, &status))
		return status;
	if (pinfold_deps_print(lock, r->sbom, &text, &failure) < 0)
		return say_library_failure(&failure, r->json);
	return r->sbom || r->json ? say_document(text) : print_lock(text);
}

static int refuse_both(const struct request *r)
{
	struct err e = ERR_INIT;

	(void)err_set(
		&e, ERR_INVALID,
		"--only-binary and --ignore-scripts forbid what --source and --scripts allow");
	(void)err_remedy(&e, "leave one of the two out");
	return say_failure(&e, r->json);
}

static int change(struct request *r, struct pinfold_deps_change *c)
{
	auto_free char *old = NULL, *text = NULL;
	struct pinfold_error failure;

	if (r->source && r->only_binary)
		return refuse_both(r);
	c->size = sizeof(*c);
	c->lang = r->run.lang;
	c->flags |= (r->source ? PINFOLD_DEPS_SOURCE : 0) | (r->yes ? PINFOLD_DEPS_YES : 0);
	c->age_hours = r->age_hours == UINT64_MAX ? -1
		       : r->age_hours > INT_MAX	  ? INT_MAX
						  : (int)r->age_hours;
	if (!read_lock(r, &old))
		return EXIT_PINFOLD;
	if (!old && !c->add)
		return refuse_none(r);
	if (pinfold_deps_lock(old, c, &text, &failure) < 0)
		return say_library_failure(&failure, r->json);
	if (!write_lock(r, text))
		return EXIT_PINFOLD;
	return r->json ? deps_show(r) : print_lock(text);
}

static int refuse_nameless(const char *verb, bool json)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INVALID, "deps %s: the names of packages are missing", verb);
	(void)err_remedy(&e, "pinfold deps %s NAME...", verb);
	return say_failure(&e, json);
}

int deps_add(struct request *r, const char *const *names)
{
	struct pinfold_deps_change c = {.add = names};

	return names[0] ? change(r, &c) : refuse_nameless("add", r->json);
}

int deps_rm(struct request *r, const char *const *names)
{
	struct pinfold_deps_change c = {.remove = names};

	return names[0] ? change(r, &c) : refuse_nameless("rm", r->json);
}

int deps_update(struct request *r, const char *const *names)
{
	struct pinfold_deps_change c = {.flags = PINFOLD_DEPS_UPDATE,
					.update = names[0] ? names : NULL};

	return change(r, &c);
}

int deps_fetch(struct request *r)
{
	auto_free char *lock = NULL;
	struct pinfold_error failure;
	int status = 0;

	if (!need_lock(r, &lock, &status))
		return status;
	if (pinfold_deps_fetch(lock, r->offline ? PINFOLD_DEPS_OFFLINE : 0, &failure) < 0)
		return say_library_failure(&failure, r->json);
	return 0;
}

static void print_set(const struct value *v)
{
	const struct value *list = value_get(v, "packages");
	char line[1024], size[24];
	int n = snprintf(line, sizeof(line), "%.12s  %-7s %7s ", text_of(v, "key"),
			 text_of(v, "language"),
			 show_size((uint64_t)value_int(value_get(v, "bytes")), size, sizeof(size)));

	for (size_t i = 0; i < value_len(list) && n < 900; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %.60s %.30s",
			      text_of(value_at(list, i), "name"),
			      text_of(value_at(list, i), "version"));
	show_text(line);
}

int deps_ls(struct request *r)
{
	auto_free char *text = NULL;
	auto_value *doc = NULL;
	struct pinfold_error failure;
	struct err e = ERR_INIT;

	if (pinfold_deps_list(&text, &failure) < 0)
		return say_library_failure(&failure, r->json);
	if (r->json)
		return say_document(text);
	if (value_parse(text, strlen(text), &doc, &e) < 0)
		return say_failure(&e, false);
	for (size_t i = 0; i < value_len(value_get(doc, "items")); i++)
		print_set(value_at(value_get(doc, "items"), i));
	return help_flush();
}

int deps_gc(struct request *r)
{
	struct pinfold_error failure;
	uint64_t layers = 0, files = 0;

	if (pinfold_deps_collect(r->all ? 0 : UNUSED_MS, &layers, &files, &failure) < 0)
		return say_library_failure(&failure, r->json);
	if (r->json)
		printf("{\"layers\":%llu,\"files\":%llu}\n", (unsigned long long)layers,
		       (unsigned long long)files);
	else
		printf("%llu layers, %llu downloads\n", (unsigned long long)layers,
		       (unsigned long long)files);
	return help_flush();
}

int deps_hold(struct request *r)
{
	auto_close int fd = FD_NONE;
	auto_free char *json = NULL;
	struct pinfold_error failure;
	struct err e = ERR_INIT;

	if (r->code_fd && request_program(r, 0, NULL, &e) < 0)
		return say_failure(&e, r->json);
	if (pinfold_deps_hold(&r->run, &fd, &json, &failure) < 0)
		return say_library_failure(&failure, r->json);
	int sent = fd < 0 ? 0 : passfd_send((int)r->hold_fd, "", 1, &fd, 1);
	if (sent < 0) {
		errno = -sent;
		(void)err_sys(&e, "--hold-fd");
		return say_failure(&e, r->json);
	}
	printf("%s\n", json);
	return help_flush();
}
