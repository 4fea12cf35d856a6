/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/ask.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"

#define COPIED_MAX (64u << 10)
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

_Static_assert(ASK_PORTS_MAX == SANDBOX_PORTS_MAX, "the same number");
_Static_assert(sizeof(struct ask_limits) == sizeof(struct sandbox_limits), "the same numbers");

struct block {
	char *data;
	size_t len, cap;
	bool failed;
};

static uint32_t put(struct block *b, const void *data, size_t len)
{
	size_t at = b->len, need = at + len + 1;

	if (b->failed || need > ASK_SIZE_MAX) {
		b->failed = true;
		return 0;
	}
	if (need > b->cap) {
		size_t cap = need * 2 < 8192 ? 8192 : need * 2;
		char *bigger = realloc(b->data, cap);

		if (!bigger) {
			b->failed = true;
			return 0;
		}
		b->data = bigger;
		b->cap = cap;
	}
	if (len > 0)
		memcpy(b->data + at, data, len);
	b->data[at + len] = '\0';
	b->len = need;
	return (uint32_t)at;
}

static uint32_t put_str(struct block *b, const char *s)
{
	return s ? put(b, s, strlen(s)) : 0;
}

static uint32_t put_vector(struct block *b, const char *const *v, uint32_t *ret_count)
{
	uint32_t n = 0, at = 0;

	while (v && v[n])
		n++;
	*ret_count = n;
	if (n == 0 || n > ASK_STRINGS_MAX) {
		b->failed = b->failed || n > 0;
		return 0;
	}
	uint32_t *table = calloc(n, sizeof(*table));
	if (!table) {
		b->failed = true;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		table[i] = put_str(b, v[i]);
	while (!b->failed && b->len % sizeof(uint32_t) != 0)
		(void)put(b, "", 0);
	at = put(b, table, n * sizeof(*table));
	free(table);
	return at;
}

static const uint32_t drivers[] = {
	[DRIVER_NONE] = 0,
	[DRIVER_PYTHON] = ASK_PYTHON,
	[DRIVER_NODE] = ASK_NODE,
	[DRIVER_R] = ASK_R,
};

static void fill(struct block *b, const struct sandbox_spec *spec, bool best_effort)
{
	struct ask_head head = {
		.magic = ASK_MAGIC,
		.version = ASK_VERSION,
		.flags = (spec->pty ? ASK_PTY : 0) | (spec->collect ? ASK_COLLECT : 0) |
			 (spec->as_root ? ASK_ROOT : 0) | (best_effort ? ASK_BEST_EFFORT : 0) |
			 (spec->dir_fd >= 0 ? ASK_DIR : 0) | (spec->live ? ASK_LIVE : 0) |
			 (spec->session ? ASK_SESSION : 0) | (spec->open_stdin ? ASK_STDIN : 0) |
			 (spec->as_user ? ASK_USER : 0) | drivers[spec->driver] |
			 (spec->egress.n_ports ? ASK_EGRESS : 0) |
			 (spec->alert_kills ? ASK_ALERT_KILL : 0) |
			 (spec->alert_pauses ? ASK_ALERT_PAUSE : 0) |
			 (spec->pinned.on ? ASK_PINNED : 0) | (spec->guard ? ASK_GUARD : 0) |
			 (spec->prompt ? ASK_PROMPT : 0) | (spec->line ? ASK_LINE : 0) |
			 (spec->guard == GUARD_DELETES ? ASK_GUARD_DELETE : 0) |
			 (spec_has_deps(spec) || spec_on_image(spec) || spec->deps.passed
				  ? ASK_LAYERS
				  : 0),
		.pinned_start_s = spec->pinned.start_s,
		.pinned_made_ns = spec->pinned.made_ns,
		.dir_dev = spec->dir_dev,
		.dir_ino = spec->dir_ino,
		.code_len = (uint32_t)spec->code_len,
		.rows = spec->rows,
		.cols = spec->cols,
	};

	memcpy(&head.limits, &spec->limits, sizeof(head.limits));
	head.n_ports = spec->egress.n_ports;
	memcpy(head.ports, spec->egress.ports, head.n_ports * sizeof(head.ports[0]));
	(void)put(b, &head, sizeof(head));
	head.argv = put_vector(b, spec->argv, &head.argc);
	head.envp = put_vector(b, spec->envp, &head.envc);
	head.hidden = put_vector(b, spec->dir_fd >= 0 ? spec->hidden : NULL, &head.hiddenc);
	head.metadata = put_vector(b, spec->metadata, &head.metadatac);
	head.path = put_str(b, spec->path);
	head.workdir = put_str(b, spec->workdir);
	head.code_name = put_str(b, spec->code_name);
	head.dir_path = spec->dir_fd >= 0 ? put_str(b, spec->dir_path) : 0;
	head.ca = put_str(b, spec->egress.ca);
	head.certs = put_str(b, spec->egress.certs);
	head.code = spec->code_len ? put(b, spec->code, spec->code_len) : 0;
	head.java_len = spec->egress.java ? (uint32_t)spec->egress.java_len : 0;
	head.java = head.java_len ? put(b, spec->egress.java, head.java_len) : 0;
	head.size = (uint32_t)b->len;
	if (!b->failed)
		memcpy(b->data, &head, sizeof(head));
}

static int too_large(struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "command, environment and code are too large: at most %u words",
		      ASK_STRINGS_MAX);
	return err_remedy(e, "give data on standard input or in a directory (--dir)");
}

int ask_write(const struct sandbox_spec *spec, bool best_effort, int *ret_fd, struct err *e)
{
	struct block b = {0};

	if (spec->code_len > ASK_SIZE_MAX)
		return too_large(e);
	fill(&b, spec, best_effort);
	auto_free char *data = b.data;
	if (b.failed)
		return too_large(e);
	auto_close int fd = memfd_create("ask", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fd_write_all(fd, data, b.len) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return err_sys(e, "write the request");
	*ret_fd = take_fd(&fd);
	return 0;
}

static int take_vectors(struct ask *ask, struct err *e)
{
	const struct ask_head *h = ask->head;
	const uint32_t *argv = (const uint32_t *)(const void *)((const char *)h + h->argv);
	const uint32_t *envp = (const uint32_t *)(const void *)((const char *)h + h->envp);

	const uint32_t *hidden = (const uint32_t *)(const void *)((const char *)h + h->hidden);

	const uint32_t *meta = (const uint32_t *)(const void *)((const char *)h + h->metadata);
	size_t n = (size_t)h->argc + h->envc + h->hiddenc;

	ask->vectors = calloc(n + h->metadatac + 4, sizeof(*ask->vectors));
	if (!ask->vectors)
		return err_sys(e, "request");
	for (uint32_t i = 0; i < h->argc; i++)
		ask->vectors[i] = ask_str(h, argv[i]);
	for (uint32_t i = 0; i < h->envc; i++)
		ask->vectors[h->argc + 1 + i] = ask_str(h, envp[i]);
	for (uint32_t i = 0; i < h->hiddenc; i++)
		ask->vectors[h->argc + h->envc + 2 + i] = ask_str(h, hidden[i]);
	ask->metadata = ask->vectors + n + 3;
	for (uint32_t i = 0; i < h->metadatac; i++)
		ask->metadata[i] = ask_str(h, meta[i]);
	return 0;
}

/* The usual one is small, and a copy of it cheaper than a mapping. It is sealed, so the two are the
 * same. */
static void *get_block(int fd, size_t size)
{
	if (size > COPIED_MAX) {
		void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);

		return p == MAP_FAILED ? NULL : p;
	}
	void *p = malloc(size);
	if (p && pread(fd, p, size, 0) == (ssize_t)size)
		return p;
	free(p);
	return NULL;
}

static void drop_block(void *p, size_t size)
{
	if (size > COPIED_MAX)
		(void)munmap(p, size);
	else
		free(p);
}

int ask_open(int fd, struct ask *ret, struct err *e)
{
	struct stat st;

	*ret = (struct ask){0};
	if ((fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    st.st_size < (off_t)sizeof(struct ask_head) || st.st_size > (off_t)ASK_SIZE_MAX)
		return err_set(e, ERR_INVALID, "malformed request");
	void *p = get_block(fd, (size_t)st.st_size);
	if (!p)
		return err_sys(e, "request");
	if (ask_check(p, (uint32_t)st.st_size) < 0) {
		drop_block(p, (size_t)st.st_size);
		return err_set(e, ERR_INVALID, "malformed request, or of another version");
	}
	ret->head = p;
	int r = take_vectors(ret, e);
	if (r < 0)
		ask_close(ret);
	return r;
}

void ask_spec(const struct ask *ask, struct sandbox_spec *ret)
{
	const struct ask_head *h = ask->head;

	memcpy(&ret->limits, &h->limits, sizeof(ret->limits));
	ret->egress = (struct sandbox_egress){
		.n_ports = h->n_ports, .gate = FD_NONE, .is_heard = h->n_ports && !ask->held};
	memcpy(ret->egress.ports, h->ports, sizeof(ret->egress.ports));
	ret->egress.ca = ask_str(h, h->ca);
	ret->egress.certs = ask_str(h, h->certs);
	ret->egress.java = h->java_len ? (const char *)h + h->java : NULL;
	ret->egress.java_len = h->java_len;
	ret->egress.inspects = h->ca;
	ret->pinned = (struct sandbox_pinned){h->flags & ASK_PINNED, h->pinned_start_s,
					      h->pinned_made_ns};
	ret->guard = h->flags & ASK_GUARD_DELETE ? GUARD_DELETES
		     : h->flags & ASK_GUARD	 ? GUARD_PROGRAMS
						 : GUARD_NOTHING;
	ret->guard_fd = FD_NONE;
	ret->pty = h->flags & ASK_PTY;
	ret->collect = h->flags & ASK_COLLECT;
	ret->prompt = h->flags & ASK_PROMPT;
	ret->as_root = h->flags & ASK_ROOT;
	ret->as_user = h->flags & ASK_USER;
	ret->open_stdin = h->flags & ASK_STDIN;
	ret->line = h->flags & ASK_LINE;
	ret->alert_kills = h->flags & ASK_ALERT_KILL;
	ret->alert_pauses = h->flags & ASK_ALERT_PAUSE;
	ret->live = h->flags & ASK_LIVE;
	ret->session = h->flags & ASK_SESSION;
	ret->argv = ask->vectors;
	ret->envp = ask->vectors + h->argc + 1;
	ret->hidden = ask->vectors + h->argc + h->envc + 2;
	ret->path = ask_str(h, h->path);
	ret->workdir = ask_str(h, h->workdir);
	ret->code_name = ask_str(h, h->code_name);
	ret->code = ask_str(h, h->code);
	ret->code_len = h->code_len;
	ret->dir_path = ask_str(h, h->dir_path);
	ret->dir_dev = h->dir_dev;
	ret->dir_ino = h->dir_ino;
	ret->rows = h->rows;
	ret->cols = h->cols;
}

void ask_command(const struct ask *ask, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (const char **v = ask->vectors; !(ask->head->flags & ASK_LIVE) && *v && at < size; v++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", at ? " " : "", *v);
}

void ask_close(struct ask *ask)
{
	if (ask->head)
		drop_block((void *)(uintptr_t)ask->head, ask->head->size);
	free((void *)ask->vectors);
	*ask = (struct ask){0};
}
