/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are not treated as all others, by their names. */
#include <dlfcn.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define FRAME_MAX 512
#define SITES_MAX 32u /* places in a program that look at the clock, as far as we remember them */

static const struct pinned_special specials[] = {
	{"make", .is_whole = true, .compares_times = true},
	{"gmake", .is_whole = true, .compares_times = true},
	{"ninja", .is_whole = true, .compares_times = true},
	{"samu", .is_whole = true, .compares_times = true},
	{"python", .is_asyncio = true},
	{"node", .is_uv = true, .engine = {"_ZN2v8", "_ZN4node12NodePlatform"}},
};

static const struct pinned_special plain;
static const struct pinned_special *found;
static struct {
	void *at;
	bool is_engine;
} sites[SITES_MAX];

static bool is_called(const struct pinned_special *s, const char *name)
{
	return s->is_whole ? strcmp(name, s->name) == 0
			   : strncmp(name, s->name, strlen(s->name)) == 0;
}

const struct pinned_special *pinned_special(void)
{
	char name[16] = {0};

	if (found)
		return found;
	found = &plain;
	(void)sys5(SYS_prctl, PR_GET_NAME, name, 0, 0, 0); /* cannot fail */
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
		if (is_called(&specials[i], name))
			found = &specials[i];
	return found;
}

static bool is_in(const char *const names[2], void *at)
{
	Dl_info info = {0};

	if (!dladdr(at, &info) || !info.dli_sname)
		return false;
	for (unsigned i = 0; i < 2 && names[i]; i++)
		if (strncmp(info.dli_sname, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_engine(const char *const names[2], void *at)
{
	for (unsigned i = 0; i < SITES_MAX; i++) {
		void *known = __atomic_load_n(&sites[i].at, __ATOMIC_ACQUIRE);

		if (known == at)
			return sites[i].is_engine;
		if (known)
			continue;
		bool is = is_in(names, at);
		sites[i].is_engine = is; /* two at once: one is asked for again */
		__atomic_store_n(&sites[i].at, at, __ATOMIC_RELEASE);
		return is;
	}
	return is_in(names, at);
}

bool pinned_is_engine(void **frame)
{
	const char *const *names = pinned_special()->engine;
	void **next = frame[0];

	if (!names[0])
		return false;
	if (is_engine(names, frame[1]))
		return true;
	/* Who called that, where it keeps frames: on the stack, a little above. */
	return next > frame && next < frame + FRAME_MAX && (uintptr_t)next % sizeof(*next) == 0 &&
	       is_engine(names, next[1]);
}
