/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of a run: which ones its policy injects, what stands for them inside, and their values on
 * the way from the vault to the gate. Values are here for a moment, in memory that is in no core
 * dump; the sandbox, its plan and its result know placeholders alone.
 */
#include <assert.h>
#include <fcntl.h>
#include <pinfold/policy.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/vault.h"
#include "engine/run_int.h"
#include "warden/place.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static int name_one(struct secret *one, const char *name, struct err *e)
{
	uint8_t random[SECRET_RANDOM];

	if (!secret_is_name(name)) {
		(void)err_set(e, ERR_INVALID, "inject: \"%.63s\" is no name of a secret", name);
		return err_remedy(e, "use letters, digits and _: it is a variable's name inside");
	}
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, "random numbers");
	(void)snprintf(one->name, sizeof(one->name), "%s", name);
	secret_mark(random, one->placeholder);
	return 0;
}

int request_secrets(struct request *r, struct err *e)
{
	const char *names[SECRET_SET_MAX];
	unsigned n = policy_secrets(r->policy, names, SECRET_SET_MAX);

	if (n == 0)
		return 0;
	if (n > SECRET_SET_MAX)
		return err_set(e, ERR_LIMIT, "a policy with more than %u secrets", SECRET_SET_MAX);
	r->injected = calloc(1, sizeof(*r->injected));
	if (!r->injected)
		return err_sys(e, "secrets");
	r->injected->magic = SECRET_SET_MAGIC;
	for (unsigned i = 0; i < n; i++)
		if (name_one(&r->injected->list[i], names[i], e) < 0)
			return -EINVAL;
	r->injected->n = n;
	return 0;
}

/* In a replay nothing leaves: something has to stand where values would. */
static void without_values(struct secret_set *s)
{
	static const char nothing[] = "no-secret-in-a-replay";

	for (unsigned i = 0; i < s->n; i++) {
		s->list[i].len = sizeof(nothing) - 1;
		memcpy(s->list[i].value, nothing, sizeof(nothing));
	}
}

/* Values by name out of the vault, and all of it into a file that nobody changes any more. */
static int seal(struct secret_set *s, bool replays, int *ret_fd, struct err *e)
{
	char home[4096];
	auto_close int fd = memfd_create("secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? err_sys(e, "secrets") : 0;

	if (r >= 0 && replays)
		without_values(s);
	else if (r >= 0)
		r = place_data(home, sizeof(home), e);
	if (r >= 0 && !replays)
		r = vault_take(home, s, e);
	if (r >= 0 && (fd_write_all(fd, s, sizeof(*s)) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0))
		r = err_sys(e, "secrets");
	if (r >= 0)
		*ret_fd = take_fd(&fd);
	return r;
}

static int seal_copy(const struct secret_set *named, bool replays, int *ret_fd, struct err *e)
{
	size_t size = sizeof(struct secret_set);
	struct secret_set *s =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return err_sys(e, "secrets");
	(void)madvise(s, size, MADV_DONTDUMP); /* core dumps may be off anyway */
	memcpy(s, named, size);
	int r = seal(s, replays, ret_fd, e);
	explicit_bzero(s, size);
	(void)munmap(s, size);
	return r;
}

/* Of somebody who may open the vault, where we may not. What is in it the gate looks at. */
static int ask_for(const struct request *r, int *ret_fd, struct err *e)
{
	struct pinfold_secret list[SECRET_SET_MAX];
	struct pinfold_error failure = {.code = ""};
	auto_close int fd = FD_NONE;
	struct stat st;

	for (unsigned i = 0; i < r->injected->n; i++)
		list[i] = (struct pinfold_secret){r->injected->list[i].name,
						  r->injected->list[i].placeholder};
	if (r->secrets_from->take(r->secrets_from->arg, list, r->injected->n, &fd, &failure) < 0)
		return error_taken(&failure, e);
	if (fd < 0 || (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    st.st_size != (off_t)sizeof(struct secret_set))
		return err_set(e, ERR_INTERNAL, "secrets: no file of them came");
	*ret_fd = take_fd(&fd);
	return 0;
}

int secrets_file(const struct request *r, int *ret_fd, struct err *e)
{
	return r->secrets_from && !r->replays ? ask_for(r, ret_fd, e)
					      : seal_copy(r->injected, r->replays, ret_fd, e);
}

static int name_given(struct secret *one, const struct pinfold_secret *given, struct err *e)
{
	if (!given->name || !secret_is_name(given->name) || !given->placeholder ||
	    strlen(given->placeholder) != SECRET_MARK_LEN ||
	    !mark_in(given->placeholder, SECRET_MARK_LEN))
		return err_set(e, ERR_INVALID, "a secret without a name or placeholder");
	(void)snprintf(one->name, sizeof(one->name), "%s", given->name);
	(void)snprintf(one->placeholder, sizeof(one->placeholder), "%s", given->placeholder);
	return 0;
}

int pinfold_secrets_hold(const struct pinfold_secret *list, unsigned n, int *ret_fd,
			 struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_free struct secret_set *named = calloc(1, sizeof(*named));
	int r = named ? 0 : err_sys(&e, "secrets");

	assert(list && ret_fd && ret_error);
	if (r >= 0 && (n == 0 || n > SECRET_SET_MAX))
		r = err_set(&e, ERR_LIMIT, "secrets: up to %u of them", SECRET_SET_MAX);
	for (unsigned i = 0; r >= 0 && i < n; i++)
		r = name_given(&named->list[i], &list[i], &e);
	if (r >= 0) {
		named->magic = SECRET_SET_MAGIC;
		named->n = n;
		r = seal_copy(named, false, ret_fd, &e);
	}
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
