/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/note.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/value.h"

#define DASH "\xe2\x80\x94 " /* an em dash begins a signature */

size_t note_base64(const void *data, size_t n, char *ret)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = data;
	size_t len = 0;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t three = (uint32_t)p[i] << 16;

		three |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		three |= left > 2 ? p[i + 2] : 0;
		ret[len++] = digit[three >> 18];
		ret[len++] = digit[three >> 12 & 63];
		ret[len++] = left > 1 ? digit[three >> 6 & 63] : '=';
		ret[len++] = left > 2 ? digit[three & 63] : '=';
	}
	ret[len] = '\0';
	return len;
}

bool note_bytes(const char *text, size_t len, void *ret, size_t n)
{
	char again[4 * 128];
	auto_free void *data = NULL;
	size_t got = 0;

	if (len >= sizeof(again) || value_from_base64(text, len, &data, &got) < 0 || got != n)
		return false;
	/* The last letter has bits that mean nothing. */
	if (note_base64(data, got, again) != len || memcmp(again, text, len) != 0)
		return false;
	memcpy(ret, data, n);
	return true;
}

/* One more than the digit's value. A table: which digit comes next cannot be guessed, so a branch
 * would cost more than all the rest. */
static const uint8_t digit[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

bool note_hex(const char *text, struct tree_hash *ret)
{
	int bad = 0;

	for (unsigned i = 0; i < HASH_BYTES; i++) {
		int high = digit[(uint8_t)text[2 * i]] - 1;
		int low = digit[(uint8_t)text[2 * i + 1]] - 1;

		bad |= high | low;
		ret->byte[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
	}
	return bad >= 0;
}

void note_key_id(enum key_kind kind, const char *name, const struct public_key *key, uint8_t ret[4])
{
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	hash_add(&h, name, strlen(name));
	hash_add(&h, "\n", 1);
	hash_add(&h, &(uint8_t){(uint8_t)kind}, 1);
	hash_add(&h, key->byte, sizeof(key->byte));
	hash_done(&h, digest);
	memcpy(ret, digest, 4);
}

void note_verifier(enum key_kind kind, const char *name, const struct public_key *key,
		   char ret[KEY_VERIFIER_SIZE])
{
	uint8_t id[4], typed[1 + KEY_BYTES] = {(uint8_t)kind};
	char text[64];

	note_key_id(kind, name, key, id);
	memcpy(typed + 1, key->byte, KEY_BYTES);
	(void)note_base64(typed, sizeof(typed), text);
	(void)snprintf(ret, KEY_VERIFIER_SIZE, "%s+%02x%02x%02x%02x+%s", name, id[0], id[1], id[2],
		       id[3], text);
}

/* SubjectPublicKeyInfo of Ed25519 is this and the key. */
static const uint8_t spki[12] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
				 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
static const char pem_begin[] = "-----BEGIN PUBLIC KEY-----\n";

void note_pem(const struct public_key *key, char ret[KEY_PEM_SIZE])
{
	uint8_t der[sizeof(spki) + KEY_BYTES];
	char text[64];

	memcpy(der, spki, sizeof(spki));
	memcpy(der + sizeof(spki), key->byte, KEY_BYTES);
	(void)note_base64(der, sizeof(der), text);
	(void)snprintf(ret, KEY_PEM_SIZE, "%s%s\n-----END PUBLIC KEY-----\n", pem_begin, text);
}

int note_parse_key(const char *text, size_t len, struct public_key *ret, struct err *e)
{
	uint8_t der[sizeof(spki) + KEY_BYTES], typed[1 + KEY_BYTES];
	size_t skip = sizeof(pem_begin) - 1;
	const char *plus = memrchr(text, '+', len);

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	if (len > skip + 60 && memcmp(text, pem_begin, skip) == 0 &&
	    note_bytes(text + skip, 60, der, sizeof(der)) && memcmp(der, spki, sizeof(spki)) == 0) {
		memcpy(ret->byte, der + sizeof(spki), KEY_BYTES);
		return 0;
	}
	if (note_bytes(text, len, ret->byte, KEY_BYTES))
		return 0;
	/* Its letters may have a + themselves: 44 of them come last. */
	if (plus && len > 45 && text[len - 45] == '+' &&
	    note_bytes(text + len - 44, 44, typed, sizeof(typed)) && typed[0] == KEY_SIGNS) {
		memcpy(ret->byte, typed + 1, KEY_BYTES);
		return 0;
	}
	(void)err_set(e, ERR_INVALID, "this is no public key of Ed25519");
	return err_remedy(e, "give key.pem of the ledger's directory, or its line in key.verifier");
}

size_t note_body(const struct checkpoint *c, char ret[NOTE_SIZE])
{
	char root[64];

	(void)note_base64(c->head.root.byte, HASH_BYTES, root);
	int n = snprintf(ret, NOTE_SIZE, "%s\n%llu\n%s\n", c->name,
			 (unsigned long long)c->head.size, root);
	assert(n > 0 && n < NOTE_SIZE);
	return (size_t)n;
}

size_t note_write(const struct checkpoint *c, const struct public_key *key,
		  const struct signature *sig, char ret[NOTE_SIZE])
{
	uint8_t named[4 + SIGNATURE_BYTES];
	char text[128];
	size_t n = note_body(c, ret);

	note_key_id(KEY_SIGNS, c->name, key, named);
	memcpy(named + 4, sig->byte, SIGNATURE_BYTES);
	(void)note_base64(named, sizeof(named), text);
	int more = snprintf(ret + n, NOTE_SIZE - n, "\n" DASH "%s %s\n\n", c->name, text);
	assert(more > 0 && n + (size_t)more < NOTE_SIZE);
	return n + (size_t)more;
}

size_t note_again(const struct note *n, char ret[NOTE_SIZE])
{
	uint8_t named[4 + SIGNATURE_BYTES];
	char text[128];

	memcpy(named, n->key_id, 4);
	memcpy(named + 4, n->sig.byte, SIGNATURE_BYTES);
	(void)note_base64(named, sizeof(named), text);
	int len = snprintf(ret, NOTE_SIZE, "%.*s\n" DASH "%s %s\n\n", (int)n->body_len, n->body,
			   n->point.name, text);
	assert(len > 0 && len < NOTE_SIZE);
	return (size_t)len;
}

/* A line without its end; false: there is none. */
static bool take_line(const char **p, const char *end, const char **ret, size_t *ret_len)
{
	const char *stop = memchr(*p, '\n', (size_t)(end - *p));

	if (!stop)
		return false;
	*ret = *p;
	*ret_len = (size_t)(stop - *p);
	*p = stop + 1;
	return true;
}

static bool take_number(const char *text, size_t len, uint64_t *ret)
{
	uint64_t n = 0;

	if (len == 0 || len > 15 || (text[0] == '0' && len > 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = n;
	return n >> TREE_LEVELS == 0;
}

static bool take_signature(const char *line, size_t len, struct note *n)
{
	size_t dash = sizeof(DASH) - 1, name = strlen(n->point.name);
	uint8_t named[4 + SIGNATURE_BYTES];

	if (len < dash + name + 1 || memcmp(line, DASH, dash) != 0 ||
	    memcmp(line + dash, n->point.name, name) != 0 || line[dash + name] != ' ')
		return false;
	dash += name + 1;
	if (!note_bytes(line + dash, len - dash, named, sizeof(named)))
		return false;
	memcpy(n->key_id, named, 4);
	memcpy(n->sig.byte, named + 4, SIGNATURE_BYTES);
	return true;
}

int note_parse(const char *text, size_t len, struct note *ret, size_t *ret_used, struct err *e)
{
	const char *p = text, *end = text + len, *line = NULL;
	struct note n = {0};
	size_t got = 0;
	bool good = take_line(&p, end, &line, &got) && got > 0 && got < sizeof(n.point.name);

	if (good)
		memcpy(n.point.name, line, got);
	good = good && take_line(&p, end, &line, &got) &&
	       take_number(line, got, &n.point.head.size);
	good = good && take_line(&p, end, &line, &got) &&
	       note_bytes(line, got, n.point.head.root.byte, HASH_BYTES);
	n.body_len = (size_t)(p - text);
	good = good && n.body_len < sizeof(n.body) && take_line(&p, end, &line, &got) && got == 0;
	good = good && take_line(&p, end, &line, &got) && take_signature(line, got, &n);
	good = good && take_line(&p, end, &line, &got) && got == 0;
	if (!good)
		return err_set(e, ERR_INVALID, "no checkpoint of a ledger");
	memcpy(n.body, text, n.body_len);
	*ret = n;
	*ret_used = (size_t)(p - text);
	return 0;
}
