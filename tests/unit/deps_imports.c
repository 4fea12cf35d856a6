/* SPDX-License-Identifier: Apache-2.0 */
/* What a program imports of mounted packages before it does anything else. */
#include "deps/imports.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

#define D "/usr/local/lib/python3.11/dist-packages/"

static const char watched[] =
	D "apple/__init__.py\0" D "apple/__pycache__/__init__.cpython-311.pyc\0\0" D "pear.py\0" D
	  "__pycache__/pear.cpython-311.pyc\0\0" D "fast.cpython-311-x86_64-linux-gnu.so\0\0\0"
	  "/usr/local/lib/pinfold/node_modules/fig/package.json\0";

static const struct {
	const char *text, *want;
} rows[] = {
	{"import apple", "apple"},
	{"import apple, os, pear", "apple,pear"},
	{"import apple as a, pear as p; print(1)", "apple,pear"},
	{"import apple; import pear", "apple"},
	{"import apple # , pear", "apple"},
	{"from apple.core import x, pear\nimport apple\n", "apple.core,apple"},
	{"import apple\nimport apple\n", "apple"},
	{"import os\nfrom pear import *", "pear"},
	{"import fast", "fast"},
	{"import applet\nimport app\nimport __pycache__\nimport fig\n", ""},
	{"if x:\n    import apple\n", ""},
	{"from . import apple\nfrom .apple import x\n", ""},
	{"import\nfrom\nimport \n", ""},
	{"import os\nos.environ['X'] = '1'\nimport apple", ""},
	{"import sys\nsys.path.insert(0, '.')\nimport apple", ""},
	{"", ""},
};

static void found(void)
{
	char list[IMPORTS_SIZE], many[64 * 40] = "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		imports_of(rows[i].text, strlen(rows[i].text), watched, sizeof(watched) - 1, list);
		is_str(list, rows[i].want, "what it imports first");
	}
	for (int i = 0; i < 60; i++)
		(void)snprintf(many + strlen(many), sizeof(many) - strlen(many),
			       "import apple.number%d\n", i);
	imports_of(many, strlen(many), watched, sizeof(watched) - 1, list);
	ok(strlen(list) < IMPORTS_SIZE && strstr(list, "number9"), "more than there is room for");
}

int main(void)
{
	TAP_RUN(found);
	return tap_done();
}
