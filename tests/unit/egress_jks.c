/* SPDX-License-Identifier: Apache-2.0 */
/* One authority more in Java's list; what is no such list is refused. tests/egress has a Java that
 * reads it. */
#include "base/hash.h"
#include "egress/jks.h"
#include "tap.h"

#define PEM "-----BEGIN CERTIFICATE-----\nAQID\nBAU=\n-----END CERTIFICATE-----\n"

/* No entry at all; the sum of what came before is not looked at. */
static const unsigned char empty[32] = {0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 0};
static const unsigned char entry[] = {0,   0,	0, 2, 0, 7, 'p', 'i', 'n', 'f', 'o', 'l', 'd',
				      0,   0,	0, 0, 0, 0, 0,	 0,   0,   5,	'X', '.', '5',
				      '0', '9', 0, 0, 0, 5, 1,	 2,   3,   4,	5};

static void added(void)
{
	static const char secret[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	unsigned char want[HASH_SHA1_BYTES], sum[256];
	void *made = NULL, *twice = NULL;
	size_t len = 0, len_twice = 0, head = sizeof(secret) - 1;

	is_int(jks_with(empty, sizeof(empty), PEM, &made, &len), 0, "to an empty one");
	is_int((long long)len, 12 + sizeof(entry) + 20, "its length");
	const unsigned char *m = made;
	ok(m && memcmp(m, empty, 11) == 0 && m[11] == 1, "one entry");
	ok(m && memcmp(m + 12, entry, sizeof(entry)) == 0, "which is the certificate");
	memcpy(sum, secret, head);
	memcpy(sum + head, m, len - 20);
	hash_sha1(sum, head + len - 20, want);
	ok(memcmp(m + len - 20, want, sizeof(want)) == 0, "and the sum of it all");
	is_int(jks_with(made, len, PEM, &twice, &len_twice), 0, "once more");
	m = twice;
	ok(m && len_twice == len + sizeof(entry) && m[11] == 2 &&
		   memcmp(m + 12, entry, sizeof(entry)) == 0,
	   "behind what was there");
	free(made);
	free(twice);
}

static void refused(void)
{
	unsigned char other[sizeof(empty)];
	void *made = NULL;
	size_t len = 0;

	memcpy(other, empty, sizeof(other));
	other[0] = 0x30; /* PKCS #12 begins like this */
	is_int(jks_with(other, sizeof(other), PEM, &made, &len), -EINVAL, "another kind of file");
	memcpy(other, empty, sizeof(other));
	other[7] = 1;
	is_int(jks_with(other, sizeof(other), PEM, &made, &len), -EINVAL, "another version");
	for (size_t n = 0; n < sizeof(empty); n++)
		if (jks_with(empty, n, PEM, &made, &len) != -EINVAL)
			break;
		else if (n + 1 == sizeof(empty))
			ok(1, "every file that is too short");
	is_int(jks_with(empty, sizeof(empty), "", &made, &len), -EINVAL, "no certificate");
	is_int(jks_with(empty, sizeof(empty), "-----BEGIN CERTIFICATE-----\nAQID\n", &made, &len),
	       -EINVAL, "one without an end");
	is_int(jks_with(empty, sizeof(empty),
			"-----BEGIN CERTIFICATE-----\nA*ID\n-----END CERTIFICATE-----\n", &made,
			&len),
	       -EINVAL, "one of other letters");
	ok(!made && !len, "and nothing is returned");
}

int main(void)
{
	TAP_RUN(added);
	TAP_RUN(refused);
	return tap_done();
}
