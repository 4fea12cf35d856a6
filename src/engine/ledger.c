/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger for the public: which chain, read, checked, settled. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/host_layer.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/find.h"
#include "ledger/receipt.h"
#include "ledger/settle.h"
#include "ledger/verify.h"
#include "warden/place.h"

static int named = FD_NONE; /* pinfold_ledger_use() */

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

static bool is_off(void)
{
	const char *text = getenv("PINFOLD_LEDGER");

	return text && strcmp(text, "off") == 0;
}

static int check_dir(int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "the ledger's directory");
	if (st.st_uid == geteuid() && !(st.st_mode & 022))
		return 0;
	(void)err_set(e, ERR_DENIED, "the ledger's directory can be written by others");
	(void)err_detail(e, "ledger");
	return err_remedy(e, "make it yours, mode 0700");
}

static int in_home(int home, int *ret, struct err *e)
{
	auto_close int fd = openat(home, "ledger", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT && mkdirat(home, "ledger", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the ledger's directory");
	if (fd < 0)
		fd = openat(home, "ledger", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, "the ledger's directory");
	int r = check_dir(fd, e);
	if (r >= 0)
		*ret = take_fd(&fd);
	return r;
}

static int open_home(struct err *e)
{
	char path[512];
	int r = place_data(path, sizeof(path), e);
	int fd = r < 0 ? r : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && r >= 0 && errno == ENOENT) {
		r = place_make(path, e);
		fd = r < 0 ? r : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return r >= 0 ? err_sys(e, "the data directory %s", path) : fd;
	/* As the store does (check_home): it is nobody else's. */
	struct stat st;
	if (fstat(fd, &st) == 0 && (st.st_mode & 077) && st.st_uid == geteuid() &&
	    fchmod(fd, 0700) < 0) {
		(void)err_sys(e, "the data directory %s", path);
		fd_close(&fd);
		return -EACCES;
	}
	return fd;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

int record_open(const struct store *s, int *ret_fd, struct err *e)
{
	*ret_fd = FD_NONE;
	if (is_off())
		return 0;
	(void)pthread_once(&once, value_init);
	if (named >= 0) {
		*ret_fd = openat(named, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return *ret_fd < 0 ? err_sys(e, "the ledger's directory") : 0;
	}
	auto_close int own = s ? FD_NONE : open_home(e);
	int home = s ? s->home_fd : own;
	int r = home < 0 ? home : in_home(home, ret_fd, e);
	if (r < 0) {
		(void)err_wrap(e, "the ledger cannot be written");
		(void)err_detail(e, "ledger");
		(void)err_remedy(e, "nothing runs without a record: make the data directory "
				    "writable, or name another with PINFOLD_HOME");
	}
	return r;
}

static int add_chain(struct record_chain *list, unsigned *n, int home, const char *name,
		     struct err *e)
{
	int fd = openat(home, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(e, "%s", name);
	list[*n].fd = fd;
	(void)snprintf(list[(*n)++].name, sizeof(list->name), "%s", name);
	return 0;
}

static int add_tenants(struct record_chain *list, unsigned most, unsigned *n, int home,
		       struct err *e)
{
	int fd = openat(home, "tenants", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char name[128];
	int r = 0;

	if (!d) {
		fd_close(&fd);
		return 0;
	}
	while (r >= 0 && *n < most && (entry = readdir(d))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) > 63)
			continue;
		(void)snprintf(name, sizeof(name), "tenants/%.63s/ledger", entry->d_name);
		r = add_chain(list, n, home, name, e);
	}
	(void)closedir(d);
	return r;
}

int record_chains(struct record_chain *list, unsigned most, struct err *e)
{
	unsigned n = 0;

	assert(most >= 2);
	(void)pthread_once(&once, value_init);
	if (named >= 0) {
		(void)snprintf(list[0].name, sizeof(list[0].name), "api/ledger");
		list[0].fd = openat(named, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return list[0].fd < 0 ? err_sys(e, "the ledger's directory") : 1;
	}
	auto_close int home = open_home(e);
	if (home < 0)
		return home;
	int r = add_chain(list, &n, home, "ledger", e);
	if (r >= 0)
		r = add_chain(list, &n, home, "api/ledger", e);
	if (r >= 0)
		r = add_tenants(list, most, &n, home, e);
	for (unsigned i = 0; r < 0 && i < n; i++)
		fd_close(&list[i].fd);
	return r < 0 ? r : (int)n;
}

int pinfold_ledger_use(int dir_fd, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	char number[HASH_TEXT_SIZE];
	int r = check_dir(dir_fd, &e);

	if (r >= 0) {
		named = dir_fd;
		/* Later this process may not be able to read what that is made of. */
		(void)host_layer(dir_fd, number);
	}
	return result(r, &e, ret_error);
}

int pinfold_ledger_unsettled(void)
{
	struct err e = ERR_INIT;
	auto_close int dir = FD_NONE;

	return record_written() && record_open(NULL, &dir, &e) >= 0 && dir >= 0 &&
	       settle_is_due(dir);
}

int pinfold_ledger_settle_within(uint32_t ms, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_close int dir = FD_NONE;
	int r = record_open(NULL, &dir, &e);

	if (r >= 0 && dir >= 0)
		r = settle_within(dir, ms, &e);
	return result(r, &e, ret_error);
}

int pinfold_ledger_settle(struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_close int dir = FD_NONE;
	int r = record_open(NULL, &dir, &e);

	if (r >= 0 && dir >= 0)
		r = settle(dir, &e);
	return result(r, &e, ret_error);
}

int pinfold_ledger_catch_up(struct pinfold_error *ret_error)
{
	static struct stat seen;
	struct err e = ERR_INIT;
	struct stat now;
	auto_close int dir = FD_NONE;
	int r = record_open(NULL, &dir, &e);

	if (r < 0 || dir < 0 || fstatat(dir, "events", &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (now.st_ino == seen.st_ino && now.st_size == seen.st_size) || !settle_is_due(dir))
		return result(r, &e, ret_error);
	r = settle(dir, &e);
	if (r >= 0)
		seen = now;
	return result(r, &e, ret_error);
}
