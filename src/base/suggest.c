/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include <string.h>

#define WORD_MAX 24 /* longer than any name of ours with typing errors */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Letters added, left out, changed or swapped with the next one. */
static unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_len; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= b_len; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		for (size_t j = 1; j <= b_len; j++) {
			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1,
				       d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[a_len][b_len];
}

void nearest_try(struct nearest *n, const char *word, size_t word_len, const char *name)
{
	size_t name_len = strlen(name);

	if (word_len > WORD_MAX || name_len > WORD_MAX)
		return;
	unsigned d = edit_distance(word, word_len, name, name_len);
	/* Of a short word two other letters make another word. */
	unsigned most = word_len < 5 || name_len < 5 ? 1 : 2;
	if (d <= most && d < name_len && d < word_len && d < n->distance) {
		n->distance = d;
		n->name = name;
	}
}
