/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/preset.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/rule.h"
#include "egress/source.h"

/* Rules being added for one preset. */
struct adding {
	struct policy *policy;
	const struct preset_kind *kind;
	const char *source;
	unsigned line;
	unsigned count;
	struct preset_default pip;
	struct err *e;
};

struct preset_kind {
	const char *name;
	int (*read)(struct adding *a);
	int (*add_default)(struct adding *a); /* where the tool goes by itself; NULL: nowhere */
};

/* For a process that will not be able to read files: what they said before. */
#define KEPT_MAX 256u
static struct {
	bool is_kept, keeps;
	unsigned n;
	struct kept_rule {
		const struct preset_kind *kind;
		char host[NAME_SIZE];
		uint16_t port;
		bool is_tls, fetch;
	} * list;
} kept;

static void keep_rule(const struct adding *a, const char *host, uint16_t port, bool is_tls,
		      bool fetch)
{
	struct kept_rule *r = &kept.list[kept.n];

	if (kept.n == KEPT_MAX || strlen(host) >= sizeof(r->host))
		return;
	*r = (struct kept_rule){.kind = a->kind, .port = port, .is_tls = is_tls, .fetch = fetch};
	(void)snprintf(r->host, sizeof(r->host), "%s", host);
	kept.n++;
}

/* One rule: GET and HEAD everywhere; or the POST with which git fetches. */
static int add_rule(struct adding *a, const char *host, uint16_t port, bool is_tls, bool fetch)
{
	char name[RULE_NAME_MAX];
	struct rule_draft d = {
		.action = EGRESS_ALLOW,
		.host = host,
		.name = name,
		.source = a->source,
		.line = a->line,
		.protocol = is_tls ? EGRESS_HTTPS : EGRESS_HTTP,
		.ports = {{.port = port}},
		.n_ports = 1,
		.methods = {"GET", "HEAD"},
		.n_methods = 2,
	};

	if (fetch) {
		d.methods[0] = "POST";
		d.n_methods = 1;
		d.paths[d.n_paths++] = "/**/git-upload-pack";
	}
	(void)snprintf(name, sizeof(name), "preset %s: %.80s", a->kind->name, host);
	if (kept.keeps)
		keep_rule(a, host, port, is_tls, fetch);
	return policy_add(a->policy, &d, a->e);
}

bool preset_is_default(const struct preset_default *pip, const struct name *host)
{
	size_t n = strlen(host->text);
	const char *at = strstr(pip->index, "://");

	return at && pip->files[0] && strncmp(at + 3, host->text, n) == 0 && at[3 + n] == '/';
}

/* A URL with http or https; others (file:, ssh:, cdrom:) are no matter of the network's rules. */
static int add_url(const char *url, size_t len, void *arg)
{
	struct adding *a = arg;
	bool is_tls = len > 8 && strncasecmp(url, "https://", 8) == 0;
	size_t skip = is_tls ? 8 : 7;
	const char *why = NULL;
	struct name host;
	uint16_t port = 0;

	if (!is_tls && !(len > 7 && strncasecmp(url, "http://", 7) == 0))
		return 0;
	url += skip;
	len -= skip;
	size_t n = 0;
	while (n < len && !strchr("/?# \t", url[n]))
		n++;
	/* A user and password in front are the tool's, not ours. */
	const char *at = memrchr(url, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - url);
		url = at + 1;
	}
	if (name_parse_port(url, n, &host, &port, &why) < 0)
		return err_set(a->e, ERR_INVALID,
			       "preset %s: its configuration names a host that is none: %s",
			       a->kind->name, why);
	if (!port)
		port = is_tls ? 443 : 80;
	a->count++;
	if (add_rule(a, host.text, port, is_tls, false) < 0 ||
	    (strcmp(a->kind->name, "git") == 0 && add_rule(a, host.text, port, is_tls, true) < 0))
		return -EINVAL;
	if (!preset_is_default(&a->pip, &host))
		return 0;
	return add_rule(a, a->pip.files, port, is_tls, false) < 0 ? -EINVAL : 0;
}

typedef int (*parser)(const char *text, preset_url found, void *arg);

/* A file of the host's; that it is not there, or not for us to read, is no mistake. */
static int read_urls(const char *path, parser parse, preset_url found, void *arg)
{
	auto_free char *text = NULL;
	struct err ignored = ERR_INIT;
	size_t len = 0;

	if (source_read(AT_FDCWD, path, SOURCE_ANYBODY, &text, &len, &ignored) < 0)
		return 0;
	return parse(text, found, arg);
}

static int read_file(struct adding *a, const char *path, parser parse)
{
	return read_urls(path, parse, add_url, a);
}

/* Below a directory that a variable names, or below `below_home` of the home. */
static int read_under(struct adding *a, const char *variable, const char *below_home,
		      const char *file, parser parse)
{
	const char *dir = variable ? getenv(variable) : NULL, *home = getenv("HOME");
	char path[PATH_MAX];
	int n = 0;

	if (dir && dir[0] == '/')
		n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	else if (below_home && home && home[0] == '/')
		n = snprintf(path, sizeof(path), "%s/%s%s", home, below_home, file);
	return n > 0 && n < PATH_MAX ? read_file(a, path, parse) : 0;
}

static int read_variable(struct adding *a, const char *name)
{
	const char *text = getenv(name);

	while (text && *text) {
		size_t n = strcspn(text, " \t\n");

		if (n && add_url(text, n, a) != 0)
			return -EINVAL;
		text += n + (text[n] != '\0');
	}
	return 0;
}

static int read_pip(struct adding *a)
{
	const char *file = getenv("PIP_CONFIG_FILE");

	if (read_variable(a, "PIP_INDEX_URL") < 0 || read_variable(a, "PIP_EXTRA_INDEX_URL") < 0 ||
	    (file && file[0] == '/' && read_file(a, file, preset_pip) < 0) ||
	    read_file(a, "/etc/pip.conf", preset_pip) < 0 ||
	    read_under(a, NULL, ".pip/", "pip.conf", preset_pip) < 0 ||
	    read_under(a, "XDG_CONFIG_HOME", ".config/", "pip/pip.conf", preset_pip) < 0)
		return -EINVAL;
	return read_under(a, "VIRTUAL_ENV", NULL, "pip.conf", preset_pip);
}

static int read_npm(struct adding *a)
{
	const char *file = getenv("NPM_CONFIG_USERCONFIG");

	if (read_variable(a, "NPM_CONFIG_REGISTRY") < 0 ||
	    read_variable(a, "npm_config_registry") < 0 ||
	    read_file(a, "/etc/npmrc", preset_npm) < 0 ||
	    read_file(a, "/usr/etc/npmrc", preset_npm) < 0 ||
	    read_file(a, "/usr/local/etc/npmrc", preset_npm) < 0)
		return -EINVAL;
	if (file && file[0] == '/')
		return read_file(a, file, preset_npm);
	return read_under(a, NULL, "", ".npmrc", preset_npm);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && strcmp(text + n - m, end) == 0;
}

int preset_apt_each(preset_url found, void *arg)
{
	static const char parts[] = "/etc/apt/sources.list.d";
	struct dirent **list = NULL;
	int r = read_urls("/etc/apt/sources.list", preset_apt_list, found, arg);
	int n = scandir(parts, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];
		const char *name = list[i]->d_name;

		(void)snprintf(path, sizeof(path), "%s/%s", parts, name);
		if (r == 0 && ends_with(name, ".list"))
			r = read_urls(path, preset_apt_list, found, arg);
		else if (r == 0 && ends_with(name, ".sources"))
			r = read_urls(path, preset_apt_deb822, found, arg);
		free(list[i]);
	}
	free(list);
	return r;
}

static int read_apt(struct adding *a)
{
	return preset_apt_each(add_url, a);
}

static int read_git(struct adding *a)
{
	if (read_file(a, "/etc/gitconfig", preset_git) < 0 ||
	    read_under(a, NULL, "", ".gitconfig", preset_git) < 0)
		return -EINVAL;
	return read_under(a, "XDG_CONFIG_HOME", ".config/", "git/config", preset_git);
}

/* The tool's own default */

static int take_default(const char *text, size_t len, void *arg)
{
	struct preset_default *to = arg;
	char *at = to->index[0] ? to->files : to->index;
	size_t size = to->index[0] ? sizeof(to->files) : sizeof(to->index);

	if (len < size)
		memcpy(at, text, len);
	return 0;
}

/* The first of these files that says something. */
static int find_default(const char *const *paths, parser parse, const char *tool,
			struct preset_default *ret, struct err *e)
{
	*ret = (struct preset_default){.index = ""};
	for (; *paths && !ret->index[0]; paths++) {
		auto_free char *text = NULL;
		struct err ignored = ERR_INIT;
		size_t len = 0;

		if (source_read(AT_FDCWD, *paths, SOURCE_ANYBODY, &text, &len, &ignored) >= 0)
			(void)parse(text, take_default, ret);
	}
	if (ret->index[0])
		return 0;
	(void)err_set(e, ERR_MISSING, "%s is not installed here, or says nowhere where it goes",
		      tool);
	return err_remedy(e, "name a host in its configuration");
}

int preset_pip_default(struct preset_default *ret, struct err *e)
{
	static const char *const paths[] = {
		"/usr/lib/python3/dist-packages/pip/_internal/models/index.py", NULL};

	return find_default(paths, preset_pip_text, "pip", ret, e);
}

static int pip_default(struct adding *a)
{
	return a->pip.index[0] ? add_url(a->pip.index, strlen(a->pip.index), a) : 0;
}

int preset_npm_default(struct preset_default *ret, struct err *e)
{
#define DEFINITIONS "@npmcli/config/lib/definitions/definitions.js"
	static const char *const paths[] = {
		"/usr/lib/node_modules/npm/node_modules/" DEFINITIONS,
		"/usr/local/lib/node_modules/npm/node_modules/" DEFINITIONS,
		"/usr/share/nodejs/npm/node_modules/" DEFINITIONS,
		"/usr/share/nodejs/" DEFINITIONS,
		"/usr/share/nodejs/npm/lib/utils/config/definitions.js",
		NULL,
	};

	return find_default(paths, preset_npm_text, "npm", ret, e);
}

static int npm_default(struct adding *a)
{
	struct preset_default npm;
	struct err none = ERR_INIT;

	if (preset_npm_default(&npm, &none) < 0)
		return 0;
	return add_url(npm.index, strlen(npm.index), a);
}

static const struct preset_kind kinds[] = {
	{"pip", read_pip, pip_default},
	{"npm", read_npm, npm_default},
	{"apt", read_apt, NULL},
	{"git", read_git, NULL},
};

static int read_all(struct adding *a)
{
	struct err none = ERR_INIT; /* who has no pip may have an index named all the same */

	if (a->kind->read == read_pip)
		(void)preset_pip_default(&a->pip, &none);
	if (a->kind->read(a) < 0)
		return -EINVAL;
	return !a->count && a->kind->add_default ? a->kind->add_default(a) : 0;
}

static int add_kept(struct adding *a)
{
	for (unsigned i = 0; i < kept.n; i++) {
		const struct kept_rule *r = &kept.list[i];

		if (r->kind != a->kind)
			continue;
		a->count++;
		if (add_rule(a, r->host, r->port, r->is_tls, r->fetch) < 0)
			return -EINVAL;
	}
	return 0;
}

int preset_keep(struct err *e)
{
	auto_policy *scratch = policy_new();

	if (!kept.list)
		kept.list = calloc(KEPT_MAX, sizeof(*kept.list));
	if (!kept.list || !scratch)
		return err_sys(e, "presets");
	kept.n = 0;
	kept.is_kept = false;
	kept.keeps = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct err none = ERR_INIT; /* that preset is then refused */
		struct adding a = {.policy = scratch, .kind = &kinds[i], .source = "", .e = &none};

		(void)read_all(&a);
	}
	kept.keeps = false;
	kept.is_kept = true;
	return 0;
}

bool preset_is_kept(void)
{
	return kept.is_kept;
}

int preset_add(struct policy *p, const char *preset, const char *source, unsigned line, void *arg,
	       struct err *e)
{
	struct adding a = {.policy = p, .source = source, .line = line, .e = e};

	(void)arg;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, preset) == 0)
			a.kind = &kinds[i];
	if (!a.kind) {
		(void)err_set(e, ERR_INVALID, "there is no preset \"%.40s\"", preset);
		return err_remedy(e, "write pip, npm, apt or git");
	}
	if ((kept.is_kept ? add_kept(&a) : read_all(&a)) < 0)
		return -EINVAL;
	if (a.count)
		return 0;
	(void)err_set(e, ERR_MISSING, "preset %s: its configuration on this machine names no host",
		      preset);
	return err_remedy(e, "write a rule with host: instead");
}
