/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A quote of a TPM 2.0. Four commands, in the layout of "Trusted Platform Module Library, part 3":
 *
 *	CreatePrimary	the key (evidence_int.h), of the endorsement seed
 *	PCR_Read	the registers, until all are there
 *	Quote		signed: the nonce, and the hash of the registers
 *	FlushContext	the key is gone again
 *
 * They are written to the kernel's device with a resource manager; a socket is spoken to in the
 * same way, which is how software TPMs are reached. A register that changes between reading and
 * quoting (10 does, where files are measured) makes the two differ: then it is done again.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "evidence/evidence_int.h"

#define ANSWER_MAX 4096u
#define ANSWER_MS 30000 /* a chip that makes a key for the first time takes its time */
#define HEADER 10u
#define TRIES 8

#define ST_NO_SESSIONS 0x8001u
#define ST_SESSIONS 0x8002u
#define CC_CREATE_PRIMARY 0x0131u
#define CC_QUOTE 0x0158u
#define CC_FLUSH_CONTEXT 0x0165u
#define CC_PCR_READ 0x017eu
#define RS_PW 0x40000009u
#define RC_RETRY 0x0922u

/* A command that is being written, or an answer that is being read. */
struct block {
	uint8_t byte[ANSWER_MAX];
	size_t len, at;
	bool bad; /* more was asked of it than there is */
};

static void put(struct block *b, const void *data, size_t n)
{
	if (n > sizeof(b->byte) - b->len) {
		b->bad = true;
		return;
	}
	memcpy(b->byte + b->len, data, n);
	b->len += n;
}

static void put_number(struct block *b, uint32_t n, unsigned bytes)
{
	uint8_t to[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

	put(b, to + 4 - bytes, bytes);
}

static const uint8_t *get(struct block *b, size_t n)
{
	static const uint8_t nothing[ANSWER_MAX];

	if (b->bad || n > b->len - b->at) {
		b->bad = true;
		return nothing;
	}
	b->at += n;
	return b->byte + b->at - n;
}

static uint32_t get_number(struct block *b, unsigned bytes)
{
	const uint8_t *p = get(b, bytes);
	uint32_t n = 0;

	for (unsigned i = 0; i < bytes; i++)
		n = n << 8 | p[i];
	return n;
}

static int open_socket(const char *path, struct err *e)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(to.sun_path))
		return err_set(e, ERR_INVALID, "a path that is too long for a socket");
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return err_sys(e, "connect");
	return take_fd(&fd);
}

static int open_device(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(e, "no TPM");
	if (S_ISSOCK(st.st_mode))
		return open_socket(path, e);
	if (!S_ISCHR(st.st_mode))
		return err_set(e, ERR_INVALID, "this is no device");
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? err_sys(e, "open the TPM") : fd;
}

/* A device takes a command whole. A socket that hung up is an error, not a signal. */
static int send_all(int fd, const struct block *b, struct err *e)
{
	size_t done = 0;

	while (done < b->len) {
		ssize_t n = send(fd, b->byte + done, b->len - done, MSG_NOSIGNAL);

		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, b->byte + done, b->len - done);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "write");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* One answer, as long as it says that it is. */
static int receive(int fd, struct block *b, struct err *e)
{
	*b = (struct block){.len = 0};
	for (size_t want = HEADER; b->len < want;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int r = poll(&p, 1, ANSWER_MS);
		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0)
			return err_set(e, ERR_TIMEOUT, "the TPM does not answer");
		/* A device gives a whole answer to one read, and may forget what was not read. */
		ssize_t n = r < 0 ? -1 : read(fd, b->byte + b->len, sizeof(b->byte) - b->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? err_sys(e, "read") : err_set(e, ERR_INTERNAL, "it hung up");
		b->len += (size_t)n;
		if (b->len < HEADER)
			continue;
		b->at = 2;
		want = get_number(b, 4);
		if (want < HEADER || want > sizeof(b->byte) || b->len > want)
			return err_set(e, ERR_INTERNAL, "an answer of another length than it says");
	}
	return 0;
}

/* `b` is the command without its header, and then the answer behind it. */
static int transmit(int fd, uint32_t code, bool sessions, struct block *b, struct err *e)
{
	struct block all = {.len = 0};
	uint32_t rc = RC_RETRY;

	put_number(&all, sessions ? ST_SESSIONS : ST_NO_SESSIONS, 2);
	put_number(&all, (uint32_t)(HEADER + b->len), 4);
	put_number(&all, code, 4);
	put(&all, b->byte, b->len);
	if (b->bad || all.bad)
		return err_set(e, ERR_INTERNAL, "a command that is too long");
	for (int i = 0; i < TRIES && rc == RC_RETRY; i++) {
		int r = send_all(fd, &all, e);

		if (r >= 0)
			r = receive(fd, b, e);
		if (r < 0)
			return r;
		b->at = 6;
		rc = get_number(b, 4);
	}
	if (rc == 0)
		return 0;
	return err_set(e, ERR_INTERNAL, "the TPM answers 0x%x to command 0x%x", rc, code);
}

/* No password: what it may do needs none. */
static void put_authorization(struct block *b)
{
	put_number(b, 9, 4);
	put_number(b, RS_PW, 4);
	put_number(b, 0, 2); /* no nonce */
	put_number(b, 0, 1);
	put_number(b, 0, 2); /* the empty password */
}

static int create_primary(int fd, uint32_t *ret_handle, struct value *to, struct err *e)
{
	static const uint8_t template[TPM_TEMPLATE_BYTES] = TPM_TEMPLATE;
	struct block b = {.len = 0};

	put_number(&b, TPM_RH_ENDORSEMENT, 4);
	put_authorization(&b);
	put_number(&b, 4, 2); /* sensitive: */
	put_number(&b, 0, 4); /* no password, no data */
	put_number(&b, TPM_TEMPLATE_BYTES + 4, 2);
	put(&b, template, sizeof(template));
	put_number(&b, 0, 4); /* it chooses both coordinates */
	put_number(&b, 0, 2); /* outside */
	put_number(&b, 0, 4); /* no registers */
	int r = transmit(fd, CC_CREATE_PRIMARY, true, &b, e);
	if (r < 0)
		return r;
	*ret_handle = get_number(&b, 4);
	(void)get(&b, 4); /* the length of the rest */
	size_t n = get_number(&b, 2);
	const uint8_t *public = get(&b, n);
	if (b.bad)
		return err_set(e, ERR_INTERNAL, "half a key");
	value_set(to, "key", value_of_base64(public, n));
	return 0;
}

static void put_selection(struct block *b, uint32_t which)
{
	put_number(b, 1, 4);
	put_number(b, TPM_ALG_SHA256, 2);
	put_number(b, 3, 1);
	put_number(b, which & 0xff, 1);
	put_number(b, which >> 8 & 0xff, 1);
	put_number(b, which >> 16 & 0xff, 1);
}

/* Which are there of those that were asked for. */
static uint32_t get_selection(struct block *b)
{
	uint32_t which = 0;

	if (get_number(b, 4) != 1 || get_number(b, 2) != TPM_ALG_SHA256)
		return 0;
	uint32_t n = get_number(b, 1);
	for (uint32_t i = 0; i < n && i < 4; i++)
		which |= get_number(b, 1) << (8 * i);
	return which;
}

static int read_registers(int fd, struct value *to, struct err *e)
{
	uint32_t left = (1u << TPM_PCRS) - 1;
	struct value *all = value_object();

	value_set(to, "pcrs", all);
	for (unsigned turn = 0; left && turn < TPM_PCRS; turn++) {
		struct block b = {.len = 0};

		put_selection(&b, left);
		int r = transmit(fd, CC_PCR_READ, false, &b, e);
		if (r < 0)
			return r;
		(void)get(&b, 4); /* how often any was changed */
		uint32_t got = get_selection(&b) & left;
		uint32_t n = get_number(&b, 4);
		for (unsigned i = 0; i < TPM_PCRS; i++) {
			char name[4], text[HASH_TEXT_SIZE];

			if (!(got & 1u << i) || n-- == 0)
				continue;
			if (get_number(&b, 2) != HASH_BYTES)
				b.bad = true;
			hash_text(get(&b, HASH_BYTES), text);
			(void)snprintf(name, sizeof(name), "%u", i);
			value_set(all, name, value_of_str(text));
		}
		if (b.bad || !got)
			break;
		left &= ~got;
	}
	return left ? err_set(e, ERR_UNSUPPORTED, "it has no sha256 bank of registers") : 0;
}

static int quote(int fd, uint32_t key, const uint8_t nonce[HASH_BYTES], struct value *to,
		 struct err *e)
{
	struct block b = {.len = 0};

	put_number(&b, key, 4);
	put_authorization(&b);
	put_number(&b, HASH_BYTES, 2);
	put(&b, nonce, HASH_BYTES);
	put_number(&b, TPM_ALG_NULL, 2); /* the key has its scheme */
	put_selection(&b, (1u << TPM_PCRS) - 1);
	int r = transmit(fd, CC_QUOTE, true, &b, e);
	if (r < 0)
		return r;
	size_t len = get_number(&b, 4) + b.at;
	size_t n = get_number(&b, 2);
	const uint8_t *said = get(&b, n);
	if (b.bad || len > b.len || len < b.at)
		return err_set(e, ERR_INTERNAL, "half a quote");
	value_set(to, "quote", value_of_base64(said, n));
	value_set(to, "signature", value_of_base64(get(&b, len - b.at), len - b.at));
	return 0;
}

static int take(const char *path, const uint8_t nonce[HASH_BYTES], struct value *to, struct err *e)
{
	auto_close int fd = open_device(path, e);
	struct evidence_claim claim = {.why = ""};
	struct block flush = {.len = 0};
	struct err none = ERR_INIT;
	uint32_t key = 0;
	bool fits = false;

	if (fd < 0)
		return fd;
	int r = create_primary(fd, &key, to, e);
	if (r < 0)
		return r;
	for (int i = 0; i < TRIES && r >= 0 && !fits; i++) {
		r = read_registers(fd, to, e);
		if (r >= 0)
			r = quote(fd, key, nonce, to, e);
		fits = r >= 0 && evidence_tpm.check(to, nonce, &claim);
	}
	put_number(&flush, key, 4);
	(void)transmit(fd, CC_FLUSH_CONTEXT, false, &flush, &none); /* the kernel does it, too */
	if (r >= 0 && !fits)
		r = err_set(e, ERR_INTERNAL, "a quote that is none: %s", claim.why);
	return r;
}

const struct evidence_kind evidence_tpm = {"tpm2", "/dev/tpmrm0", take, tpm_check};
