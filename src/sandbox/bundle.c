/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/bundle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "wire/bundle.h"

_Static_assert(SANDBOX_LINKS_MAX == BUNDLE_LINKS_MAX, "the same number");
_Static_assert(DEPS_LAYERS_MAX >= BUNDLE_LAYERS_MAX, "there is room for all of them");
_Static_assert(DEPS_GIVEN_MAX == BUNDLE_LAYERS_MAX, "the same number");

static int describe(const struct sandbox_spec *spec, struct bundle *b, struct err *e)
{
	const struct sandbox_layers *l = &spec->layers;

	b->magic = BUNDLE_MAGIC;
	b->version = BUNDLE_VERSION;
	b->flags =
		(spec->deps.has_node ? BUNDLE_NODE : 0) | (spec_on_image(spec) ? BUNDLE_IMAGE : 0);
	if (spec->deps.watched_len <= BUNDLE_WATCHED_MAX) {
		b->watched_len = (uint32_t)spec->deps.watched_len;
		memcpy(b->watched, spec->deps.watched ? spec->deps.watched : "", b->watched_len);
	}
	if (spec->deps.modules && strlen(spec->deps.modules) < BUNDLE_MODULES_SIZE)
		(void)snprintf(b->modules, sizeof(b->modules), "%s", spec->deps.modules);
	b->dev = l->dev;
	b->ino = l->ino;
	if (spec->deps.n > BUNDLE_LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u layers of packages", BUNDLE_LAYERS_MAX);
	if (snprintf(b->path, sizeof(b->path), "%s", l->path) >= (int)sizeof(b->path))
		return err_set(e, ERR_LIMIT, "the path of the data directory is too long");
	b->n = spec->deps.n;
	memcpy(b->number, spec->deps.number, b->n * sizeof(b->number[0]));
	if (spec_on_image(spec))
		b->number[b->n++] = l->lower[0].number;
	for (const char *const *s = spec->deps.links; s && *s; s++) {
		if (b->n_links == BUNDLE_LINKS_MAX || strlen(*s) >= BUNDLE_LINK_SIZE)
			return err_set(e, ERR_LIMIT, "too many names outside /usr");
		(void)snprintf(b->links[b->n_links++], BUNDLE_LINK_SIZE, "%s", *s);
	}
	return 0;
}

static int open_layers(const struct sandbox_spec *spec, const struct bundle *b,
		       int fds[BUNDLE_LAYERS_MAX], struct err *e)
{
	char name[32];

	for (unsigned i = 0; i < b->n; i++) {
		(void)snprintf(name, sizeof(name), "%u/%s", b->number[i],
			       b->flags & BUNDLE_IMAGE ? "root" : "usr");
		fds[i] = openat(spec->layers.fd, name,
				O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fds[i] < 0)
			return err_sys(e, "a layer of the store");
	}
	return 0;
}

static int send_both(int sock, const struct bundle *b, const int *layers, const int *locks,
		     struct err *e)
{
	int r = passfd_send(sock, b, sizeof(*b), layers, b->n);

	if (r >= 0)
		r = passfd_send(sock, "", 1, locks, b->n);
	errno = -r;
	return r < 0 ? err_sys(e, "layers of packages") : 0;
}

int bundle_make(const struct sandbox_spec *spec, const int *locks, int *ret_fd, struct err *e)
{
	int fds[BUNDLE_LAYERS_MAX] = {FD_NONE, FD_NONE, FD_NONE, FD_NONE}, pair[2];
	auto_free struct bundle *b = calloc(1, sizeof(*b));

	if (!b || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "layers of packages");
	auto_close int ours = pair[0], theirs = pair[1];
	int r = describe(spec, b, e);
	if (r >= 0)
		r = open_layers(spec, b, fds, e);
	if (r >= 0)
		r = send_both(ours, b, fds, locks, e);
	for (unsigned i = 0; i < BUNDLE_LAYERS_MAX; i++)
		fd_close(&fds[i]);
	if (r >= 0)
		*ret_fd = take_fd(&theirs);
	return r;
}

void bundle_spec(const struct bundle *b, struct sandbox_spec *spec,
		 const char *links[SANDBOX_LINKS_MAX + 1])
{
	struct sandbox_deps *d = &spec->deps;
	bool image = b->flags & BUNDLE_IMAGE;

	d->n = image ? 0 : b->n;
	d->given = true;
	d->has_node = b->flags & BUNDLE_NODE;
	memcpy(d->number, b->number, d->n * sizeof(b->number[0]));
	for (unsigned i = 0; i < b->n_links; i++)
		links[i] = b->links[i];
	links[b->n_links] = NULL;
	d->links = links;
	d->watched = b->watched;
	d->watched_len = b->watched_len;
	spec->layers = (struct sandbox_layers){
		.fd = FD_NONE, .path = b->path, .dev = b->dev, .ino = b->ino, .n = image};
	spec->layers.lower[0] = (struct sandbox_layer){b->number[0], LAYER_ROOT | LAYER_IMAGE};
}

int bundle_take(int fd, struct sandbox_spec *spec, struct bundle_held *ret, struct err *e)
{
	struct bundle *b = calloc(1, sizeof(*b));
	struct sandbox_deps *d = &spec->deps;

	*ret = (struct bundle_held){.said = b};
	for (unsigned i = 0; i < BUNDLE_LAYERS_MAX; i++)
		d->fd[i] = FD_NONE;
	if (!b)
		return err_sys(e, "request");
	int n = passfd_receive(fd, b, sizeof(*b), d->fd, BUNDLE_LAYERS_MAX,
			       MSG_DONTWAIT | PASSFD_ANYBODYS);
	if (n < 0 || bundle_check(b, n) < 0) {
		int r = err_set(e, ERR_INVALID, "malformed request: its packages");

		return n == -EBADMSG ? n : r;
	}
	bundle_spec(b, spec, ret->links);
	return 0;
}

void bundle_forget(struct bundle_held *h, struct sandbox_spec *spec)
{
	if (!h->said)
		return;
	for (unsigned i = 0; i < BUNDLE_LAYERS_MAX; i++)
		fd_close(&spec->deps.fd[i]);
	spec->deps = (struct sandbox_deps){.n = 0};
	spec->layers = (struct sandbox_layers){.fd = FD_NONE};
	free(h->said);
	*h = (struct bundle_held){.said = NULL};
}
