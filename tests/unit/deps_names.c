/* SPDX-License-Identifier: Apache-2.0 */
/* From modules to packages, and names that are almost those of others. */
#include "deps/names.h"
#include "deps/table.h"
#include "tap.h"

static void packages(void)
{
	static const struct {
		enum deps_lang lang;
		const char *module, *package;
	} rows[] = {
		{DEPS_PYTHON, "cv2", "opencv-python-headless"},
		{DEPS_PYTHON, "PIL", "Pillow"},
		{DEPS_PYTHON, "PIL.Image", "Pillow"},
		{DEPS_PYTHON, "sklearn", "scikit-learn"},
		{DEPS_PYTHON, "yaml", "PyYAML"},
		{DEPS_PYTHON, "bs4", "beautifulsoup4"},
		{DEPS_PYTHON, "dotenv", "python-dotenv"},
		{DEPS_PYTHON, "Crypto", "pycryptodome"},
		{DEPS_PYTHON, "requests", "requests"},
		{DEPS_PYTHON, "google.cloud.storage", "google-cloud-storage"},
		{DEPS_PYTHON, "google.cloud.storage.blob", "google-cloud-storage"},
		{DEPS_PYTHON, "google.cloud.unheard", "google-cloud-unheard"},
		{DEPS_PYTHON, "google.cloud.speech_v1p1beta1", "google-cloud-speech"},
		{DEPS_PYTHON, "google.cloud.secretmanager_v1", "google-cloud-secret-manager"},
		{DEPS_PYTHON, "azure.storage.blob", "azure-storage-blob"},
		{DEPS_PYTHON, "opentelemetry.context", "opentelemetry-api"},
		{DEPS_PYTHON, "snowflake.snowpark.Session", "snowflake-snowpark-python"},
		{DEPS_PYTHON, "pyro", "pyro-ppl"},
		{DEPS_PYTHON, "ibis.expr", "ibis-framework"},
		{DEPS_PYTHON, "mpl_toolkits.mplot3d", "matplotlib"},
		{DEPS_PYTHON, "_private", "_private"},
		{DEPS_PYTHON, "zmq", "pyzmq"},
		{DEPS_PYTHON, "MeCab", "mecab-python3"},
		{DEPS_PYTHON, "yara", "yara-python"},
		{DEPS_PYTHON, "Xlib", "python-xlib"},
		{DEPS_NODE, "lodash", "lodash"},
		{DEPS_NODE, "@scope/name", "@scope/name"},
		{DEPS_NODE, "cv2", "cv2"},
		{DEPS_R, "data.table", "data.table"},
		{DEPS_PYTHON, "", NULL},
		{DEPS_PYTHON, "a b", NULL},
		{DEPS_PYTHON, "a/b", NULL},
		{DEPS_PYTHON, "../a", NULL},
		{DEPS_PYTHON, "a..b", NULL},
		{DEPS_PYTHON, "-rfile", NULL},
		{DEPS_PYTHON, "a;b", NULL},
		{DEPS_PYTHON, "a\nb", NULL},
		{DEPS_PYTHON,
		 "m\xc3\xb6"
		 "del",
		 NULL},
		{DEPS_NODE, "@scope", NULL},
		{DEPS_NODE, "@scope/a/b", NULL},
		{DEPS_NODE, "scope/name", NULL},
		{DEPS_NODE, "@../x", NULL},
		{DEPS_NODE, "http://x", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[DEPS_NAME_SIZE] = "";
		const char *why;
		int r = deps_package(rows[i].lang, rows[i].module, name, &why);

		ok(r == (rows[i].package ? 0 : -1), rows[i].module);
		is_str(name, rows[i].package ? rows[i].package : "", rows[i].module);
	}
}

/* Packages of a family are named by one rule; rows of the table count before it. */
static void families(void)
{
	static const char *const rows[][2] = {
		{"airflow.providers.cncf.kubernetes", "apache-airflow-providers-cncf-kubernetes"},
		{"airflow.models", "apache-airflow"},
		{"llama_index.core", "llama-index"},
		{"llama_index.llms", "llama-index"},
		{"llama_index.vector_stores.chroma", "llama-index-vector-stores-chroma"},
		{"adafruit_ads1x15", "adafruit-circuitpython-ads1x15"},
		{"adafruit_blinka", "Adafruit-Blinka"},
		{"PyQt5.QtWebEngineWidgets", "PyQtWebEngine"},
		{"PyQt5.QtWidgets", "PyQt5"},
	};
	char name[DEPS_NAME_SIZE];
	const char *why;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		name[0] = '\0';
		(void)deps_package(DEPS_PYTHON, rows[i][0], name, &why);
		is_str(name, rows[i][1], rows[i][0]);
	}
}

static void meant(void)
{
	static const struct {
		enum deps_lang lang;
		const char *package, *meant;
	} rows[] = {
		{DEPS_PYTHON, "reqeusts", "requests"},
		{DEPS_PYTHON, "requsts", "requests"},
		{DEPS_PYTHON, "requestss", "requests"},
		{DEPS_PYTHON, "nunpy", "numpy"},
		{DEPS_PYTHON, "Pandsa", "pandas"},
		{DEPS_PYTHON, "beautifulsoup", "beautifulsoup4"},
		{DEPS_PYTHON, "python_dotenv", NULL},
		{DEPS_PYTHON, "requests", NULL},
		{DEPS_PYTHON, "NumPy", NULL},
		{DEPS_PYTHON, "frobnicate", NULL},
		{DEPS_PYTHON, "scapy", NULL},
		{DEPS_PYTHON, "scrapy", NULL},
		{DEPS_PYTHON, "six", NULL},
		{DEPS_PYTHON, "sixx", NULL},
		{DEPS_PYTHON, "pymssql", NULL},
		{DEPS_PYTHON, "psycopg2", NULL},
		{DEPS_PYTHON, "cattrs", NULL},
		{DEPS_PYTHON, "pygal", NULL},
		{DEPS_PYTHON, "fpdf", NULL},
		{DEPS_PYTHON, "smbus", NULL},
		{DEPS_PYTHON, "sklern", "scikit-learn"},
		{DEPS_PYTHON, "dateutils", "python-dateutil"},
		{DEPS_PYTHON, "authlib", NULL},
		{DEPS_PYTHON, "environs", NULL},
		{DEPS_PYTHON, "tensorboardX", NULL},
		{DEPS_PYTHON, "fastai", NULL},
		{DEPS_PYTHON, "pvlib", NULL},
		{DEPS_PYTHON, "polib", NULL},
		{DEPS_PYTHON, "psutils", "psutil"},
		{DEPS_PYTHON, "orange3", NULL},
		{DEPS_PYTHON, "persist-queue", NULL},
		{DEPS_PYTHON, "grequests", NULL},
		{DEPS_PYTHON, "tqmd", "tqdm"},
		{DEPS_PYTHON, "tqdn", NULL},
		{DEPS_PYTHON, "pyvi", NULL},
		{DEPS_NODE, "d3.js", "d3"},
		{DEPS_NODE, "expressjs", "express"},
		{DEPS_NODE, "moment-js", "moment"},
		{DEPS_NODE, "chart.js", NULL},
		{DEPS_NODE, "bcryptjs", NULL},
		{DEPS_NODE, "crypto-js", NULL},
		{DEPS_NODE, "node-fetch", NULL},
		{DEPS_NODE, "sanitize-htm", "sanitize-html"},
		{DEPS_NODE, "xmlbuilder2", NULL},
		{DEPS_NODE, "preact", NULL},
		{DEPS_NODE, "sqlite", NULL},
		{DEPS_NODE, "expres", "express"},
		{DEPS_NODE, "loadsh", "lodash"},
		{DEPS_NODE, "express", NULL},
		{DEPS_NODE, "@scope/lodahs", NULL},
		{DEPS_R, "ggplot", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got = deps_meant(rows[i].lang, rows[i].package);

		is_str(got ? got : "", rows[i].meant ? rows[i].meant : "", rows[i].package);
	}
}

/* The tables are searched by halves: each row has to be found. */
static void every_row(void)
{
#define PY(module, package, why) {module, package},
	static const char *const rows[][2] = {
#include "deps/python_names.def"
	};
#undef PY
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[DEPS_NAME_SIZE];
		const char *why = NULL;

		if (deps_package(DEPS_PYTHON, rows[i][0], name, &why) < 0 || !why || !*why ||
		    strcmp(name, rows[i][1]) != 0 || deps_meant(DEPS_PYTHON, name)) {
			wrong++;
			diag("%s", rows[i][0]);
		}
	}
	ok(sizeof(rows) / sizeof(rows[0]) > 400, "hundreds of names");
	is_int((int)wrong, 0, "each is found, and taken for no other");
#define KNOWN(name) name,
	static const char *const known[] = {
#include "deps/python_known.def"
	};
#undef KNOWN
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (deps_meant(DEPS_PYTHON, known[i]) ||
		    (i && strcmp(known[i - 1], known[i]) >= 0)) {
			wrong++;
			diag("%s", known[i]);
		}
	is_int((int)wrong, 0, "nor any that is known to be there");
}

/* Modules that several packages have: what is used of them tells, or nothing does. */
static void many(void)
{
#define MANY(module, packages, why) {module, packages},
	static const char *const rows[][2] = {
#include "deps/many_names.def"
	};
#undef MANY
	char name[DEPS_NAME_SIZE] = "";
	const char *why = NULL;
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got = deps_many(DEPS_PYTHON, rows[i][0], &why);

		if (!got || !why || strcmp(got, rows[i][1]) != 0) {
			wrong++;
			diag("%s", rows[i][0]);
		}
	}
	is_int((int)wrong, 0, "each is found");
	ok(!deps_many(DEPS_PYTHON, "numpy", &why), "and no other");
	ok(!deps_many(DEPS_NODE, "esm", &why), "in Python's alone");
	ok(deps_told(DEPS_PYTHON, "esm", "pretrained", name, &why), "a part tells");
	is_str(name, "fair-esm", "which");
	ok(!deps_told(DEPS_PYTHON, "esm", "x", name, &why), "or does not");
	ok(deps_told(DEPS_PYTHON, "discord", "ext.pages", name, &why), "a part of a part");
	is_str(name, "py-cord", "of one whose name is another's");
}

static void nearest(void)
{
	is_str(deps_nearest(DEPS_PYTHON, "tensrflwo"), "tensorflow", "two letters");
	is_str(deps_nearest(DEPS_PYTHON, "beautifulsop"), "beautifulsoup4",
	       "a letter and a number");
	is_str(deps_nearest(DEPS_NODE, "experss"), "express", "of node's");
	ok(!deps_nearest(DEPS_PYTHON, "frobnicate"), "none is near");
	ok(!deps_nearest(DEPS_PYTHON, "abc"), "short names are all near to each other");
	ok(!deps_nearest(DEPS_R, "ggplot"), "of R's nobody knows them");
}

static void asked(void)
{
	static const struct {
		enum deps_lang lang;
		const char *text, *name; /* NULL: nothing that can be asked for */
	} rows[] = {
		{DEPS_PYTHON, "pandas>=2", "pandas"},
		{DEPS_PYTHON, "Pillow [x] ; a<3", "Pillow"},
		{DEPS_PYTHON, "evil @ http://192.0.2.1/e", NULL},
		{DEPS_PYTHON, "--index-url", NULL},
		{DEPS_NODE, "express", "express"},
		{DEPS_NODE, "express@^4 || >=5.1.0", "express"},
		{DEPS_NODE, "JSONStream@1.x", "JSONStream"},
		{DEPS_NODE, "@babel/core@7", "@babel/core"},
		{DEPS_NODE, "old@npm:express@3", "express"},
		{DEPS_NODE, "old@npm:@babel/core", "@babel/core"},
		{DEPS_NODE, "-e@npm:express", NULL},
		{DEPS_NODE, "evil@git+https://192.0.2.1/e", NULL},
		{DEPS_NODE, "evil@file:../e", NULL},
		{DEPS_NODE, "evil@somebody/repository", NULL},
		{DEPS_NODE, "evil@", NULL},
		{DEPS_NODE, "../evil", NULL},
		{DEPS_NODE, "@babel", NULL},
		{DEPS_NODE, "--registry=x", NULL},
		{DEPS_R, "data.table", "data.table"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[DEPS_NAME_SIZE] = "";

		is_int(deps_is_asked(rows[i].lang, rows[i].text), rows[i].name != NULL,
		       rows[i].text);
		deps_asked_name(rows[i].lang, rows[i].text, name);
		if (rows[i].name)
			is_str(name, rows[i].name, "and its name");
	}
}

static int set(const char *text, struct err *e)
{
	*e = (struct err)ERR_INIT;
	return table_set(text, strlen(text), "names", e);
}

/* The user's own table. */
static void own(void)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
		{"cv2", "names:1:1: the package is missing behind: \"cv2\""},
		{"a b\n  c\td e", "names:2:7: more than a module and a package: \"e\""},
		{"\n\na ../b", "names:3:3: no name of a package: \"../b\""},
		{"perl:a b", "names:1:1: no language whose programs import: \"perl\""},
		{"node:a/b c", "names:1:6: no name of a module: \"a/b\""},
		{"a b\na c", "names: a is there twice"},
	};
	char name[DEPS_NAME_SIZE];
	const char *why;
	struct err e;

	is_int(set("cv2 acme-cv\r\n#x y\nnode:cv2 @acme/cv\ngoogle.cloud acme-cloud\nours -", &e),
	       0, "a table");
	is_int(deps_package(DEPS_PYTHON, "cv2.x", name, &why), 0, "counts");
	is_str(name, "acme-cv", "before ours");
	is_int(deps_package(DEPS_NODE, "cv2", name, &why), 0, "also node's");
	is_str(name, "@acme/cv", "with a scope");
	is_int(deps_package(DEPS_PYTHON, "google.cloud.storage", name, &why), 0,
	       "the longest name");
	is_str(name, "google-cloud-storage", "counts, whosever it is");
	is_int(deps_package(DEPS_PYTHON, "ours", name, &why), -1, "one's own module");
	is_int(set("esm acme-esm", &e), 0, "one of several");
	ok(!deps_many(DEPS_PYTHON, "esm", &why), "is settled");
	ok(!deps_told(DEPS_PYTHON, "esm", "pretrained", name, &why), "whatever is used of it");
	is_int(set("cv2 acme-cv", &e), 0, "another table");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ok(set(wrong[i].text, &e) < 0, wrong[i].text);
		is_str(e.text, wrong[i].said, "and where");
	}
	is_int(deps_package(DEPS_PYTHON, "cv2", name, &why), 0, "one that is wrong");
	is_str(name, "acme-cv", "changes nothing");
	is_int(set("", &e), 0, "none");
	is_int(deps_package(DEPS_PYTHON, "cv2", name, &why), 0, "and ours");
	is_str(name, "opencv-python-headless", "count again");
}

int main(void)
{
	TAP_RUN(own);
	TAP_RUN(asked);
	TAP_RUN(packages);
	TAP_RUN(families);
	TAP_RUN(meant);
	TAP_RUN(every_row);
	TAP_RUN(many);
	TAP_RUN(nearest);
	return tap_done();
}
