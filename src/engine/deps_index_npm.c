/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm's registry, and those of scopes: what the driver is told is {"url": "...", "scopes":
 * {"@scope": "..."}}. The .npmrc of a project is not read: an agent may have written it.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "egress/preset.h"
#include "egress/source.h"
#include "engine/deps_index_int.h"

#define FILES_MAX 4u
#define SCOPES_MAX 16u
#define SCOPE_SIZE 128

/* Texts of npm's configuration, the most special first. */
struct config {
	char *text[FILES_MAX];
	unsigned n;
};

static void config_done(struct config *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->text[i]);
}

static void read_file(struct config *c, const char *path)
{
	struct err none = ERR_INIT; /* one that is not there, or not for us to read, says nothing */
	size_t len = 0;

	if (path && path[0] == '/' && c->n < FILES_MAX &&
	    source_read(AT_FDCWD, path, SOURCE_ANYBODY, &c->text[c->n], &len, &none) >= 0)
		c->n++;
}

static void read_config(struct config *c)
{
	const char *user = getenv("NPM_CONFIG_USERCONFIG"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (!user)
		user = getenv("npm_config_userconfig");
	if (!user && home && snprintf(path, sizeof(path), "%s/.npmrc", home) < PATH_MAX)
		user = path;
	read_file(c, user);
	read_file(c, "/usr/etc/npmrc");
	read_file(c, "/usr/local/etc/npmrc");
	read_file(c, "/etc/npmrc");
}

/* A registry's URL ends with a slash: names are put behind it. */
static void set_url(struct value *to, const char *key, const char *url)
{
	char text[INDEX_URL_SIZE + 1];
	size_t n = strcspn(url, "\"'?#");

	(void)snprintf(text, sizeof(text), "%.*s%s", (int)n, url,
		       n && url[n - 1] == '/' ? "" : "/");
	value_set(to, key, value_of_str(text));
}

static int allow(const char *url, struct value *rules, struct err *e)
{
	struct name host;
	bool is_tls = false;

	return index_allow_url(rules, url, "name another in npm's configuration (registry)", &host,
			       &is_tls, e);
}

static int find_main(const struct config *c, struct value *doc, struct value *rules, struct err *e)
{
	auto_free struct index_urls *urls = calloc(1, sizeof(*urls));
	struct preset_default npm;

	if (!urls)
		return err_sys(e, "deps");
	index_from_variable("npm_config_registry", urls);
	index_from_variable("NPM_CONFIG_REGISTRY", urls);
	for (unsigned i = 0; i < c->n && !urls->n; i++)
		(void)preset_npm_scope(c->text[i], NULL, index_take_url, urls);
	if (!urls->n) {
		int r = preset_npm_default(&npm, e);

		if (r < 0)
			return r;
		(void)index_take_url(npm.index, strlen(npm.index), urls);
	}
	if (!urls->n)
		return err_set(e, ERR_INVALID, "npm's configuration names no registry");
	set_url(doc, "url", urls->list[0]);
	return allow(value_str(value_get(doc, "url")), rules, e);
}

struct scopes {
	char name[SCOPES_MAX][SCOPE_SIZE];
	unsigned n;
};

static int take_scope(const char *name, size_t len, void *arg)
{
	struct scopes *s = arg;

	if (s->n >= SCOPES_MAX || len >= SCOPE_SIZE)
		return 0;
	(void)snprintf(s->name[s->n++], SCOPE_SIZE, "%.*s", (int)len, name);
	return 0;
}

static int find_scope(const struct config *c, const char *scope, struct value *to,
		      struct value *rules, struct err *e)
{
	auto_free struct index_urls *urls = calloc(1, sizeof(*urls));

	if (!urls)
		return err_sys(e, "deps");
	for (unsigned i = 0; i < c->n && !urls->n; i++)
		(void)preset_npm_scope(c->text[i], scope, index_take_url, urls);
	if (!urls->n)
		return 0;
	set_url(to, scope, urls->list[0]);
	return allow(value_str(value_get(to, scope)), rules, e);
}

int index_find_npm(struct deps_index *ret, struct err *e)
{
	__attribute__((cleanup(config_done))) struct config c = {.n = 0};
	auto_free struct scopes *s = calloc(1, sizeof(*s));
	auto_value *policy = value_object();
	struct value *rules = value_array(), *scopes = value_object();

	value_set(policy, "allow", rules);
	ret->doc = value_object();
	value_set(ret->doc, "scopes", scopes);
	if (!s)
		return err_sys(e, "deps");
	read_config(&c);
	for (unsigned i = 0; i < c.n; i++)
		(void)preset_npm_scopes(c.text[i], take_scope, s);
	int r = find_main(&c, ret->doc, rules, e);
	for (unsigned i = 0; i < s->n && r >= 0; i++)
		if (!value_get(scopes, s->name[i]))
			r = find_scope(&c, s->name[i], scopes, rules, e);
	if (r < 0)
		return r;
	ret->policy = value_text(policy, NULL);
	return ret->policy ? 0 : err_sys(e, "deps");
}
