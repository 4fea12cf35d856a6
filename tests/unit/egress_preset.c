/* SPDX-License-Identifier: Apache-2.0 */
/* What configurations of package managers name, and what becomes of it. */
#include "egress/preset.h"
#include "tap.h"

static char found[512];

static int keep(const char *url, size_t len, void *arg)
{
	size_t n = strlen(found);

	(void)arg;
	snprintf(found + n, sizeof(found) - n, "%s%.*s", n ? " " : "", (int)len, url);
	return 0;
}

typedef int (*parser)(const char *text, preset_url found, void *arg);

static void names(parser parse, const char *what, const char *text, const char *want)
{
	found[0] = '\0';
	(void)parse(text, keep, NULL);
	is_str(found, want, what);
}

static int npm_main(const char *text, preset_url take, void *arg)
{
	return preset_npm_scope(text, NULL, take, arg);
}

static int npm_scope(const char *text, preset_url take, void *arg)
{
	return preset_npm_scope(text, "@s", take, arg);
}

static void texts(void)
{
	static const char npmrc[] = "@s:registry = https://b.test/\n@t:registry=https://c.test/\n"
				    "registry=https://a.test/\n:registry=https://x.test/\n"
				    "@s:_authToken=https://x.test/\n";

	names(preset_pip, "pip: an index", "[global]\nindex-url = https://a.test/simple\n",
	      "https://a.test/simple");
	names(preset_pip, "pip: several lines",
	      "[global]\nextra-index-url =\n    https://a.test/\n    https://b.test/\ntimeout = 1\n",
	      "https://a.test/ https://b.test/");
	names(preset_pip, "pip: comments and others",
	      "# index-url = https://x.test/\n[install]\nproxy = https://x.test/\nindex-url: "
	      "https://a.test/",
	      "https://a.test/");
	names(preset_npm, "npm: registries",
	      "registry=https://a.test/\n@s:registry = https://b.test/\n//a.test/:_authToken=x\n"
	      ";registry=https://x.test/\n",
	      "https://a.test/ https://b.test/");
	names(preset_npm_scopes, "npm: scopes that have a registry", npmrc, "@s @t");
	names(npm_main, "npm: the registry of all others", npmrc, "https://a.test/");
	names(npm_scope, "npm: that of a scope", npmrc, "https://b.test/");
	names(preset_apt_list, "apt: a list",
	      "# deb http://x.test/ a\ndeb http://a.test/debian stable main\n"
	      "deb [arch=amd64 signed-by=/k] https://b.test/ stable main\ndeb cdrom:[x]/ a\n",
	      "http://a.test/debian https://b.test/");
	names(preset_apt_deb822, "apt: sources",
	      "Types: deb\nURIs: http://a.test/debian\n https://b.test/\nSuites: stable\n"
	      "Signed-By: /k\n#URIs: http://x.test/\n",
	      "http://a.test/debian https://b.test/");
	names(preset_git, "git: urls",
	      "[user]\n\tname = x\n[url \"https://a.test/\"]\n\tinsteadOf = git@a.test:\n"
	      "[credential \"https://b.test\"]\n\thelper =\n[remote \"https://x.test\"]\n",
	      "https://a.test/ https://b.test");
	names(preset_pip_text, "pip's own index, and where its files are",
	      "class X:\n\nPyPI = PackageIndex(\"https://a.test/\", file_storage_domain=\"b.test\")\n"
	      "TestPyPI = PackageIndex(\n    \"https://x.test/\", file_storage_domain=\"y.test\"\n)\n",
	      "https://a.test/ b.test");
	names(preset_pip_text, "pip's text in another shape", "\nPyPI = PackageIndex(url)\n", "");
	names(preset_npm_text, "npm's own registry",
	      "define('x', {\n default: 'https://x.test/' })\n"
	      "  registry: new Definition('registry', {\n    default: 'https://a.test/',\n",
	      "https://a.test/");
	names(preset_npm_text, "npm's text in another shape", "('registry', {\n  default: null,\n",
	      "");
	names(preset_pip, "nothing", "", "");
	names(preset_npm, "a key alone", "registry", "");
	names(preset_git, "a quote that does not end", "[url \"https://a.test/", "");
}

/* Which verdict a request gets of a policy with this preset alone. */
static int verdict(const char *preset, const char *host, uint16_t port, const char *method,
		   const char *path)
{
	struct err e = ERR_INIT;
	const char *why = NULL;
	struct policy *p = policy_new();
	struct egress_verdict v;
	struct name n;

	if (preset_add(p, preset, "p.yaml", 1, NULL, &e) < 0) {
		policy_free(p);
		return -1;
	}
	(void)name_parse(host, strlen(host), &n, &why);
	struct egress_request q = {.host = &n,
				   .port = port,
				   .protocol = EGRESS_HTTPS,
				   .stage = EGRESS_REQUEST,
				   .method = method,
				   .method_len = strlen(method),
				   .path = path,
				   .path_len = strlen(path)};
	policy_decide(p, &q, &v);
	policy_free(p);
	return v.action;
}

static void rules(void)
{
	unsetenv("VIRTUAL_ENV");
	unsetenv("PIP_CONFIG_FILE");
	unsetenv("PIP_EXTRA_INDEX_URL");
	setenv("HOME", "/nonexistent", 1);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	setenv("PIP_INDEX_URL", "https://u:p@index.test:8443/simple", 1);
	is_int(verdict("pip", "index.test", 8443, "GET", "/simple/"), EGRESS_ALLOW, "its index");
	is_int(verdict("pip", "index.test", 443, "GET", "/simple/"), EGRESS_DENY, "its port only");
	is_int(verdict("pip", "index.test", 8443, "POST", "/legacy/"), EGRESS_DENY, "no upload");
	is_int(verdict("pip", "index.test", 8443, "PUT", "/x"), EGRESS_DENY, "none at all");
	setenv("PIP_INDEX_URL", "https://index.test@evil.test/", 1);
	is_int(verdict("pip", "index.test", 443, "GET", "/"), EGRESS_DENY, "a user is no host");
	setenv("PIP_INDEX_URL", "https://exa mple/ https://*/", 1);
	is_int(verdict("pip", "index.test", 443, "GET", "/"), -1, "a host that is none");
	setenv("NPM_CONFIG_REGISTRY", "https://npm.test/", 1);
	is_int(verdict("npm", "npm.test", 443, "GET", "/@a%2fb"), EGRESS_ALLOW, "a registry");
	is_int(verdict("npm", "npm.test", 443, "PUT", "/@a%2fb"), EGRESS_DENY, "no publishing");
	is_int(verdict("cargo", "a.test", 443, "GET", "/"), -1, "no such preset");
}

int main(void)
{
	TAP_RUN(texts);
	TAP_RUN(rules);
	return tap_done();
}
