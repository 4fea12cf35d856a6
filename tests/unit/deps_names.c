/* SPDX-License-Identifier: Apache-2.0 */
/* From modules to packages, and names that are almost those of others. */
#include "deps/names.h"
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
		{DEPS_PYTHON, "azure.storage.blob", "azure-storage-blob"},
		{DEPS_PYTHON, "mpl_toolkits.mplot3d", "matplotlib"},
		{DEPS_PYTHON, "_private", "_private"},
		{DEPS_PYTHON, "zmq", "pyzmq"},
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
}

int main(void)
{
	TAP_RUN(packages);
	TAP_RUN(meant);
	TAP_RUN(every_row);
	return tap_done();
}
