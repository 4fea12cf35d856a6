/* SPDX-License-Identifier: Apache-2.0 */
/* A recording, from the files of egress_record.c to what the gate answers from. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/hash.h"
#include "egress/tape.h"
#include "engine/egress_record.h"
#include "warden/place.h"

#define LIST_HEAD "pinfold-recording 1\n"
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static bool is_digest(const char *text)
{
	return strspn(text, "0123456789abcdef") >= HASH_TEXT_SIZE - 1;
}

/* The bytes of that name, NUL behind them. */
static int read_one(int dir, const char *sha256, char **ret, size_t *ret_len, struct err *e)
{
	char name[HASH_TEXT_SIZE], found[HASH_TEXT_SIZE];
	uint8_t digest[HASH_BYTES];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s", sha256);
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)err_set(e, ERR_MISSING, "there is no recording %s", name);
		return err_remedy(e, "run it again with --record");
	}
	auto_free char *text =
		(uint64_t)st.st_size <= TAPE_BYTES_MAX ? malloc((size_t)st.st_size + 1) : NULL;
	if (!text || fd_read_max(fd, text, (size_t)st.st_size, ret_len) < 0)
		return err_sys(e, "recording %s", name);
	text[*ret_len] = '\0';
	hash_bytes(text, *ret_len, digest);
	hash_text(digest, found);
	if (strcmp(found, name) != 0) {
		(void)err_set(e, ERR_INVALID, "recording %s is damaged", name);
		return err_remedy(e, "remove that file, and run it again with --record");
	}
	*ret = take_ptr(&text);
	return 0;
}

static bool unhex(const char *text, uint8_t ret[HASH_BYTES])
{
	for (unsigned i = 0; i < HASH_BYTES; i++) {
		unsigned byte = 0;

		if (sscanf(text + 2 * i, "%2x", &byte) != 1) /* is_digest() */
			return false;
		ret[i] = (uint8_t)byte;
	}
	return true;
}

/* One line of the list: its entry, and the answer behind all others. */
static int add_line(int dir, const char *line, size_t len, int fd, struct tape_entry *ret,
		    struct err *e)
{
	const size_t digest = HASH_TEXT_SIZE - 1;
	uint8_t body[HASH_BYTES];
	auto_free char *answer = NULL;
	size_t answer_len = 0;

	if (len < 2 * digest + 3 || !is_digest(line) || line[digest] != ' ' ||
	    !is_digest(line + digest + 1) || line[2 * digest + 1] != ' ' || !unhex(line, body))
		return err_set(e, ERR_INVALID, "a recording's list is malformed");
	if (read_one(dir, line + digest + 1, &answer, &answer_len, e) < 0)
		return -ENOENT;
	tape_key(line + 2 * digest + 2, len - 2 * digest - 2, body, ret->key);
	off_t at = lseek(fd, 0, SEEK_END);
	if (at < 0 || (uint64_t)at + answer_len > 2 * TAPE_BYTES_MAX ||
	    fd_write_all(fd, answer, answer_len) < 0)
		return err_sys(e, "recording");
	ret->at = (uint64_t)at;
	ret->len = answer_len;
	return 0;
}

static int fill(int dir, const char *list, int fd, struct err *e)
{
	struct tape head = {.magic = TAPE_MAGIC};
	auto_free struct tape_entry *all = calloc(TAPE_ENTRIES_MAX, sizeof(*all));

	for (const char *p = list; all && (p = strchr(p, '\n')); p++)
		head.n++;
	head.n--; /* the first one */
	if (!all || head.n > TAPE_ENTRIES_MAX)
		return err_set(e, ERR_LIMIT, "a recording of more than %u answers",
			       TAPE_ENTRIES_MAX);
	if (ftruncate(fd, (off_t)(sizeof(head) + head.n * sizeof(*all))) < 0)
		return err_sys(e, "recording");
	list += strlen(LIST_HEAD);
	for (uint32_t i = 0; i < head.n; i++) {
		size_t len = strcspn(list, "\n");

		if (add_line(dir, list, len, fd, &all[i], e) < 0)
			return -EINVAL;
		list += len + 1;
	}
	if (pwrite(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    pwrite(fd, all, head.n * sizeof(*all), sizeof(head)) !=
		    (ssize_t)(head.n * sizeof(*all)))
		return err_sys(e, "recording");
	return 0;
}

int recording_tape(const char *sha256, int *ret_fd, struct err *e)
{
	char path[4096 + 16], data[4096];
	auto_close int fd = memfd_create("tape", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	auto_free char *list = NULL;
	size_t len = 0;

	if (strlen(sha256) != HASH_TEXT_SIZE - 1 || !is_digest(sha256)) {
		(void)err_set(e, ERR_INVALID, "\"%.80s\" is no digest of a recording", sha256);
		return err_remedy(e, "give recording.sha256 of the result of a run with --record");
	}
	if (place_data(data, sizeof(data), e) < 0)
		return -EINVAL;
	(void)snprintf(path, sizeof(path), "%.4090s/recordings", data);
	auto_close int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (read_one(dir, sha256, &list, &len, e) < 0)
		return -ENOENT;
	if (strncmp(list, LIST_HEAD, strlen(LIST_HEAD)) != 0 || strlen(list) != len)
		return err_set(e, ERR_INVALID, "%s is no list of a recording", sha256);
	if (fd < 0)
		return err_sys(e, "recording");
	int r = fill(dir, list, fd, e);
	if (r >= 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		r = err_sys(e, "recording");
	if (r >= 0)
		*ret_fd = take_fd(&fd);
	return r;
}
