/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deps_index.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "egress/preset.h"
#include "egress/source.h"
#include "engine/deps_index_int.h"

int index_take_url(const char *url, size_t len, void *arg)
{
	struct index_urls *to = arg;
	const char *host = memmem(url, len, "://", 3);

	if (!host || to->n >= INDEX_URLS_MAX || len >= INDEX_URL_SIZE)
		return 0;
	host += 3;
	size_t rest = len - (size_t)(host - url), n = 0;
	while (n < rest && !strchr("/?#", host[n]))
		n++;
	const char *at = memrchr(host, '@', n);
	const char *from = at ? at + 1 : host;
	(void)snprintf(to->list[to->n++], INDEX_URL_SIZE, "%.*s%.*s", (int)(host - url), url,
		       (int)(url + len - from), from);
	return 0;
}

void index_from_variable(const char *name, struct index_urls *to)
{
	const char *text = getenv(name);

	while (text && *text) {
		size_t n = strcspn(text, " \t\n");

		(void)index_take_url(text, n, to);
		text += n + (text[n] != '\0');
	}
}

static void from_file(const char *path, const char *key, struct index_urls *to)
{
	auto_free char *text = NULL;
	struct err none = ERR_INIT; /* one that is not there, or not for us to read, says nothing */
	size_t len = 0;

	if (path[0] == '/' && source_read(AT_FDCWD, path, SOURCE_ANYBODY, &text, &len, &none) >= 0)
		(void)preset_pip_key(text, key, index_take_url, to);
}

/* As pip does it: a variable counts before all files, and of these the more special one. */
static void find_key(const char *variable, const char *key, struct index_urls *to)
{
	static const struct {
		const char *variable, *below;
	} files[] = {{"PIP_CONFIG_FILE", ""},
		     {"VIRTUAL_ENV", "/pip.conf"},
		     {"XDG_CONFIG_HOME", "/pip/pip.conf"},
		     {"HOME", "/.config/pip/pip.conf"},
		     {"HOME", "/.pip/pip.conf"},
		     {NULL, "/etc/xdg/pip/pip.conf"},
		     {NULL, "/etc/pip.conf"}};
	char path[PATH_MAX];

	index_from_variable(variable, to);
	for (size_t i = 0; to->n == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		const char *dir = files[i].variable ? getenv(files[i].variable) : "";

		if (!dir || snprintf(path, sizeof(path), "%s%s", dir, files[i].below) >= PATH_MAX)
			continue;
		from_file(path, key, to);
	}
}

void index_allow(struct value *rules, const char *host, unsigned port, bool is_tls)
{
	struct value *rule = value_object(), *methods = value_array();

	value_add(methods, value_of_str("GET"));
	value_add(methods, value_of_str("HEAD"));
	value_set(rule, "host", value_of_str(host));
	value_set(rule, "port", value_of_int(port));
	value_set(rule, "protocol", value_of_str(is_tls ? "https" : "http"));
	value_set(rule, "methods", methods);
	value_add(rules, rule);
}

int index_allow_url(struct value *rules, const char *url, const char *remedy, struct name *ret_host,
		    bool *ret_tls, struct err *e)
{
	bool is_tls = strncasecmp(url, "https://", 8) == 0;
	const char *why = NULL, *at = url + (is_tls ? 8 : 7);
	uint16_t port = 0;

	if (!is_tls && strncasecmp(url, "http://", 7) != 0) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "the index %.100s is not reached by http or https", url);
		return err_remedy(e, "%s", remedy);
	}
	if (name_parse_port(at, strcspn(at, "/?#"), ret_host, &port, &why) < 0)
		return err_set(e, ERR_INVALID, "the index %.100s has no host: %s", url, why);
	index_allow(rules, ret_host->text, port ? port : is_tls ? 443 : 80, is_tls);
	*ret_tls = is_tls;
	return 0;
}

static int add_url(const char *url, const struct preset_default *pip, struct value *rules,
		   struct value *trusted, struct err *e)
{
	struct name host;
	bool is_tls = false;
	int r = index_allow_url(rules, url, "name another in pip's configuration (index-url)",
				&host, &is_tls, e);

	if (r < 0)
		return r;
	if (!is_tls)
		value_add(trusted, value_of_str(host.text));
	if (preset_is_default(pip, &host))
		index_allow(rules, pip->files, 443, true);
	return 0;
}

static int find_pip(struct deps_index *ret, struct err *e)
{
	auto_free struct index_urls *first = calloc(1, sizeof(*first));
	auto_free struct index_urls *extra = calloc(1, sizeof(*extra));
	auto_value *policy = value_object();
	struct value *rules = value_array(), *more = value_array(), *trusted = value_array();
	struct preset_default pip;
	char simple[sizeof(pip.index) + 16];
	struct err none = ERR_INIT;

	value_set(policy, "allow", rules);
	ret->doc = value_object();
	value_set(ret->doc, "extra", more);
	value_set(ret->doc, "trusted", trusted);
	if (!first || !extra)
		return err_sys(e, "deps");
	find_key("PIP_INDEX_URL", "index-url", first);
	find_key("PIP_EXTRA_INDEX_URL", "extra-index-url", extra);
	int r = preset_pip_default(&pip, first->n ? &none : e);
	if (r < 0 && !first->n)
		return r;
	(void)snprintf(simple, sizeof(simple), "%ssimple/", pip.index);
	const char *url = first->n ? first->list[0] : simple;
	value_set(ret->doc, "url", value_of_str(url));
	r = add_url(url, &pip, rules, trusted, e);
	for (unsigned i = 0; r >= 0 && i < extra->n; i++) {
		value_add(more, value_of_str(extra->list[i]));
		r = add_url(extra->list[i], &pip, rules, trusted, e);
	}
	if (r < 0)
		return r;
	ret->policy = value_text(policy, NULL);
	return ret->policy ? 0 : err_sys(e, "deps");
}

struct adding {
	struct value *rules;
	struct err *e;
};

/* What is no http, such as file:, is no matter of the network's. */
static int add_source(const char *url, size_t len, void *arg)
{
	struct adding *a = arg;
	struct index_urls one = {.n = 0};
	struct name host;
	bool is_tls;

	(void)index_take_url(url, len, &one);
	if (!one.n || (strncasecmp(one.list[0], "https://", 8) != 0 &&
		       strncasecmp(one.list[0], "http://", 7) != 0))
		return 0;
	return index_allow_url(a->rules, one.list[0], "look at /etc/apt/sources.list.d", &host,
			       &is_tls, a->e);
}

/* apt reads its configuration itself; no package's code runs where it does. */
static int find_apt(struct deps_index *ret, struct err *e)
{
	auto_value *policy = value_object();
	struct adding a = {.rules = value_array(), .e = e};

	value_set(policy, "allow", a.rules);
	ret->doc = value_object();
	int r = preset_apt_each(add_source, &a);
	if (r < 0)
		return r;
	if (value_len(a.rules) == 0) {
		(void)err_set(e, ERR_MISSING, "this host's apt has no sources");
		return err_remedy(e, "name some in /etc/apt/sources.list.d");
	}
	ret->policy = value_text(policy, NULL);
	return ret->policy ? 0 : err_sys(e, "deps");
}

int deps_index_find(enum deps_lang lang, struct deps_index *ret, struct err *e)
{
	*ret = (struct deps_index){.doc = NULL};
	if (lang == DEPS_PYTHON)
		return find_pip(ret, e);
	if (lang == DEPS_NODE)
		return index_find_npm(ret, e);
	if (lang == DEPS_R)
		return index_find_r(ret, e);
	if (lang == DEPS_APT)
		return find_apt(ret, e);
	(void)err_set(e, ERR_UNSUPPORTED, "packages of this language are not in this version");
	return err_remedy(e, "bring them in with --dir");
}

/* Without password, and without the slash that may stand at the end. */
static bool is_same_url(const char *a, const char *b)
{
	auto_free struct index_urls *u = calloc(1, sizeof(*u));

	if (!u || !a || !b)
		return false;
	(void)index_take_url(a, strlen(a), u);
	(void)index_take_url(b, strlen(b), u);
	for (unsigned i = 0; i < u->n; i++) {
		size_t n = strlen(u->list[i]);

		while (n && u->list[i][n - 1] == '/')
			u->list[i][--n] = '\0';
	}
	return u->n == 2 && strcasecmp(u->list[0], u->list[1]) == 0;
}

bool deps_index_is_one(const struct deps_index *index, const char *url)
{
	const struct value *extra = value_get(index->doc, "extra");
	struct preset_default pip;
	struct err none = ERR_INIT;
	char simple[sizeof(pip.index) + 16];

	if (is_same_url(url, value_str(value_get(index->doc, "url"))))
		return true;
	for (size_t i = 0; i < value_len(extra); i++)
		if (is_same_url(url, value_str(value_at(extra, i))))
			return true;
	if (preset_pip_default(&pip, &none) < 0)
		return false;
	(void)snprintf(simple, sizeof(simple), "%ssimple/", pip.index);
	return is_same_url(url, simple);
}

void deps_index_done(struct deps_index *i)
{
	value_free(i->doc);
	free(i->policy);
	*i = (struct deps_index){.doc = NULL};
}
