/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* RFC 4648, lower case: no 0, 1, 8, 9 to be mistaken for letters. Digits sort before letters in
 * ASCII, so the alphabet is put in that order to keep ids sortable. */
static const char alphabet[] = "234567abcdefghijklmnopqrstuvwxyz";

int id_make(const char *prefix, char ret[ID_SIZE], struct err *e)
{
	uint8_t noise[16];
	struct timespec now;

	assert(strlen(prefix) == 3);
	if (getrandom(noise, sizeof(noise), 0) != (ssize_t)sizeof(noise))
		return err_sys(e, "random numbers");
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	memcpy(ret, prefix, 3);
	for (int i = 9; i >= 0; i--, ms >>= 5)
		ret[3 + i] = alphabet[ms & 31];
	for (int i = 0; i < 16; i++)
		ret[13 + i] = alphabet[noise[i] & 31];
	ret[ID_SIZE - 1] = '\0';
	return 0;
}

bool id_is(const char *prefix, const char *text)
{
	assert(strlen(prefix) == 3);
	if (strlen(text) != ID_SIZE - 1 || memcmp(text, prefix, 3) != 0)
		return false;
	/* Not strspn(), which makes a table first: verify asks this of every event. */
	for (const char *p = text + 3; *p; p++)
		if ((*p < 'a' || *p > 'z') && (*p < '2' || *p > '7'))
			return false;
	return true;
}
