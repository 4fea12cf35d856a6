/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets at rest. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "egress/vault.h"
#include "tap.h"

static char dir[64], home[96], config[96], file[128], key[128];

static int set(const char *name, const char *value, uint64_t expires_ms, uint32_t uses)
{
	struct vault_entry one = {.expires_ms = expires_ms,
				  .uses_left = uses,
				  .created_ms = 1,
				  .len = (uint32_t)strlen(value)};
	struct err e = ERR_INIT;

	snprintf(one.name, sizeof(one.name), "%s", name);
	int r = vault_set(home, &one, value, &e);
	if (r < 0)
		diag("%s", e.text);
	return r;
}

/* The value of one, or why there is none. */
static const char *take(const char *name)
{
	static struct secret_set s;
	static char text[700];
	struct err e = ERR_INIT;

	s = (struct secret_set){.magic = SECRET_SET_MAGIC, .n = 1};
	snprintf(s.list[0].name, sizeof(s.list[0].name), "%s", name);
	if (vault_take(home, &s, &e) < 0)
		snprintf(text, sizeof(text), "%s", e.text);
	else
		snprintf(text, sizeof(text), "%.*s", (int)s.list[0].len, s.list[0].value);
	return text;
}

static size_t file_read(char *buf, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd >= 0)
		(void)fd_read_max(fd, buf, size, &n);
	close(fd);
	return n;
}

static void file_write(const char *buf, size_t len)
{
	int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);

	(void)fd_write_all(fd, buf, len);
	close(fd);
}

static void begin(const char *name)
{
	snprintf(home, sizeof(home), "%s/%s/data", dir, name);
	snprintf(config, sizeof(config), "%s/%s/config", dir, name);
	snprintf(file, sizeof(file), "%s/secrets", home);
	snprintf(key, sizeof(key), "%s/pinfold-vault.key", config);
	/* As systemd gives it: then also root's test has a key of its own. */
	char *p = config;
	while ((p = strchr(p + 1, '/'))) {
		*p = '\0';
		mkdir(config, 0700);
		*p = '/';
	}
	mkdir(config, 0700);
	int fd = open(key, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	(void)fd_write_all(fd, "0123456789abcdef0123456789abcdef", 32);
	close(fd);
	setenv("CREDENTIALS_DIRECTORY", config, 1);
}

static void kept(void)
{
	struct vault_entry list[VAULT_MAX];
	struct err e = ERR_INIT;
	struct stat st;
	char buf[8192];

	begin("kept");
	is_int(vault_list(home, list, &e), 0, "none at first");
	is_int(set("ONE", "first-secret-value", 0, UINT32_MAX), 0, "one is set");
	is_int(set("TWO", "second-secret-value", 0, UINT32_MAX), 0, "another");
	is_str(take("ONE"), "first-secret-value", "it comes back");
	is_str(take("TWO"), "second-secret-value", "and the other");
	is_int(set("ONE", "replaced-value", 0, UINT32_MAX), 0, "one is replaced");
	is_str(take("ONE"), "replaced-value", "by the new one");
	is_int(vault_list(home, list, &e), 2, "there are two");
	size_t n = file_read(buf, sizeof(buf));
	ok(n > 0 && !memmem(buf, n, "secret-value", 12) && !memmem(buf, n, "ONE", 3),
	   "neither values nor names are in the file");
	ok(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600, "which nobody else may read");
	is_int(vault_remove(home, "ONE", &e), 0, "one is removed");
	has_str(take("ONE"), "no secret ONE", "and gone");
	is_str(take("TWO"), "second-secret-value", "the other is not");
	ok(vault_remove(home, "ONE", &e) < 0 && e.kind == ERR_MISSING, "not twice");
}

static void limited(void)
{
	uint64_t now = (uint64_t)time(NULL) * 1000;

	begin("limited");
	(void)set("TWICE", "used-two-times", 0, 2);
	is_str(take("TWICE"), "used-two-times", "once");
	is_str(take("TWICE"), "used-two-times", "twice");
	has_str(take("TWICE"), "used up", "and no more");
	(void)set("OLD", "too-old-by-now", now - 1000, UINT32_MAX);
	has_str(take("OLD"), "too old", "one whose time is over");
	(void)set("NEW", "good-for-long", now + 100000, UINT32_MAX);
	is_str(take("NEW"), "good-for-long", "one whose time is not");
}

/* All or none: a use is not counted when another is not there. */
static void together(void)
{
	static struct secret_set s;
	struct err e = ERR_INIT;

	begin("together");
	(void)set("ONE", "first-secret-value", 0, 1);
	s = (struct secret_set){.magic = SECRET_SET_MAGIC, .n = 2};
	snprintf(s.list[0].name, sizeof(s.list[0].name), "ONE");
	snprintf(s.list[1].name, sizeof(s.list[1].name), "NONE");
	ok(vault_take(home, &s, &e) < 0, "one of two is not there");
	ok(s.list[0].value[0] == '\0', "the other's value is wiped");
	is_str(take("ONE"), "first-secret-value", "and not used");
}

static void damaged(void)
{
	char buf[8192], copy[8192];
	bool refused = true;

	begin("damaged");
	(void)set("ONE", "first-secret-value", 0, UINT32_MAX);
	size_t n = file_read(buf, sizeof(buf));
	for (size_t i = 0; i < n; i++) {
		memcpy(copy, buf, n);
		copy[i] ^= 1;
		file_write(copy, n);
		refused = refused && strstr(take("ONE"), "damaged");
	}
	ok(refused, "a bit anywhere that is not as it was");
	for (size_t i = 0; i < n; i++) {
		file_write(buf, i);
		refused = refused && strstr(take("ONE"), "damaged");
	}
	ok(refused, "an end that is missing");
	file_write(buf, n);
	is_str(take("ONE"), "first-secret-value", "as it was it is good");
	int fd = open(key, O_WRONLY | O_CLOEXEC);
	(void)fd_write_all(fd, "x", 1);
	close(fd);
	has_str(take("ONE"), "its key is another", "another key");
}

static void keys(void)
{
	struct vault_entry list[VAULT_MAX];
	struct err e = ERR_INIT;
	char made[160];
	struct stat st;

	begin("keys");
	unsetenv("CREDENTIALS_DIRECTORY");
	if (geteuid() == 0) {
		skip("a user's own key", "only an ordinary user has one");
		return;
	}
	setenv("XDG_CONFIG_HOME", config, 1);
	snprintf(made, sizeof(made), "%s/pinfold/vault.key", config);
	is_int(set("ONE", "first-secret-value", 0, UINT32_MAX), 0, "the first makes a key");
	ok(stat(made, &st) == 0 && (st.st_mode & 0777) == 0600 && st.st_size == 32,
	   "of 32 bytes, for nobody else");
	chmod(made, 0644);
	ok(vault_list(home, list, &e) < 0 && e.kind == ERR_DENIED && e.remedy[0],
	   "one that others may read is refused");
	chmod(made, 0600);
	unlink(made);
	has_str(take("ONE"), "open the key", "one that is gone is not made anew");
}

int main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/egress_vault.XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	TAP_RUN(kept);
	TAP_RUN(limited);
	TAP_RUN(together);
	TAP_RUN(damaged);
	TAP_RUN(keys);
	char remove[96];
	snprintf(remove, sizeof(remove), "%s", dir);
	pid_t pid = fork();
	if (pid == 0)
		execlp("rm", "rm", "-rf", remove, (char *)NULL);
	waitpid(pid, NULL, 0);
	return tap_done();
}
