/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/reserve.h"

#define ALONE_TRIES 250u /* of 20 ms */

int64_t store_now_ms(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool is_word(const char *s, size_t max, const char *more)
{
	size_t n = strlen(s);

	if (n == 0 || n > max)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    !(i > 0 && c && strchr(more, c)))
			return false;
	}
	return true;
}

/* Three letters and 26 of base32, as sandboxes and runs have. */
static bool is_id(const char *s)
{
	return strlen(s) == 29 && (strncmp(s, "sbx", 3) == 0 || strncmp(s, "run", 3) == 0);
}

int store_check_name(const char *name, struct err *e)
{
	if (is_word(name, STORE_NAME_MAX, "-") && !is_id(name))
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.80s\" is not a valid name for a workspace", name);
	return err_remedy(e, is_id(name) ? "it would be taken for an id of a sandbox"
					 : "use up to 63 of a-z, 0-9 and -, not beginning with -");
}

int store_check_label(const char *label, struct err *e)
{
	bool number = *label != '\0';

	for (const char *c = label; *c; c++)
		number = number && isdigit((unsigned char)*c);
	if (is_word(label, STORE_LABEL_MAX, "-_.") && !number)
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.80s\" is not a label", label);
	return err_remedy(e, number ? "a number alone would be taken for that of a snapshot"
				    : "use up to 63 of a-z, 0-9, -, _ and .");
}

static int make_dir(const struct store *s, const char *name, int *ret_fd, struct err *e)
{
	if (mkdirat(s->home_fd, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s/%s", s->home, name);
	if (!ret_fd)
		return 0;
	*ret_fd = openat(s->home_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(e, "open %s/%s", s->home, name) : 0;
}

static int check_home(const struct store *s, struct err *e)
{
	struct stat st;

	if (fstat(s->home_fd, &st) < 0)
		return err_sys(e, "%s", s->home);
	if (st.st_uid != geteuid()) {
		(void)err_set(e, ERR_DENIED, "the data directory %s is not yours", s->home);
		return err_remedy(e, "name one of your own with PINFOLD_HOME");
	}
	if ((st.st_mode & 077) && fchmod(s->home_fd, 0700) < 0)
		return err_sys(e, "%s", s->home);
	return 0;
}

static int lock_alone(const struct store *s, struct err *e)
{
	static const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};

	for (unsigned i = 0; i < ALONE_TRIES; i++) {
		if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		(void)nanosleep(&moment,
				NULL); /* tidy: who settles has no end that could be waited for */
	}
	(void)err_set(e, ERR_BUSY, "the data directory is in use");
	return err_remedy(e, "wait until no command is running in a workspace");
}

static int open_lock(struct store *s, bool alone, struct err *e)
{
	s->lock_fd = openat(s->home_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return err_sys(e, "%s/lock", s->home);
	if (alone)
		return lock_alone(s, e);
	if (flock(s->lock_fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	(void)err_set(e, ERR_BUSY, "the data directory is being repaired");
	return err_remedy(e, "wait until pinfold fsck has ended");
}

static int open_dirs(struct store *s, bool alone, struct err *e)
{
	struct stat st;

	s->home_fd = open(s->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->home_fd < 0)
		return err_sys(e, "the data directory %s", s->home);
	int r = check_home(s, e);
	if (r >= 0)
		r = open_lock(s, alone, e);
	if (r >= 0)
		r = make_dir(s, "layers", &s->layers_fd, e);
	if (r >= 0)
		r = make_dir(s, "locks", NULL, e);
	if (r < 0)
		return r;
	if (fstat(s->layers_fd, &st) < 0)
		return err_sys(e, "%s", s->layers_path);
	s->layers_dev = st.st_dev;
	s->layers_ino = st.st_ino;
	return 0;
}

static int refuse_read_only(const struct store *s, struct err *e)
{
	(void)err_set(e, ERR_DENIED, "the data directory %s cannot be written: it is read-only",
		      s->home);
	return err_remedy(e, "make it writable, or name another with PINFOLD_HOME");
}

/* To read the database, SQLite makes 32 KiB of shared memory anew, in a file beside it. It sees to
 * it that there is a page for each 4 KiB; on a full disk with smaller blocks, or one that writes to
 * new places only, a page that cannot be written later is a SIGBUS. So there has to be room before.
 * Who reads has then written to all pages that he will. */
static int open_db(struct store *s, const char *path, struct err *e)
{
	struct statfs fs;

	if (fstatfs(s->home_fd, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < RESERVE_SHORT)
		(void)reserve_give(s); /* else there was room, or nothing to give */
	int r = db_open(path, &s->db, e);
	reserve_retake(s);
	return r;
}

static int open_store(const char *home, bool alone, struct store **ret, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));
	char path[4200];
	int r = 0;

	if (!s)
		return err_sys(e, "store");
	s->home_fd = s->layers_fd = s->lock_fd = FD_NONE;
	s->owned = geteuid() == 0;
	/* A link on the way is the caller's affair; to the database nothing but our own path
	 * leads. */
	s->home = realpath(home, NULL);
	if (!s->home)
		r = err_sys(e, "the data directory %s", home);
	(void)snprintf(path, sizeof(path), "%s/layers", s->home ? s->home : "");
	s->layers_path = strdup(path);
	if (r >= 0)
		r = s->layers_path ? open_dirs(s, alone, e) : err_sys(e, "store");
	if (r < 0 && e->num == EROFS)
		r = refuse_read_only(s, e);
	(void)snprintf(path, sizeof(path), "%s/store.db", s->home ? s->home : "");
	if (r >= 0)
		r = open_db(s, path, e);
	if (r < 0) {
		store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int store_open(const char *home, struct store **ret, struct err *e)
{
	return open_store(home, false, ret, e);
}

int store_open_alone(const char *home, struct store **ret, struct err *e)
{
	return open_store(home, true, ret, e);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	db_close(s->db);
	reserve_retake(s);
	fd_close(&s->layers_fd);
	fd_close(&s->lock_fd);
	fd_close(&s->home_fd);
	free(s->layers_path);
	free(s->home);
	free(s);
}

int64_t store_file_now_ns(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &ts); /* cannot fail for this clock */
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
