/* SPDX-License-Identifier: Apache-2.0 */
/* Values for a sandbox that the API makes, whose process may not open a vault: sent there as one
 * descriptor, which it hands to the gate. */
#include <pinfold/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "cmd/request.h"
#include "cmd/secret.h"
#include "egress/secret.h"

static int split(const struct request *r, char *room, struct pinfold_secret *ret, unsigned *ret_n,
		 struct err *e)
{
	unsigned n = 0;

	for (; r->give.items[n]; n++) {
		if (n == SECRET_SET_MAX)
			return err_set(e, ERR_LIMIT, "--give: more than %u", SECRET_SET_MAX);
		char *mark = strchr(r->give.items[n], '=');
		size_t len = mark ? (size_t)(mark - r->give.items[n]) : 0;
		char *name = room + (size_t)n * SECRET_NAME_SIZE;

		if (!mark || len >= SECRET_NAME_SIZE)
			return err_set(e, ERR_INVALID, "--give: no NAME=PLACEHOLDER");
		(void)snprintf(name, SECRET_NAME_SIZE, "%.*s", (int)len, r->give.items[n]);
		ret[n] = (struct pinfold_secret){name, mark + 1};
	}
	*ret_n = n;
	return 0;
}

int secret_give(const struct request *r, struct err *e)
{
	char names[SECRET_SET_MAX * SECRET_NAME_SIZE];
	struct pinfold_secret list[SECRET_SET_MAX];
	struct pinfold_error failure;
	auto_close int fd = FD_NONE;
	unsigned n = 0;

	if (split(r, names, list, &n, e) < 0)
		return -EINVAL;
	if (pinfold_secrets_hold(list, n, &fd, &failure) < 0) {
		int k = err_set(e, err_kind_of(failure.code), "%s", failure.message);

		const char *dot = strchr(failure.code, '.');

		if (dot)
			(void)err_detail(e, dot + 1);
		(void)snprintf(e->remedy, sizeof(e->remedy), "%s", failure.remedy);
		return k;
	}
	int sent = passfd_send((int)r->hold_fd, "", 1, &fd, 1);
	if (sent < 0) {
		errno = -sent;
		return err_sys(e, "--hold-fd");
	}
	printf("{}\n");
	return 0;
}
