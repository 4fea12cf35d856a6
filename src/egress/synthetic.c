/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/synthetic.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (SYNTHETIC_NAMES_MAX * 2)

static const uint8_t prefix4[2] = {198, 18};
/* A local prefix of ours: "pinfold" in it, so that who sees such an address in a log finds this. */
static const uint8_t prefix6[8] = {0xfd, 0x70, 0x69, 0x66, 0x6f, 0x6c, 0x64, 0x00};

struct synthetic {
	unsigned n;
	uint32_t used;
	uint32_t start[SYNTHETIC_NAMES_MAX + 1]; /* of the n-th name in `text`; the first is 1 */
	uint16_t slots[SLOTS];			 /* number of a name, found by its hash */
	char text[SYNTHETIC_BYTES_MAX];
};

_Static_assert(SYNTHETIC_NAMES_MAX < UINT16_MAX, "a slot holds a number");

struct synthetic *synthetic_new(void)
{
	return calloc(1, sizeof(struct synthetic));
}

void synthetic_free(struct synthetic *s)
{
	free(s);
}

static const char *text_of(const struct synthetic *s, unsigned number)
{
	return s->text + s->start[number];
}

/* Names come from inside, so somebody may try to make them collide: a long search is 4096 short
 * comparisons at worst, and there are no more names than that. */
static unsigned find_slot(const struct synthetic *s, const struct name *name)
{
	uint32_t h = UINT32_C(2166136261);

	for (unsigned i = 0; i < name->len; i++)
		h = (h ^ (unsigned char)name->text[i]) * UINT32_C(16777619);
	unsigned slot = (h ^ h >> 15) % SLOTS;
	while (s->slots[slot] && strcmp(text_of(s, s->slots[slot]), name->text) != 0)
		slot = (slot + 1) % SLOTS;
	return slot;
}

static struct address make_address(unsigned number, bool ip6)
{
	uint8_t bytes[16] = {0};

	if (!ip6) {
		memcpy(bytes, prefix4, sizeof(prefix4));
		bytes[2] = (uint8_t)(number >> 8);
		bytes[3] = (uint8_t)number;
		return address_of_ip4(bytes);
	}
	memcpy(bytes, prefix6, sizeof(prefix6));
	bytes[14] = (uint8_t)(number >> 8);
	bytes[15] = (uint8_t)number;
	return address_of_ip6(bytes);
}

int synthetic_address(struct synthetic *s, const struct name *name, bool ip6, struct address *ret)
{
	assert(name->kind == NAME_DNS);
	unsigned slot = find_slot(s, name);
	if (!s->slots[slot]) {
		if (s->n == SYNTHETIC_NAMES_MAX || SYNTHETIC_BYTES_MAX - s->used < name->len + 1u)
			return -ENOSPC;
		s->slots[slot] = (uint16_t)++s->n;
		s->start[s->n] = s->used;
		memcpy(s->text + s->used, name->text, name->len + 1u);
		s->used += name->len + 1u;
	}
	*ret = make_address(s->slots[slot], ip6);
	return 0;
}

bool synthetic_is(const struct address *a)
{
	if (a->is_ip6)
		return memcmp(a->bytes, prefix6, sizeof(prefix6)) == 0;
	return a->bytes[0] == 198 && (a->bytes[1] & 0xfe) == 18;
}

bool synthetic_name(const struct synthetic *s, const struct address *a, struct name *ret)
{
	const uint8_t *low = a->bytes + (a->is_ip6 ? 14 : 2);
	unsigned number = (unsigned)low[0] << 8 | low[1];

	if (number == 0 || number > s->n)
		return false;
	struct address same = make_address(number, a->is_ip6);
	if (!address_equal(&same, a))
		return false;
	const char *text = text_of(s, number);
	memset(ret, 0, sizeof(*ret));
	ret->kind = NAME_DNS;
	ret->len = (uint8_t)strlen(text);
	memcpy(ret->text, text, ret->len + 1u);
	return true;
}

unsigned synthetic_count(const struct synthetic *s)
{
	return s->n;
}
