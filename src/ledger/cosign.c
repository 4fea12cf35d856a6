/* SPDX-License-Identifier: Apache-2.0 */
/* Cosignatures as text (C2SP tlog-cosignature), and those of a chain. */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "ledger/owner.h"
#include "ledger/witness.h"

#define DASH "\xe2\x80\x94 "

struct named {
	uint8_t key_id[4];
	uint8_t time[8]; /* big endian */
	struct signature sig;
};

size_t cosign_message(const struct note *n, uint64_t time_s, char ret[2 * NOTE_SIZE])
{
	return (size_t)snprintf(ret, 2 * NOTE_SIZE, "cosignature/v1\ntime %llu\n%.*s",
				(unsigned long long)time_s, (int)n->body_len, n->body);
}

int cosign_parse_key(const char *text, size_t len, char ret_name[COSIGN_NAME_SIZE],
		     struct public_key *ret, struct err *e)
{
	uint8_t typed[1 + KEY_BYTES];
	char again[KEY_VERIFIER_SIZE];

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	/* "+", 8 digits, "+", 44 letters of base64 behind the name. */
	size_t tail = 1 + 8 + 1 + 44;
	if (len > tail && len - tail < COSIGN_NAME_SIZE &&
	    note_bytes(text + len - 44, 44, typed, sizeof(typed)) && typed[0] == KEY_COSIGNS) {
		memcpy(ret_name, text, len - tail);
		ret_name[len - tail] = '\0';
		memcpy(ret->byte, typed + 1, KEY_BYTES);
		note_verifier(KEY_COSIGNS, ret_name, ret, again);
		if (strlen(again) == len && memcmp(again, text, len) == 0)
			return 0;
	}
	(void)err_set(e, ERR_INVALID, "this is no key of a witness");
	return err_remedy(e, "give the line that pinfold audit witness DIR --name NAME prints");
}

size_t cosign_line(const struct cosignature *c, char ret[COSIGN_LINE_SIZE])
{
	uint64_t time = htobe64(c->time_s);
	struct named named = {.sig = c->sig};
	char text[128];

	memcpy(named.key_id, c->key_id, 4);
	memcpy(named.time, &time, sizeof(time));
	(void)note_base64(&named, sizeof(named), text);
	return (size_t)snprintf(ret, COSIGN_LINE_SIZE, DASH "%s %s\n", c->name, text);
}

bool cosign_parse(const char *line, size_t len, struct cosignature *ret)
{
	size_t dash = sizeof(DASH) - 1;
	struct named named;
	uint64_t time;

	while (len && line[len - 1] == '\n')
		len--;
	const char *blank = memrchr(line, ' ', len);
	if (len <= dash || memcmp(line, DASH, dash) != 0 || !blank || blank < line + dash)
		return false;
	size_t name = (size_t)(blank - line) - dash;
	if (name == 0 || name >= sizeof(ret->name) || memchr(line + dash, ' ', name) ||
	    memchr(line, '\n', len) ||
	    !note_bytes(blank + 1, len - (size_t)(blank + 1 - line), &named, sizeof(named)))
		return false;
	memcpy(ret->name, line + dash, name);
	ret->name[name] = '\0';
	memcpy(ret->key_id, named.key_id, 4);
	memcpy(&time, named.time, sizeof(time));
	ret->time_s = be64toh(time);
	ret->sig = named.sig;
	return true;
}

/* The notes of a chain's file, each with a cosignature behind it, the last that fits. */
static int last_in(const char *text, size_t len, const char *name, const struct public_key *key,
		   struct note *ret, struct cosignature *ret_sig)
{
	struct err none = ERR_INIT;
	uint8_t id[4] = {0};
	int found = 0;

	if (key)
		note_key_id(KEY_COSIGNS, name, key, id);
	for (const char *p = text, *end = text + len; p < end;) {
		const char *stop = memmem(p, (size_t)(end - p), "\n\n" DASH, 6);
		const char *over =
			stop ? memmem(stop + 2, (size_t)(end - stop) - 2, "\n\n", 2) : NULL;
		const char *his = over ? memrchr(stop, '\n', (size_t)(over - stop)) : NULL;
		char plain[NOTE_SIZE];
		struct cosignature c;
		struct note n;
		size_t used = 0;

		if (!his || his + 1 - p >= (ptrdiff_t)sizeof(plain) - 1)
			break;
		memcpy(plain, p, (size_t)(his + 1 - p));
		plain[his + 1 - p] = '\n';
		if (note_parse(plain, (size_t)(his + 2 - p), &n, &used, &none) == 0 &&
		    cosign_parse(his + 1, (size_t)(over - his - 1), &c) &&
		    (!name || (strcmp(c.name, name) == 0 && memcmp(c.key_id, id, 4) == 0))) {
			*ret = n;
			*ret_sig = c;
			found = 1;
		}
		p = over + 2;
	}
	return found;
}

int witness_last(int dir, const char *name, const struct public_key *key, struct note *ret,
		 struct cosignature *ret_sig, struct err *e)
{
	auto_close int fd = openat(dir, COSIGN_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_free char *text = malloc(65536);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, COSIGN_FILE);
	if (!text || fstat(fd, &st) < 0)
		return err_sys(e, COSIGN_FILE);
	/* The newest are at the end; one that is cut in front is skipped. */
	off_t from = st.st_size > 65536 ? st.st_size - 65536 : 0;
	ssize_t n = pread(fd, text, 65536, from);
	if (n < 0)
		return err_sys(e, COSIGN_FILE);
	const char *p = from ? memmem(text, (size_t)n, "\n\npinfold/", 10) : text;
	p = from && p ? p + 2 : p;
	return p ? last_in(p, (size_t)(text + n - p), name, key, ret, ret_sig) : 0;
}

/* The checkpoint that he was asked about; the chain may have gone on since. */
static int read_asked(int dir, struct note *ret, struct err *e)
{
	auto_close int fd = openat(dir, COSIGN_ASKED, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[NOTE_SIZE];
	size_t len = 0, used = 0;

	if (fd < 0 && errno == ENOENT) {
		(void)err_set(e, ERR_MISSING, "no witness was asked");
		return err_remedy(e, "pinfold audit checkpoint prints what he is asked");
	}
	if (fd < 0 || fd_read_max(fd, text, sizeof(text), &len) < 0)
		return err_sys(e, COSIGN_ASKED);
	return note_parse(text, len, ret, &used, e);
}

int witness_take(int dir, const char *line, size_t len, struct err *e)
{
	char text[NOTE_SIZE + COSIGN_LINE_SIZE];
	struct cosignature c;
	struct note n;
	int r = read_asked(dir, &n, e);

	if (r >= 0 && !cosign_parse(line, len, &c)) {
		(void)err_set(e, ERR_INVALID, "this is no line of a witness");
		return err_remedy(e, "give what pinfold audit witness printed");
	}
	if (r < 0)
		return r;
	size_t used = note_again(&n, text) - 1; /* its empty line comes behind his */
	used += cosign_line(&c, text + used);
	text[used++] = '\n';
	auto_close int fd = openat(dir, COSIGN_FILE,
				   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write_all(fd, text, used) < 0 || fsync(fd) < 0)
		return err_sys(e, "write " COSIGN_FILE);
	return owner_match(dir, fd, e);
}
