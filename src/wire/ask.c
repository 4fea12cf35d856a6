/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ask.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static int check_str(const struct ask_head *head, uint32_t off, uint32_t most)
{
	if (off == 0)
		return 0;
	if (off < sizeof(*head) || off >= head->size)
		return -EINVAL;
	uint32_t room = head->size - off;
	return memchr((const char *)head + off, 0, room < most ? room : most) ? 0 : -EINVAL;
}

static int check_vector(const struct ask_head *head, uint32_t off, uint32_t count)
{
	if (count > ASK_STRINGS_MAX || off % sizeof(uint32_t) != 0)
		return -EINVAL;
	if (count == 0)
		return 0;
	if (off < sizeof(*head) || off > head->size ||
	    (head->size - off) / sizeof(uint32_t) < count)
		return -EINVAL;
	const uint32_t *v = (const uint32_t *)(const void *)((const char *)head + off);
	for (uint32_t i = 0; i < count; i++)
		if (v[i] == 0 || check_str(head, v[i], head->size) < 0)
			return -EINVAL;
	return 0;
}

static int between(uint64_t value, uint64_t least, uint64_t most)
{
	return value >= least && value <= most;
}

static int check_limits(const struct ask_limits *l)
{
	const uint64_t year_ms = 366ull * 24 * 3600 * 1000;

	return between(l->time_ms, 1, year_ms) && between(l->grace_ms, 1, year_ms) &&
			       between(l->cpu_time_ms, 0, year_ms) &&
			       between(l->cpus_milli, 10, 4096000) &&
			       between(l->memory_bytes, 4ull << 20, 1ull << 50) &&
			       between(l->pids, 1, 4000000) &&
			       between(l->disk_bytes, 64ull << 10, 1ull << 50) &&
			       between(l->nofile, 8, 1048576)
		       ? 0
		       : -EINVAL;
}

/* A name in a directory of ours. */
static int check_name(const struct ask_head *head, uint32_t off)
{
	const char *name = ask_str(head, off);

	if (check_str(head, off, 256) < 0)
		return -EINVAL;
	return name && (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		       ? -EINVAL
		       : 0;
}

/* Paths in the caller's directory, where nothing leads out of it. */
static int check_hidden(const struct ask_head *head)
{
	const uint32_t *v = (const uint32_t *)(const void *)((const char *)head + head->hidden);

	if (head->hiddenc > ASK_HIDDEN_MAX || check_vector(head, head->hidden, head->hiddenc) < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < head->hiddenc; i++) {
		const char *path = ask_str(head, v[i]);

		if (check_str(head, v[i], 4096) < 0)
			return -EINVAL;
		for (const char *name = path; name;
		     name = strchr(name, '/') ? strchr(name, '/') + 1 : NULL) {
			size_t n = strcspn(name, "/");

			if (n == 0 || n > 255 || (n <= 2 && strncmp(name, "..", n) == 0))
				return -EINVAL;
		}
	}
	return 0;
}

static int check_metadata(const struct ask_head *head)
{
	const uint32_t *v = (const uint32_t *)(const void *)((const char *)head + head->metadata);

	if (head->metadatac > ASK_METADATA_MAX ||
	    check_vector(head, head->metadata, head->metadatac) < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < head->metadatac; i++) {
		size_t key = strcspn(ask_str(head, v[i]), "=");
		const char *value = ask_str(head, v[i]) + key;

		if (key == 0 || key > ASK_METADATA_KEY || !*value ||
		    strlen(value + 1) > ASK_METADATA_VALUE)
			return -EINVAL;
	}
	return 0;
}

static int check_bytes(const struct ask_head *head, uint32_t off, uint32_t len)
{
	if (len == 0)
		return 0;
	return off < sizeof(*head) || off > head->size || len > head->size - off ? -EINVAL : 0;
}

static int check_ports(const struct ask_head *head)
{
	if (head->n_ports > ASK_PORTS_MAX || !(head->flags & ASK_EGRESS) != !head->n_ports)
		return -EINVAL;
	for (uint32_t i = 0; i < ASK_PORTS_MAX; i++)
		if (!head->ports[i] != (i >= head->n_ports))
			return -EINVAL;
	return !head->ca != !head->certs || (head->ca && !head->n_ports) ? -EINVAL : 0;
}

static int check_pinned(const struct ask_head *head)
{
	if (head->flags & ASK_PINNED)
		return head->pinned_start_s < 0 || head->pinned_start_s > ASK_START_MAX_S ? -EINVAL
											  : 0;
	return head->pinned_start_s || head->pinned_made_ns ? -EINVAL : 0;
}

static int check_guard(const struct ask_head *head)
{
	return (head->flags & ASK_GUARD_DELETE) && !(head->flags & ASK_GUARD) ? -EINVAL : 0;
}

int ask_check(const void *block, uint32_t size)
{
	const struct ask_head *head = block;

	if (size < sizeof(*head) || size > ASK_SIZE_MAX || head->magic != ASK_MAGIC ||
	    head->version != ASK_VERSION || head->size != size || (head->flags & ~ASK_FLAGS))
		return -EINVAL;
	if (check_limits(&head->limits) < 0 || head->argc == 0 ||
	    check_vector(head, head->argv, head->argc) < 0 ||
	    check_vector(head, head->envp, head->envc) < 0 || check_hidden(head) < 0 ||
	    check_metadata(head) < 0 || check_ports(head) < 0 || check_pinned(head) < 0 ||
	    check_guard(head) < 0)
		return -EINVAL;
	if (!head->workdir || check_str(head, head->workdir, 4096) < 0 ||
	    check_str(head, head->path, head->size) < 0 ||
	    check_str(head, head->ca, head->size) < 0 ||
	    check_str(head, head->certs, head->size) < 0 ||
	    check_str(head, head->dir_path, 4096) < 0 || check_name(head, head->code_name) < 0)
		return -EINVAL;
	if (ask_str(head, head->workdir)[0] != '/' || !(head->flags & ASK_DIR) != !head->dir_path)
		return -EINVAL;
	if (check_bytes(head, head->code, head->code_len) < 0 ||
	    check_bytes(head, head->java, head->java_len) < 0)
		return -EINVAL;
	return head->java_len && !head->ca ? -EINVAL : 0;
}
