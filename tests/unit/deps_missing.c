/* SPDX-License-Identifier: Apache-2.0 */
/* Which package would have what a program did not find. */
#include "deps/missing.h"

#include <string.h>

#include "tap.h"

static void said(void)
{
	static const struct {
		const char *text, *package;
	} rows[] = {
		{"ModuleNotFoundError: No module named 'cv2'\n", "opencv-python-headless"},
		{"ModuleNotFoundError: No module named 'requests'\n", "requests"},
		{"ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda to install "
		 "openpyxl.\n",
		 "openpyxl"},
		{"ModuleNotFoundError: No module named 'a'\n...\nModuleNotFoundError: No module named "
		 "'b'\n",
		 "b"},
		{"Error: Cannot find module 'left-pad'\nRequire stack:\n", "left-pad"},
		{"Error: Cannot find module '@a/b/c'\n", "@a/b"},
		{"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'chalk' imported from /x\n",
		 "chalk"},
		{"Error in library(jsonlite) : there is no package called \xe2\x80\x98jsonlite\xe2\x80\x99",
		 "jsonlite"},
		{"ImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.\n",
		 "pyarrow"},
		{"bs4.FeatureNotFound: Couldn't find a tree builder with the features you requested: lxml. "
		 "Do you need to install a parser library?\n",
		 "lxml"},
		{"RuntimeError: Form data requires \"python-multipart\" to be installed. \n",
		 "python-multipart"},
		{"/usr/bin/python3: No module named pytest\n", "pytest"},
		{"Error: ! The package \"readxl\" is required.\n", "readxl"},
		{"/usr/bin/python3: No module named x.__main__; 'x' is a package and cannot be\n",
		 NULL},
		{"", NULL},
		{"No module named 'x'", NULL},
		{"ModuleNotFoundError: No module named 'x", NULL},
		{"ModuleNotFoundError: No module named ''", NULL},
		{"ModuleNotFoundError: No module named '../x'", NULL},
		{"ModuleNotFoundError: No module named 'a b'", NULL},
		{"ModuleNotFoundError: No module named '-r'", NULL},
		{"ModuleNotFoundError: No module named 'tkinter'", NULL},
		{"ModuleNotFoundError: No module named 'apple.core'", NULL},
		{"Error: Cannot find module './local'\n", NULL},
		{"Error: Cannot find module '/work/x.js'\n", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct deps_missing m = {.lang = DEPS_PYTHON};
		bool found = deps_missing_in(rows[i].text, strlen(rows[i].text), &m);

		is_str(found ? m.package : "none", rows[i].package ? rows[i].package : "none",
		       rows[i].text[0] ? rows[i].text : "nothing");
	}
}

int main(void)
{
	TAP_RUN(said);
	return tap_done();
}
