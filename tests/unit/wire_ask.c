/* SPDX-License-Identifier: Apache-2.0 */
/* A request's block, made to be misread: what it wants to be remembered with a sandbox. */
#include "wire/ask.h"

#include <stdbool.h>

#include "base/fd.h"
#include "sandbox/ask.h"
#include "tap.h"

static char block[1 << 16];

/* A block as the library writes it; its size. */
static uint32_t make(const char *const *metadata)
{
	static const char *const argv[] = {"true", NULL};
	struct sandbox_spec spec = {.limits = {60000, 2000, 0, 1000, 512u << 20, 128, 256u << 20,
					       1024},
				    .dir_fd = FD_NONE,
				    .argv = argv,
				    .envp = argv + 1,
				    .path = "/bin",
				    .workdir = "/",
				    .metadata = metadata};
	struct err e = ERR_INIT;
	auto_close int fd = FD_NONE;

	if (ask_write(&spec, false, &fd, &e) < 0)
		return 0;
	ssize_t n = pread(fd, block, sizeof(block), 0);
	return n > 0 ? (uint32_t)n : 0;
}

static struct ask_head *head(void)
{
	return (struct ask_head *)(void *)block;
}

static void metadata_is_checked(void)
{
	static char key[80], value[400];
	const char *good[] = {"a=b", "c=", NULL}, *one[] = {NULL, NULL}, *many[19] = {NULL};
	uint32_t size = make(good);

	is_int(ask_check(block, size), 0, "a good one");
	is_int((long)head()->metadatac, 2, "has both");
	for (int i = 0; i < 18; i++)
		many[i] = "k=v";
	is_int(ask_check(block, make(many)), -EINVAL, "too many");
	one[0] = "no value";
	is_int(ask_check(block, make(one)), -EINVAL, "one without a value");
	one[0] = "=v";
	is_int(ask_check(block, make(one)), -EINVAL, "one without a key");
	memset(key, 'k', 65);
	memcpy(key + 65, "=v", 3);
	one[0] = key;
	is_int(ask_check(block, make(one)), -EINVAL, "a key that is too long");
	memset(value, 'v', 2 + 257);
	memcpy(value, "k=", 2);
	one[0] = value;
	is_int(ask_check(block, make(one)), -EINVAL, "a value that is too long");
	value[2 + 256] = '\0';
	is_int(ask_check(block, make(one)), 0, "as long as it may be");
}

static void offsets_are_checked(void)
{
	const char *good[] = {"a=b", "c=", NULL};
	static const uint32_t bad[] = {1, 4, 0x7ffffffc, 0xfffffffc};
	bool held = true;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t size = make(good);

		head()->metadata = bad[i];
		held = held && ask_check(block, size) == -EINVAL;
	}
	ok(held, "a list that is elsewhere");
	uint32_t size = make(good);
	head()->metadata = size - 4;
	is_int(ask_check(block, size), -EINVAL, "a list that ends outside");
	size = make(good);
	*(uint32_t *)(void *)(block + head()->metadata) = size + 100;
	is_int(ask_check(block, size), -EINVAL, "a text that is outside");
	size = make(good);
	head()->metadatac = 0xffffffff;
	is_int(ask_check(block, size), -EINVAL, "a count that is none");
}

static void pins_are_checked(void)
{
	uint32_t size = make(NULL);

	head()->flags |= ASK_PINNED;
	head()->pinned_start_s = 1767225600;
	is_int(ask_check(block, size), 0, "a start of the clock");
	head()->pinned_start_s = -1;
	is_int(ask_check(block, size), -EINVAL, "one before 1970");
	head()->pinned_start_s = INT64_MAX;
	is_int(ask_check(block, size), -EINVAL, "one that no clock shows");
	head()->pinned_start_s = 1;
	head()->flags &= ~ASK_PINNED;
	is_int(ask_check(block, size), -EINVAL, "one that nobody asked for");
}

static void bytes_are_checked(void)
{
	uint32_t size = make(NULL);

	head()->java = size - 4;
	head()->java_len = 4;
	is_int(ask_check(block, size), -EINVAL, "authorities for Java and for nobody else");
	head()->flags |= ASK_EGRESS;
	head()->n_ports = 1;
	head()->ports[0] = 443;
	head()->ca = head()->certs = head()->workdir;
	is_int(ask_check(block, size), 0, "for others, too");
	head()->java_len = 5;
	is_int(ask_check(block, size), -EINVAL, "a byte beyond the end");
	head()->java_len = UINT32_MAX;
	is_int(ask_check(block, size), -EINVAL, "all that there can be");
	head()->java = sizeof(struct ask_head) - 1;
	head()->java_len = 1;
	is_int(ask_check(block, size), -EINVAL, "of the head itself");
}

int main(void)
{
	TAP_RUN(metadata_is_checked);
	TAP_RUN(offsets_are_checked);
	TAP_RUN(pins_are_checked);
	TAP_RUN(bytes_are_checked);
	return tap_done();
}
