/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside: tries to use keyrings and to find a key of the launcher's session.
 *	keys SERIAL
 * Outside: makes a session keyring with a key that everybody may read, and runs a program in that
 * session. @KEY@ in its arguments becomes the key's number.
 *	keys plant VALUE PROGRAM [ARG...]
 */
#include "B-doors.h"
#include <err.h>
#include <linux/keyctl.h>

#define KEY_NAME "pinfold-canary"
#define ALL_RIGHTS 0x3f3f3f3fL

static long keyctl(int op, long a, long b, long c, long d)
{
	return syscall(SYS_keyctl, op, a, b, c, d);
}

static void plant(char **argv)
{
	static char serial[24];
	const char *value = argv[0];
	long session = keyctl(KEYCTL_JOIN_SESSION_KEYRING, (long)"pinfold-test", 0, 0, 0);
	long key = syscall(SYS_add_key, "user", KEY_NAME, value, strlen(value),
			   KEY_SPEC_SESSION_KEYRING);

	if (session < 0 || key < 0 || keyctl(KEYCTL_SETPERM, key, ALL_RIGHTS, 0, 0) < 0 ||
	    keyctl(KEYCTL_SETPERM, session, ALL_RIGHTS, 0, 0) < 0)
		err(1, "plant a key");
	snprintf(serial, sizeof(serial), "%ld", key);
	for (char **arg = argv + 1; *arg; arg++)
		if (!strcmp(*arg, "@KEY@"))
			*arg = serial;
	execv(argv[1], argv + 1);
	err(1, "%s", argv[1]);
}

static void try_read(const char *name, long key)
{
	char value[128] = "";
	long n = keyctl(KEYCTL_READ, key, (long)value, sizeof(value) - 1, 0);

	filtered(name, n);
	if (n > 0)
		printf("open %s value %s\n", name, value);
}

static void look(long serial)
{
	static const struct {
		const char *name;
		int ring;
	} rings[] = {{"thread", KEY_SPEC_THREAD_KEYRING},
		     {"process", KEY_SPEC_PROCESS_KEYRING},
		     {"session", KEY_SPEC_SESSION_KEYRING},
		     {"user", KEY_SPEC_USER_KEYRING},
		     {"user-session", KEY_SPEC_USER_SESSION_KEYRING}};

	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), "ring-%s", rings[i].name);
		filtered(name, keyctl(KEYCTL_GET_KEYRING_ID, rings[i].ring, 0, 0, 0));
		snprintf(name, sizeof(name), "search-%s", rings[i].name);
		filtered(name,
			 keyctl(KEYCTL_SEARCH, rings[i].ring, (long)"user", (long)KEY_NAME, 0));
	}
	filtered("add", syscall(SYS_add_key, "user", "x", "y", 1, KEY_SPEC_PROCESS_KEYRING));
	filtered("request", syscall(SYS_request_key, "user", KEY_NAME, NULL, 0));
	filtered("join", keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0));
	try_read("read-by-number", serial);
	filtered("reached", keyctl(10000, 0, 0, 0, 0));
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "plant"))
		plant(argv + 2);
	look(argc > 1 ? number(argv[1]) : 0);
	return 0;
}
