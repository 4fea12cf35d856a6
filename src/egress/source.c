/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/preset.h"
#include "egress/trust.h"

#define CEILING "/etc/pinfold/ceiling.yaml"

const struct policy_presets source_presets = {.add = preset_add};

int source_config_dir(char ret[PATH_MAX], struct err *e)
{
	const char *own = getenv("PINFOLD_CONFIG"), *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	int n = -1;

	if (own && own[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s", own);
	else if (geteuid() == 0)
		n = snprintf(ret, PATH_MAX, "/etc/pinfold");
	else if (xdg && xdg[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/pinfold", xdg);
	else if (home && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/.config/pinfold", home);
	if (n >= 0 && n < PATH_MAX)
		return 0;
	(void)err_set(e, ERR_MISSING, "no place for the configuration directory");
	return err_remedy(e, "set PINFOLD_CONFIG or HOME to an absolute path");
}

static int check_owner(const struct stat *st, const char *path, enum source_owner owner,
		       struct err *e)
{
	bool is_own = st->st_uid == 0 || (owner == SOURCE_SELF && st->st_uid == geteuid());

	if (!S_ISREG(st->st_mode))
		return err_set(e, ERR_INVALID, "%.200s is not a file", path);
	if (owner == SOURCE_ANYBODY || (is_own && !(st->st_mode & 022)))
		return 0;
	(void)err_set(e, ERR_DENIED, "%.200s could have been written by somebody else", path);
	return err_remedy(e, "chown it to %s and chmod go-w it",
			  owner == SOURCE_ROOT ? "root" : "yourself");
}

int source_read(int dir, const char *path, enum source_owner owner, char **ret, size_t *ret_len,
		struct err *e)
{
	/* A pipe would make us wait, and a link of a project leads anywhere. */
	int flags =
		O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (dir == AT_FDCWD ? 0 : O_NOFOLLOW);
	auto_close int fd = openat(dir, path, flags);
	auto_free char *text = NULL;
	struct stat st;
	size_t len = 0;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "read %.200s", path);
	if (check_owner(&st, path, owner, e) < 0)
		return -EINVAL;
	/* One byte more than may be, to see that there is no more. */
	size_t room =
		(size_t)st.st_size < POLICY_FILE_MAX ? (size_t)st.st_size + 1 : POLICY_FILE_MAX + 1;
	text = malloc(room + 1);
	if (!text)
		return err_set(e, ERR_INTERNAL, "no memory for %.200s", path);
	int r = fd_read_max(fd, text, room, &len);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "read %.200s", path);
	}
	if (len == room)
		return err_set(e, ERR_LIMIT, "%.200s is larger than %u bytes, or it grows", path,
			       POLICY_FILE_MAX);
	text[len] = '\0';
	*ret = take_ptr(&text);
	*ret_len = len;
	return 0;
}

/* *ret_there: is there such a file at all? Where there is none, that is no error yet. */
static int load_file(struct policy *p, const char *path, enum source_owner owner, bool *ret_there,
		     struct err *e)
{
	auto_free char *text = NULL;
	size_t len = 0;
	int r = source_read(AT_FDCWD, path, owner, &text, &len, e);

	*ret_there = r != -ENOENT;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return policy_load_yaml(p, text, len, path, &source_presets, e);
}

/* Without it nothing more can be reached: who asks for nothing needs no more than that. But rules
 * that somebody names may be narrowed there, so then it has to be readable. */
static int load_own(struct policy *p, bool is_needed, struct err *e)
{
	char path[PATH_MAX + 16];
	bool is_there;

	if (source_config_dir(path, e) < 0) {
		*e = (struct err)ERR_INIT;
		return 0; /* a place that there is not holds no file */
	}
	(void)snprintf(path + strlen(path), 16, "/policy.yaml");
	int r = load_file(p, path, SOURCE_SELF, &is_there, e);
	if (r == -EACCES && !is_needed) {
		*e = (struct err)ERR_INIT;
		return 0;
	}
	return r;
}

static int load_project(struct policy *p, const struct policy_sources *s,
			char note[SOURCE_NOTE_SIZE], struct err *e)
{
	auto_trust struct trust t = {.text = NULL};

	/* What a project puts in our way is no reason not to run: it just does not count. */
	int r = s->project_fd > 0 ? trust_check_at(s->project_fd, s->project, &t, e)
				  : trust_check(s->project, &t, e);
	if (r < 0) {
		(void)snprintf(note, SOURCE_NOTE_SIZE, "no " TRUST_FILE " is used: %.300s",
			       e->text);
		*e = (struct err)ERR_INIT;
		return 0;
	}
	if (t.state == TRUST_YES)
		return policy_load_yaml(p, t.text, t.len, t.path, &source_presets, e);
	if (t.state != TRUST_NONE)
		(void)snprintf(note, SOURCE_NOTE_SIZE,
			       "%.200s is not used: %s; read it, then: pinfold trust %.200s",
			       t.path,
			       t.state == TRUST_CHANGED ? "it changed since it was trusted"
							: "nobody has trusted it yet",
			       t.path);
	return 0;
}

/* One that is named must be there; nothing is run under a ceiling that we cannot read. 1: there is
 * one. */
static int add_ceiling(struct policy *p, const char *path, enum source_owner owner, bool is_named,
		       struct err *e)
{
	auto_policy *ceiling = policy_new();
	bool is_there = false;

	if (!ceiling)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	if (load_file(ceiling, path, owner, &is_there, e) < 0)
		return -EINVAL;
	if (is_there)
		return policy_set_ceiling(p, take_ptr(&ceiling), e) < 0 ? -EINVAL : 1;
	if (!is_named)
		return 0;
	(void)err_set(e, ERR_MISSING, "%.200s: there is no such ceiling", path);
	return err_remedy(e, "PINFOLD_CEILING names a file with a policy");
}

int policy_gather_ceilings(struct policy *p, struct err *e)
{
	const char *more = getenv("PINFOLD_CEILING");
	int n = add_ceiling(p, CEILING, SOURCE_ROOT, false, e), m = 0;

	if (n >= 0 && more && *more)
		m = add_ceiling(p, more, SOURCE_ANYBODY, true, e);
	return n < 0 ? n : m < 0 ? m : n + m;
}

int policy_ceilings(struct policy **ret, struct err *e)
{
	auto_policy *p = policy_new();

	if (!p)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	if (policy_gather_ceilings(p, e) < 0)
		return -EINVAL;
	*ret = take_ptr(&p);
	return 0;
}

/* Each ceiling's rules as if they were asked for: what all of them allow is left. */
static int load_open(struct policy *p, struct err *e)
{
	const char *more = getenv("PINFOLD_CEILING");
	bool is_there = false, is_more = false;

	if (load_file(p, CEILING, SOURCE_ROOT, &is_there, e) < 0 ||
	    (more && *more && load_file(p, more, SOURCE_ANYBODY, &is_more, e) < 0))
		return -EINVAL;
	if (is_there || is_more)
		return 0;
	(void)err_set(e, ERR_DENIED,
		      "an open network is what the operator's ceiling allows, and "
		      "there is no ceiling");
	(void)err_detail(e, "network");
	return err_remedy(e, "name the hosts that are needed; only the operator can set a ceiling");
}

int policy_gather(const struct policy_sources *s, struct policy **ret, char note[SOURCE_NOTE_SIZE],
		  struct err *e)
{
	auto_policy *p = policy_new();
	const struct policy_presets *presets =
		s->with_own || preset_is_kept() ? &source_presets : NULL;

	note[0] = '\0';
	if (!p)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	for (size_t i = 0; s->allow && s->allow[i]; i++)
		if (policy_allow(p, s->allow[i], e) < 0)
			return -EINVAL;
	if (s->text && policy_load_yaml(p, s->text, strlen(s->text),
					s->text_name ? s->text_name : "--policy", presets, e) < 0)
		return -EINVAL;
	if (s->open && load_open(p, e) < 0)
		return -EINVAL;
	if (s->with_own && load_own(p, s->text || (s->allow && s->allow[0]), e) < 0)
		return -EINVAL;
	if (s->project && load_project(p, s, note, e) < 0)
		return -EINVAL;
	/* Without a rule there is nothing to narrow; one that somebody names may get some later. */
	if ((!policy_is_empty(p) || s->text || s->allow || s->open) &&
	    policy_gather_ceilings(p, e) < 0)
		return -EINVAL;
	*ret = take_ptr(&p);
	return 0;
}
