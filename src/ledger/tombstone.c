/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/tombstone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/open.h"
#include "ledger/owner.h"

#define NEXT TOMBSTONE_FILE ".next"
#define DASH "\xe2\x80\x94 "

static void add_line(struct tombstone *t, const char *word, const void *data, size_t len)
{
	char text[128];

	(void)note_base64(data, len, text);
	t->body_len += (size_t)snprintf(t->body + t->body_len, sizeof(t->body) - t->body_len,
					"%s %s\n", word, text);
}

void tombstone_body(struct tombstone *t)
{
	char sig[128];

	t->body_len = note_body(&t->point, t->body);
	add_line(t, "last", &t->last, sizeof(t->last));
	for (unsigned k = 0; k < TREE_LEVELS; k++)
		if (t->edge.size >> k & 1)
			add_line(t, "edge", &t->edge.hash[k], sizeof(t->edge.hash[k]));
	for (unsigned i = 0; i < t->n_keys; i++) {
		add_line(t, "key", &t->keys[i].key, sizeof(t->keys[i].key));
		(void)snprintf(sig, sizeof(sig), "-");
		if (i)
			(void)note_base64(t->keys[i].sig.byte, SIGNATURE_BYTES, sig);
		/* Over the line feed. */
		t->body_len--;
		t->body_len += (size_t)snprintf(t->body + t->body_len,
						sizeof(t->body) - t->body_len, " %s\n", sig);
	}
}

/* A line "WORD BASE64" of so many bytes; false: the next is none. */
static bool take_line(const char **p, const char *end, const char *word, void *ret, size_t n)
{
	const char *stop = memchr(*p, '\n', (size_t)(end - *p));
	size_t len = strlen(word);

	if (!stop || (size_t)(stop - *p) <= len + 1 || memcmp(*p, word, len) != 0 ||
	    (*p)[len] != ' ' || !note_bytes(*p + len + 1, (size_t)(stop - *p) - len - 1, ret, n))
		return false;
	*p = stop + 1;
	return true;
}

static bool take_key(const char **p, const char *end, struct tombstone *t)
{
	const char *stop = memchr(*p, '\n', (size_t)(end - *p));
	const char *blank =
		stop && stop - *p > 5 ? memchr(*p + 4, ' ', (size_t)(stop - *p) - 4) : NULL;
	struct tombstone_key *k = &t->keys[t->n_keys];

	if (!blank || memcmp(*p, "key ", 4) != 0 || t->n_keys == TOMBSTONE_KEYS ||
	    !note_bytes(*p + 4, (size_t)(blank - *p) - 4, &k->key, sizeof(k->key)))
		return false;
	blank++;
	if (t->n_keys == 0 ? stop - blank != 1 || *blank != '-'
			   : !note_bytes(blank, (size_t)(stop - blank), &k->sig, sizeof(k->sig)))
		return false;
	t->n_keys++;
	*p = stop + 1;
	return true;
}

/* The head is that of a checkpoint, with the signature of the whole behind it. */
static bool take_head(const char *text, size_t len, struct tombstone *t, const char **ret_rest)
{
	const char *sign = memmem(text, len, "\n\n" DASH, 6), *line = text;
	char note[NOTE_SIZE];
	struct note n;
	struct err none = ERR_INIT;
	size_t used = 0;

	for (unsigned i = 0; i < 3 && line; i++) {
		line = memchr(line, '\n', len - (size_t)(line - text));
		line = line ? line + 1 : NULL;
	}
	if (!sign || !line || line > sign)
		return false;
	size_t head = (size_t)(line - text), tail = len - (size_t)(sign + 1 - text);
	if (head + tail >= sizeof(note))
		return false;
	memcpy(note, text, head);
	memcpy(note + head, sign + 1, tail);
	if (note_parse(note, head + tail, &n, &used, &none) < 0 || used != head + tail)
		return false;
	t->point = n.point;
	t->sig = n.sig;
	memcpy(t->key_id, n.key_id, sizeof(t->key_id));
	*ret_rest = line;
	return true;
}

int tombstone_parse(const char *text, size_t len, struct tombstone *t, struct err *e)
{
	const char *p = NULL, *sign = memmem(text, len, "\n\n" DASH, 6),
		   *end = sign ? sign + 1 : NULL;

	*t = (struct tombstone){.n_keys = 0};
	bool good = end && take_head(text, len, t, &p);
	t->edge.size = t->point.head.size;
	good = good && take_line(&p, end, "last", &t->last, sizeof(t->last));
	for (unsigned k = 0; k < TREE_LEVELS && good; k++)
		if (t->edge.size >> k & 1)
			good = take_line(&p, end, "edge", &t->edge.hash[k],
					 sizeof(t->edge.hash[k]));
	while (good && p < end)
		good = take_key(&p, end, t);
	if (good && t->n_keys && t->edge.size) {
		struct tree_hash root;

		tree_root(&t->edge, &root);
		tombstone_body(t);
		good = tree_same(&root, &t->point.head.root) &&
		       t->body_len == (size_t)(end - text) &&
		       memcmp(t->body, text, t->body_len) == 0;
		if (good)
			return 0;
	}
	return err_set(e, ERR_INVALID, "no tombstone of a ledger");
}

int tombstone_read(int dir, struct tombstone **ret, struct err *e)
{
	auto_close int fd = ledger_open(dir, TOMBSTONE_FILE, e);
	auto_free struct tombstone *t = malloc(sizeof(*t));
	auto_free char *text = malloc(TOMBSTONE_BYTES);
	size_t len = 0;

	if (fd < 0)
		return e->num == ENOENT ? 0 : fd;
	if (!t || !text || fd_read_max(fd, text, TOMBSTONE_BYTES, &len) < 0)
		return err_sys(e, TOMBSTONE_FILE);
	int r = tombstone_parse(text, len, t, e);
	if (r < 0)
		return r;
	*ret = take_ptr(&t);
	return 1;
}

uint64_t tombstone_size(int dir)
{
	struct err none = ERR_INIT;
	auto_close int fd = ledger_open(dir, TOMBSTONE_FILE, &none);
	char text[NOTE_NAME_SIZE + 32];
	size_t len = 0;
	uint64_t n = 0;

	if (fd < 0 || fd_read_max(fd, text, sizeof(text), &len) < 0)
		return 0;
	const char *p = memchr(text, '\n', len), *end = text + len;
	for (p = p ? p + 1 : end; p < end && *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return p < end && *p == '\n' ? n : 0;
}

int tombstone_write(int dir, const struct tombstone *t, struct err *e)
{
	auto_close int fd =
		openat(dir, NEXT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	uint8_t named[4 + SIGNATURE_BYTES];
	char sig[128], line[NOTE_SIZE];

	memcpy(named, t->key_id, 4);
	memcpy(named + 4, t->sig.byte, SIGNATURE_BYTES);
	(void)note_base64(named, sizeof(named), sig);
	int n = snprintf(line, sizeof(line), "\n" DASH "%s %s\n\n", t->point.name, sig);
	if (fd < 0 || fd_write_all(fd, t->body, t->body_len) < 0 ||
	    fd_write_all(fd, line, (size_t)n) < 0 || fsync(fd) < 0)
		return err_sys(e, "write " NEXT);
	return owner_match(dir, fd, e);
}

int tombstone_take(int dir, struct err *e)
{
	if (renameat(dir, NEXT, dir, TOMBSTONE_FILE) < 0 || fsync(dir) < 0)
		return err_sys(e, "write " TOMBSTONE_FILE);
	return 0;
}
