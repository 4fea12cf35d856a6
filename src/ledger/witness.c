/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hold.h"
#include "base/id.h"
#include "ledger/notary.h"
#include "ledger/owner.h"
#include "ledger/settle.h"

#define STATE_SIZE 256

int witness_ask(int dir, uint64_t old, char ret[WITNESS_REQUEST_BYTES], struct err *e)
{
	struct tree_hash proof[TREE_PROOF_MAX + 1];
	struct cosignature c;
	struct note n, before;
	unsigned n_proof = 0;
	char text[64];
	int r = settle_now(dir, e);

	if (r >= 0)
		r = settle_last(dir, &n, e);
	if (r <= 0)
		return r < 0 ? r : err_set(e, ERR_MISSING, "there is no checkpoint yet");
	if (old == UINT64_MAX) {
		r = witness_last(dir, NULL, NULL, &before, &c, e);
		old = r > 0 ? before.point.head.size : 0;
	}
	if (r >= 0 && old > n.point.head.size) {
		(void)err_set(e, ERR_CONFLICT, "the witness knows %llu events, here are %llu",
			      (unsigned long long)old, (unsigned long long)n.point.head.size);
		return err_remedy(e, "this ledger is an older copy of the one that he signed");
	}
	auto_close int tree = r < 0 ? FD_NONE : settle_open_tree(dir, e);
	if (r >= 0 && tree < 0)
		r = tree;
	if (r >= 0 && old && old < n.point.head.size)
		r = tree_consistency(old, n.point.head.size, settle_read, &tree, proof, &n_proof,
				     e);
	if (r < 0)
		return r;
	int used = snprintf(ret, WITNESS_REQUEST_BYTES, "old %llu\n", (unsigned long long)old);
	for (unsigned i = 0; i < n_proof; i++) {
		(void)note_base64(proof[i].byte, HASH_BYTES, text);
		used += snprintf(ret + used, WITNESS_REQUEST_BYTES - (size_t)used, "%s\n", text);
	}
	ret[used++] = '\n';
	size_t len = note_again(&n, ret + used);
	auto_close int fd = openat(dir, COSIGN_ASKED,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write_all(fd, ret + used, len) < 0)
		return err_sys(e, "write " COSIGN_ASKED);
	r = owner_match(dir, fd, e);
	return r < 0 ? r : used + (int)len;
}

/* What is asked of him, taken apart. */
struct request {
	uint64_t old;
	struct tree_hash proof[TREE_PROOF_MAX + 1];
	unsigned n_proof;
	struct note note;
};

static int parse_request(const char *text, size_t len, struct request *q, struct err *e)
{
	const char *p = text, *end = text + len, *stop = memchr(text, '\n', len);
	size_t used = 0;

	*q = (struct request){.n_proof = 0};
	bool good = stop && stop - p > 4 && stop - p < 20 && memcmp(p, "old ", 4) == 0;
	for (p += 4; good && p < stop; p++) {
		good = *p >= '0' && *p <= '9';
		q->old = q->old * 10 + (uint64_t)(*p - '0');
	}
	for (p = stop ? stop + 1 : end; good && p < end && *p != '\n'; p = stop + 1) {
		stop = memchr(p, '\n', (size_t)(end - p));
		good = stop && q->n_proof <= TREE_PROOF_MAX &&
		       note_bytes(p, (size_t)(stop - p), &q->proof[q->n_proof++], HASH_BYTES);
		if (!good)
			break;
	}
	good = good && p < end &&
	       note_parse(p + 1, (size_t)(end - p) - 1, &q->note, &used, e) == 0 &&
	       strncmp(q->note.point.name, "pinfold/", 8) == 0 &&
	       id_is("led", q->note.point.name + 8);
	if (good)
		return 0;
	(void)err_set(e, ERR_INVALID, "this is no request for a witness");
	return err_remedy(e, "give what pinfold audit checkpoint prints");
}

/* What he remembers of a chain. */
struct memory {
	struct tree_head head;
	struct public_key key;
};

static int recall(int dir, const char *chain, struct memory *m, struct err *e)
{
	auto_close int fd = openat(dir, chain, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[STATE_SIZE] = "", root[64], key[64];
	unsigned long long size = 0;
	size_t len = 0;

	*m = (struct memory){.head = {.size = 0}};
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%s", chain);
	if (fd_read_max(fd, text, sizeof(text) - 1, &len) < 0)
		return err_sys(e, "%s", chain);
	if (sscanf(text, "%15llu\n%63s\n%63s", &size, root, key) != 3 ||
	    !note_bytes(root, strlen(root), &m->head.root, HASH_BYTES) ||
	    !note_bytes(key, strlen(key), &m->key, KEY_BYTES))
		return err_set(e, ERR_INTERNAL, "what the witness remembers of %s is damaged",
			       chain);
	m->head.size = size;
	return 1;
}

/* On disk before he signs: who was killed must not sign something else afterwards. */
static int remember(int dir, const char *chain, const struct memory *m, struct err *e)
{
	char text[STATE_SIZE], root[64], key[64], next[ID_SIZE + 8];

	(void)note_base64(m->head.root.byte, HASH_BYTES, root);
	(void)note_base64(m->key.byte, KEY_BYTES, key);
	int n = snprintf(text, sizeof(text), "%llu\n%s\n%s\n", (unsigned long long)m->head.size,
			 root, key);
	(void)snprintf(next, sizeof(next), "%s.next", chain);
	auto_close int fd =
		openat(dir, next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write_all(fd, text, (size_t)n) < 0 || fsync(fd) < 0 ||
	    renameat(dir, next, dir, chain) < 0 || fsync(dir) < 0)
		return err_sys(e, "write what the witness remembers");
	return 0;
}

static int judge(struct notary *notary, const struct request *q, const struct memory *m,
		 struct err *e)
{
	const struct tree_head *now = &q->note.point.head;
	unsigned long long known = m->head.size;
	uint8_t id[4];

	note_key_id(KEY_SIGNS, q->note.point.name, &m->key, id);
	int r = memcmp(id, q->note.key_id, 4) != 0
			? 0
			: notary_check(notary, &m->key, q->note.body, q->note.body_len,
				       &q->note.sig, e);
	if (r < 0)
		return r;
	if (r == 0) {
		(void)err_set(e, ERR_DENIED,
			      "the checkpoint is not signed by the key of its chain");
		return err_remedy(e, "give the public key with --key, if it was handed over");
	}
	if (!HOLD_WITNESS_GOES_ON)
		return 0;
	if (now->size < known) {
		(void)err_set(e, ERR_CONFLICT, "%llu events were signed before, now there are %llu",
			      known, (unsigned long long)now->size);
		return err_remedy(e, "the ledger was exchanged for an older copy");
	}
	if (q->old != known) {
		(void)err_set(e, ERR_CONFLICT, "the proof is from %llu events, %llu were signed",
			      (unsigned long long)q->old, known);
		return err_remedy(e, "pinfold audit checkpoint --old %llu", known);
	}
	if (known == 0 || tree_check_consistency(&m->head, now, q->proof, q->n_proof))
		return 0;
	(void)err_set(e, ERR_CONFLICT, "these events do not go on from those that were signed");
	return err_remedy(e, "the ledger tells another story than before");
}

static int read_name(int dir, char ret[COSIGN_NAME_SIZE], struct err *e)
{
	auto_close int fd = openat(dir, "name", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = 0;

	if (fd < 0 || fd_read_max(fd, ret, COSIGN_NAME_SIZE - 1, &len) < 0)
		return err_sys(e, "the name of the witness");
	ret[len] = '\0';
	return 0;
}

static int sign(struct notary *n, int dir, const struct note *note, char ret[COSIGN_LINE_SIZE],
		struct err *e)
{
	struct cosignature c = {.time_s = (uint64_t)time(NULL)};
	char text[2 * NOTE_SIZE];
	struct public_key key;
	int r = read_name(dir, c.name, e);

	if (r >= 0)
		r = notary_sign(n, text, cosign_message(note, c.time_s, text), &c.sig, &key, e);
	if (r < 0)
		return r;
	note_key_id(KEY_COSIGNS, c.name, &key, c.key_id);
	return (int)cosign_line(&c, ret);
}

int witness_answer(int dir, const char *request, size_t len, const struct public_key *key,
		   char ret[COSIGN_LINE_SIZE], struct err *e)
{
	auto_free struct request *q = calloc(1, sizeof(*q));
	auto_notary notary = NOTARY_INIT;
	struct memory m;
	int r = q ? parse_request(request, len, q, e) : err_sys(e, "witness");

	if (r >= 0 && flock(dir, LOCK_EX) < 0)
		r = err_sys(e, "the directory of the witness");
	if (r < 0)
		return r;
	const char *chain = q->note.point.name + strlen("pinfold/");
	r = recall(dir, chain, &m, e);
	if (r == 0 && !key) {
		(void)err_set(e, ERR_INVALID, "--key: this chain is not known here yet");
		return err_remedy(e, "give its public key, which pinfold audit key prints there");
	}
	if (r >= 0 && key)
		m.key = *key;
	if (r >= 0)
		r = notary_start(&notary, dir, e);
	if (r >= 0)
		r = judge(&notary, q, &m, e);
	m.head = q->note.point.head;
	if (r >= 0)
		r = remember(dir, chain, &m, e);
	return r < 0 ? r : sign(&notary, dir, &q->note, ret, e);
}

static bool is_name(const char *name)
{
	return *name && strlen(name) < COSIGN_NAME_SIZE - 1 &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "-._/")];
}

int witness_open(int dir, const char *name, char ret_verifier[KEY_VERIFIER_SIZE], struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	char known[COSIGN_NAME_SIZE];
	struct public_key key;
	struct signature sig;
	int r = faccessat(dir, "key", F_OK, 0) == 0 ? 1 : 0;

	if (r == 0 && !is_name(name)) {
		(void)err_set(e, ERR_INVALID, "\"%.80s\" is no name of a witness", name);
		return err_remedy(e, "use letters, digits and -._/, as in example.org/witness");
	}
	if (notary_start(&notary, dir, e) < 0)
		return -EIO;
	if (r == 0) {
		auto_close int fd = openat(
			dir, "name", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0 || fd_write_all(fd, name, strlen(name)) < 0 || fsync(fd) < 0)
			return err_sys(e, "the name of the witness");
		r = notary_make(&notary, &key, e);
		if (r >= 0)
			r = notary_take(&notary, e);
	}
	if (r >= 0)
		r = read_name(dir, known, e);
	if (r >= 0)
		r = notary_sign(&notary, "", 0, &sig, &key, e);
	if (r >= 0)
		note_verifier(KEY_COSIGNS, known, &key, ret_verifier);
	return r < 0 ? r : 0;
}
