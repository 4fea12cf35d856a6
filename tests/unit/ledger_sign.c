/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures, notes and keys as text. */
#include "ledger/sign.h"

#include <string.h>

#include "base/value.h"
#include "tap.h"

static const struct private_key one = {.seed = {1, 2, 3}};

/* RFC 8032, 7.1, test 2. */
static void test_known(void)
{
	static const struct private_key key = {
		.seed = {0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3,
			 0x46, 0xec, 0x11, 0x4e, 0x0f, 0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab,
			 0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb}};
	static const uint8_t begins[] = {0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8};
	struct err e = ERR_INIT;
	struct public_key pub;
	struct signature sig;

	is_int(sign_bytes(&key, "\x72", 1, &sig, &e), 0, "signs");
	ok(memcmp(sig.byte, begins, sizeof(begins)) == 0, "as the RFC does");
	is_int(sign_public(&key, &pub, &e), 0, "has a public half");
	is_int(pub.byte[0], 0x3d, "that of the RFC");
	ok(sign_check(&pub, "\x72", 1, &sig), "which checks");
	ok(!sign_check(&pub, "\x73", 1, &sig), "and not another text");
}

static void test_note(void)
{
	struct checkpoint c = {.name = "pinfold/led234567abcdefghijklmnopqrst", .head.size = 42};
	struct err e = ERR_INIT;
	char body[NOTE_SIZE], text[NOTE_SIZE];
	struct public_key pub;
	struct signature sig;
	struct note n;
	size_t used = 0;
	bool taken = false;

	(void)sign_public(&one, &pub, &e);
	memset(c.head.root.byte, 7, HASH_BYTES);
	size_t len = note_body(&c, body);
	(void)sign_bytes(&one, body, len, &sig, &e);
	size_t all = note_write(&c, &pub, &sig, text);
	is_int(note_parse(text, all, &n, &used, &e), 0, "is read");
	is_int((long long)used, (long long)all, "whole");
	is_int((long long)n.point.head.size, 42, "its size");
	ok(tree_same(&n.point.head.root, &c.head.root), "its root");
	ok(sign_check(&pub, n.body, n.body_len, &n.sig), "its signature");
	for (size_t i = 0; i < all; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			text[i] ^= (char)(1 << bit);
			taken |= note_parse(text, all, &n, &used, &e) == 0 && used == all &&
				 memcmp(n.key_id, "\0\0\0\0", 4) != 0 &&
				 sign_check(&pub, n.body, n.body_len, &n.sig) && i < len;
			text[i] ^= (char)(1 << bit);
		}
	ok(!taken, "no bit of what is signed can be changed");
	for (size_t i = 0; i < all; i++)
		taken |= note_parse(text, i, &n, &used, &e) == 0;
	ok(!taken, "nor can it be cut");
}

static void test_keys(void)
{
	char pem[KEY_PEM_SIZE], verifier[KEY_VERIFIER_SIZE], loose[64];
	struct public_key pub, got;
	struct err e = ERR_INIT;

	(void)sign_public(&one, &pub, &e);
	note_pem(&pub, pem);
	is_int(note_parse_key(pem, strlen(pem), &got, &e), 0, "PEM");
	ok(memcmp(&pub, &got, sizeof(pub)) == 0, "is the same key");
	note_verifier(KEY_SIGNS, "pinfold/led2", &pub, verifier);
	memset(&got, 0, sizeof(got));
	is_int(note_parse_key(verifier, strlen(verifier), &got, &e), 0, "a verifier");
	ok(memcmp(&pub, &got, sizeof(pub)) == 0, "is the same key");
	ok(note_parse_key("x", 1, &got, &e) < 0, "nothing else is one");
	(void)note_base64(pub.byte, 32, loose);
	ok(note_bytes(loose, strlen(loose), &got, 32), "base64");
	loose[42] = loose[42] == 'A' ? 'B' : (char)(loose[42] + 1);
	ok(!note_bytes(loose, strlen(loose), &got, 32), "with loose bits is refused");
}

int main(void)
{
	value_init();
	TAP_RUN(test_known);
	TAP_RUN(test_note);
	TAP_RUN(test_keys);
	return tap_done();
}
