/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of a run: which ones its policy injects, what stands for them inside, and their values on
 * the way from the vault to the gate. Values are here for a moment, in memory that is in no core
 * dump; the sandbox, its plan and its result know placeholders alone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
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

int secrets_file(const struct request *r, int *ret_fd, struct err *e)
{
	char home[4096];
	size_t size = sizeof(struct secret_set);
	auto_close int fd = memfd_create("secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct secret_set *s =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED || fd < 0)
		return err_sys(e, "secrets");
	(void)madvise(s, size, MADV_DONTDUMP); /* core dumps may be off anyway */
	memcpy(s, r->injected, size);
	int result = r->replays ? 0 : place_data(home, sizeof(home), e);
	if (r->replays)
		without_values(s);
	else if (result >= 0)
		result = vault_take(home, s, e);
	if (result >= 0 && (fd_write_all(fd, s, size) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0))
		result = err_sys(e, "secrets");
	explicit_bzero(s, size);
	(void)munmap(s, size);
	if (result >= 0)
		*ret_fd = take_fd(&fd);
	return result;
}
