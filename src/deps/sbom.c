/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/sbom.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "deps/license.h"
#include "deps/lock.h"

#define REF_SIZE (512 + LOCK_PATH_SIZE)

/* What means something in a package URL is written otherwise. */
static void escape(const char *text, char *to, size_t size)
{
	size_t n = 0;

	for (; *text && n + 4 < size; text++)
		n += (size_t)snprintf(to + n, size - n,
				      *text == '@' || *text == '+' ? "%%%02X" : "%c",
				      (unsigned char)*text);
	to[n] = '\0';
}

/* A package URL: pkg:pypi/numpy@2.1.0, pkg:npm/%40scope/name@1.0, pkg:deb/debian/jq@1.6-2.1. */
static void purl(enum deps_lang lang, const struct value *part, const struct lock_package *p,
		 char ret[512])
{
	static const char *const types[] = {
		[DEPS_PYTHON] = "pypi", [DEPS_NODE] = "npm", [DEPS_R] = "cran", [DEPS_APT] = "deb"};
	const char *where = lang == DEPS_APT ? value_str(value_get(part, "interpreter")) : NULL;
	char name[3 * DEPS_NAME_SIZE], version[3 * LOCK_VERSION_SIZE];

	escape(p->name, name, sizeof(name));
	escape(p->version, version, sizeof(version));
	(void)snprintf(ret, 512, "pkg:%s/%.*s%s%.300s@%.150s", types[lang],
		       where ? (int)strcspn(where, "-") : 0, where ? where : "", where ? "/" : "",
		       name, version);
}

/* Whole seconds: SPDX takes no others. */
static struct value *instant(uint64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	char text[32];
	struct tm tm;

	if (!gmtime_r(&s, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return value_of_null();
	return value_of_str(text);
}

/* npm has one package in several places: each is a component of its own. */
static void ref_of(const struct lock_package *p, const char *url, char ret[REF_SIZE])
{
	bool moved = p->path && strcmp(p->path, p->name) != 0;

	(void)snprintf(ret, REF_SIZE, "%s%s%s", url, moved ? "#" : "", moved ? p->path : "");
}

/* By SPDX's identifiers where the package's own words tell which; else its words. */
static struct value *licenses(const char *text)
{
	struct value *list = value_array(), *row = value_object(), *license = value_object();
	char expression[LICENSE_SIZE];
	bool is_one, known = license_expression(text, expression, &is_one);

	value_set(license, known ? "id" : "name", value_of_str(known ? expression : text));
	value_set(row, "license", license);
	if (known && !is_one) {
		value_free(row);
		row = value_object();
		value_set(row, "expression", value_of_str(expression));
	}
	value_add(list, row);
	return list;
}

static const char *license_of(const struct value *part, size_t i)
{
	const char *text =
		value_str(value_get(value_at(value_get(part, "packages"), i), "license"));

	return text ? text : "";
}

static struct value *component(enum deps_lang lang, const struct value *part, size_t i)
{
	struct value *v = value_object(), *hashes = value_array(), *hash = value_object();
	struct lock_package at = lock_at(part, i), *p = &at;
	const char *license = license_of(part, i);
	char url[512], ref[REF_SIZE];

	purl(lang, part, p, url);
	ref_of(p, url, ref);
	value_set(hash, "alg", value_of_str("SHA-256"));
	value_set(hash, "content", value_of_str(p->sha256));
	value_add(hashes, hash);
	value_set(v, "type", value_of_str("library"));
	value_set(v, "bom-ref", value_of_str(ref));
	value_set(v, "name", value_of_str(p->name));
	value_set(v, "version", value_of_str(p->version));
	value_set(v, "purl", value_of_str(url));
	value_set(v, "hashes", hashes);
	if (*license)
		value_set(v, "licenses", licenses(license));
	return v;
}

/* What is no expression of SPDX's may stand in a comment alone. */
static void spdx_license(struct value *v, const char *text)
{
	char expression[LICENSE_SIZE];
	bool is_one, known = license_expression(text, expression, &is_one);

	value_set(v, "licenseDeclared", value_of_str(known ? expression : "NOASSERTION"));
	if (!known && *text)
		value_set(v, "licenseComments", value_of_str(text));
}

static struct value *spdx_package(enum deps_lang lang, const struct value *part, size_t i,
				  unsigned n)
{
	struct lock_package at = lock_at(part, i), *p = &at;
	struct value *v = value_object(), *sums = value_array(), *sum = value_object();
	struct value *refs = value_array(), *ref = value_object();
	char id[40], url[512];

	(void)snprintf(id, sizeof(id), "SPDXRef-Package-%u", n);
	purl(lang, part, p, url);
	value_set(sum, "algorithm", value_of_str("SHA256"));
	value_set(sum, "checksumValue", value_of_str(p->sha256));
	value_add(sums, sum);
	value_set(ref, "referenceCategory", value_of_str("PACKAGE-MANAGER"));
	value_set(ref, "referenceType", value_of_str("purl"));
	value_set(ref, "referenceLocator", value_of_str(url));
	value_add(refs, ref);
	value_set(v, "SPDXID", value_of_str(id));
	value_set(v, "name", value_of_str(p->name));
	value_set(v, "versionInfo", value_of_str(p->version));
	value_set(v, "packageFileName", value_of_str(p->file));
	value_set(v, "downloadLocation", value_of_str("NOASSERTION"));
	value_set(v, "filesAnalyzed", value_of_bool(false));
	value_set(v, "checksums", sums);
	value_set(v, "externalRefs", refs);
	spdx_license(v, license_of(part, i));
	return v;
}

/* One element and another, which is a package. */
static struct value *relation(const char *from, const char *type, unsigned to)
{
	struct value *v = value_object();
	char id[40];

	(void)snprintf(id, sizeof(id), "SPDXRef-Package-%u", to);
	value_set(v, "spdxElementId", value_of_str(from));
	value_set(v, "relatedSpdxElement", value_of_str(id));
	value_set(v, "relationshipType", value_of_str(type));
	return v;
}

static bool is_needed_by(const struct value *package, const char *name)
{
	const struct value *by = value_get(package, "needed_by");

	for (size_t i = 0; i < value_len(by); i++) {
		const char *who = value_str(value_at(by, i));

		if (who && strcmp(who, name) == 0)
			return true;
	}
	return false;
}

/* The lock says by whom a package is needed; this is the other direction. */
static struct value *needs_of(enum deps_lang lang, const struct value *part, size_t i)
{
	const struct value *all = value_get(part, "packages");
	struct value *v = value_object(), *list = value_array();
	struct lock_package p = lock_at(part, i);
	char url[512], ref[REF_SIZE];

	purl(lang, part, &p, url);
	ref_of(&p, url, ref);
	value_set(v, "ref", value_of_str(ref));
	value_set(v, "dependsOn", list);
	for (size_t k = 0; k < lock_count(part); k++) {
		struct lock_package other = lock_at(part, k);

		if (k == i || !is_needed_by(value_at(all, k), p.name))
			continue;
		purl(lang, part, &other, url);
		ref_of(&other, url, ref);
		value_add(list, value_of_str(ref));
	}
	return v;
}

/* A UUID that follows from the packages: the same lock, the same bill. */
static struct value *serial_of(const struct value *lock)
{
	char key[HASH_TEXT_SIZE], text[64];
	uint8_t d[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	for (enum deps_lang lang = DEPS_PYTHON; lang < DEPS_LANGS; lang++) {
		const struct value *part = value_get(lock, lock_part_name(lang));

		if (!part)
			continue;
		lock_key(lang, part, key);
		hash_add(&h, key, sizeof(key));
	}
	hash_done(&h, d);
	d[6] = (uint8_t)((d[6] & 0x0f) | 0x80);
	d[8] = (uint8_t)((d[8] & 0x3f) | 0x80);
	hash_text(d, key);
	(void)snprintf(text, sizeof(text), "urn:uuid:%.8s-%.4s-%.4s-%.4s-%.12s", key, key + 8,
		       key + 12, key + 16, key + 20);
	return value_of_str(text);
}

static struct value *cyclonedx(const struct value *lock, uint64_t now_ms)
{
	struct value *v = value_object(), *meta = value_object(), *list = value_array();
	struct value *graph = value_array();

	value_set(v, "bomFormat", value_of_str("CycloneDX"));
	value_set(v, "specVersion", value_of_str("1.5"));
	value_set(v, "serialNumber", serial_of(lock));
	value_set(v, "version", value_of_int(1));
	value_set(meta, "timestamp", instant(now_ms));
	value_set(v, "metadata", meta);
	value_set(v, "components", list);
	for (enum deps_lang lang = DEPS_PYTHON; lang < DEPS_LANGS; lang++) {
		const struct value *part = value_get(lock, lock_part_name(lang));

		for (size_t i = 0; i < lock_count(part); i++) {
			value_add(list, component(lang, part, i));
			value_add(graph, needs_of(lang, part, i));
		}
	}
	value_set(v, "dependencies", graph);
	return v;
}

/* Which of a part's packages need which; those before it were `before`. */
static void add_needs(struct value *links, const struct value *part, unsigned before)
{
	const struct value *all = value_get(part, "packages");
	char id[40];

	for (unsigned i = 0; i < lock_count(part); i++) {
		(void)snprintf(id, sizeof(id), "SPDXRef-Package-%u", before + i + 1);
		for (unsigned k = 0; k < lock_count(part); k++)
			if (k != i && is_needed_by(value_at(all, k), lock_at(part, i).name))
				value_add(links, relation(id, "DEPENDS_ON", before + k + 1));
	}
}

/* A name of its own for each lock: the keys of its parts. */
static struct value *spdx(const struct value *lock, uint64_t now_ms)
{
	struct value *v = value_object(), *info = value_object(), *tools = value_array();
	struct value *list = value_array(), *links = value_array();
	char space[160] = "https://spdx.org/spdxdocs/pinfold-", key[HASH_TEXT_SIZE];
	unsigned n = 0;

	for (enum deps_lang lang = DEPS_PYTHON; lang < DEPS_LANGS; lang++) {
		const struct value *part = value_get(lock, lock_part_name(lang));
		size_t len = strlen(space);

		if (!part)
			continue;
		lock_key(lang, part, key);
		(void)snprintf(space + len, sizeof(space) - len, "%.16s", key);
		for (size_t i = 0; i < lock_count(part); i++) {
			value_add(list, spdx_package(lang, part, i, ++n));
			value_add(links, relation("SPDXRef-DOCUMENT", "DESCRIBES", n));
		}
		add_needs(links, part, n - (unsigned)lock_count(part));
	}
	value_add(tools, value_of_str("Tool: pinfold-" PINFOLD_VERSION));
	value_set(info, "created", instant(now_ms));
	value_set(info, "creators", tools);
	value_set(v, "spdxVersion", value_of_str("SPDX-2.3"));
	value_set(v, "dataLicense", value_of_str("CC0-1.0"));
	value_set(v, "SPDXID", value_of_str("SPDXRef-DOCUMENT"));
	value_set(v, "name", value_of_str("packages"));
	value_set(v, "documentNamespace", value_of_str(space));
	value_set(v, "creationInfo", info);
	value_set(v, "packages", list);
	value_set(v, "relationships", links);
	return v;
}

struct value *sbom_of(const struct value *lock, const char *format, uint64_t now_ms)
{
	return strcmp(format, "cyclonedx") == 0 ? cyclonedx(lock, now_ms)
	       : strcmp(format, "spdx") == 0	? spdx(lock, now_ms)
						: NULL;
}
