/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a chain: its id, its key, its first event. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/chain_int.h"
#include "ledger/notary.h"
#include "ledger/owner.h"

void chain_name(const char *chain, char ret[NOTE_NAME_SIZE])
{
	(void)snprintf(ret, NOTE_NAME_SIZE, "pinfold/%s", chain);
}

static bool says_already(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char now[KEY_VERIFIER_SIZE + KEY_PEM_SIZE];
	size_t len = 0;

	return fd >= 0 && fd_read_max(fd, now, sizeof(now), &len) == 0 && len == strlen(text) &&
	       memcmp(now, text, len) == 0;
}

/* Whoever checks the ledger meanwhile finds the file whole, as it was or as it is to be. The first
 * key of a chain apart, there is hardly ever anything to write: who settles only makes sure. */
static int write_file(int dir, const char *name, const char *text, struct err *e)
{
	char next[32];

	if (says_already(dir, name, text))
		return 0;
	(void)snprintf(next, sizeof(next), "%s.next", name);
	auto_close int fd =
		openat(dir, next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && owner_match(dir, fd, e) < 0)
		return -EPERM;
	if (r == 0 && renameat(dir, next, dir, name) < 0)
		r = -errno;
	errno = -r;
	return r < 0 ? err_sys(e, "write %s", name) : 0;
}

/* All keys that the chain has had: receipts of an older one can still be checked. */
static int list_key(int dir, const char *verifier, struct err *e)
{
	auto_close int fd =
		openat(dir, CHAIN_KEYS, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	auto_free char *all = calloc(1, CHAIN_KEYS_BYTES + 1);
	size_t len = 0;

	if (fd < 0 || !all || fd_read_max(fd, all, CHAIN_KEYS_BYTES, &len) < 0)
		return err_sys(e, CHAIN_KEYS);
	if (strstr(all, verifier))
		return 0;
	if (fd_write_all(fd, verifier, strlen(verifier)) < 0)
		return err_sys(e, "write " CHAIN_KEYS);
	return owner_match(dir, fd, e);
}

int chain_write_key(int dir, const char *chain, const struct public_key *key, struct err *e)
{
	char name[NOTE_NAME_SIZE], pem[KEY_PEM_SIZE], verifier[KEY_VERIFIER_SIZE + 1];

	chain_name(chain, name);
	note_pem(key, pem);
	note_verifier(KEY_SIGNS, name, key, verifier);
	memcpy(verifier + strlen(verifier), "\n", 2);
	int r = write_file(dir, "key.pem", pem, e);
	if (r >= 0)
		r = write_file(dir, "key.verifier", verifier, e);
	return r < 0 ? r : list_key(dir, verifier, e);
}

int chain_start(int dir, struct chain_start *ret, struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	struct public_key key;
	char text[64];
	int r = id_make("led", ret->chain, e);

	if (r >= 0)
		r = notary_start(&notary, dir, e);
	if (r >= 0)
		r = notary_make(&notary, &key, e);
	if (r >= 0)
		r = notary_take(&notary, e);
	if (r >= 0)
		r = chain_write_key(dir, ret->chain, &key, e);
	if (r < 0)
		return r;
	struct value *event = value_object(), *data = value_object();
	(void)note_base64(key.byte, sizeof(key.byte), text);
	value_set(data, "key", value_of_str(text));
	value_set(data, "version", value_of_int(1));
	value_set(event, "kind", value_of_str("ledger.start"));
	value_set(event, "data", data);
	ret->event = event;
	return 0;
}
