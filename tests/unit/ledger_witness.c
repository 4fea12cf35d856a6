/* SPDX-License-Identifier: Apache-2.0 */
/* A witness signs what goes on from what he signed; whatever else he is asked, he refuses and
 * remembers nothing. */
#include "ledger/witness.h"

#include "ledger_help.h"

static char request[WITNESS_REQUEST_BYTES + 1], line[COSIGN_LINE_SIZE];

static int ask(int chain, uint64_t old)
{
	struct err e = ERR_INIT;
	int n = witness_ask(chain, old, request, &e);

	if (n < 0)
		diag("%s", e.text);
	return n;
}

static int answer(int dir, const char *text, size_t len, const struct public_key *key)
{
	struct err e = ERR_INIT;

	return witness_answer(dir, text, len, key, line, &e);
}

static struct public_key key_of(int chain)
{
	struct public_key key = {{0}};
	struct err e = ERR_INIT;
	size_t len = 0;
	auto_free char *pem = slurp(chain, "key.pem", &len);

	(void)note_parse_key(pem, len, &key, &e);
	return key;
}

static void test_hostile(void)
{
	char text[KEY_VERIFIER_SIZE], chain_place_text[sizeof(place)];
	struct chain_place p;
	struct err e = ERR_INIT;
	unsigned signed_wrongly = 0, taken = 0;
	int chain = make_dir();

	memcpy(chain_place_text, place, sizeof(place));
	int dir = make_dir();
	(void)add_events(chain, 5, 0, &p);
	settled(chain);
	struct public_key key = key_of(chain);
	is_int(witness_open(dir, "a b", text, &e), -EINVAL, "a name that is none");
	is_int(witness_open(dir, "example.org/w", text, &e), 0, "a witness");
	int n = ask(chain, 0);
	ok(n > 0 && answer(dir, request, (size_t)n, &key) > 0, "he signs the first");
	(void)add_events(chain, 9, 0, &p);
	n = ask(chain, 6);
	ok(n > 0, "what goes on");
	for (int i = 0; i < n; i++) {
		request[i] ^= (char)(1 << (i % 8));
		signed_wrongly += answer(dir, request, (size_t)n, NULL) > 0;
		request[i] ^= (char)(1 << (i % 8));
	}
	for (int i = 0; i < n - 1; i++)
		signed_wrongly += answer(dir, request, (size_t)i, NULL) > 0;
	is_int(signed_wrongly, 0, "a bit of every byte, and every length");
	int len = answer(dir, request, (size_t)n, NULL);
	ok(len > 0, "and as it is he signs it");
	for (int i = 0; i < len; i++) {
		struct cosignature c;
		char again[COSIGN_LINE_SIZE];

		line[i] ^= (char)(1 << (i % 8));
		if (cosign_parse(line, (size_t)len, &c))
			taken += cosign_line(&c, again) != (size_t)len ||
				 memcmp(again, line, (size_t)len) != 0;
		line[i] ^= (char)(1 << (i % 8));
	}
	is_int(taken, 0, "no line can be read in two ways");
	drop_dir(dir);
	memcpy(place, chain_place_text, sizeof(place));
	drop_dir(chain);
}

int main(void)
{
	TAP_RUN(test_hostile);
	return tap_done();
}
