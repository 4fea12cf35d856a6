/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream's output, kept within a limit: the head and the tail; what lies between is counted.
 * When something is first left out, the whole output goes on into a file, up to its own limit.
 */
#ifndef ENGINE_CAPTURE_H
#define ENGINE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_ARTIFACT_MAX (64ull << 20)

struct capture {
	size_t head_max, tail_max;
	char *head; /* grows up to head_max */
	size_t head_len, head_cap;
	char *tail;		  /* ring of tail_max bytes, made when the head is full */
	size_t tail_len, tail_at; /* tail_at: where the next byte goes */
	uint64_t total;
	bool control_bytes; /* something that a terminal would act on */
	int artifact;	    /* FD_NONE until output is left out, or when there is no place */
	uint64_t artifact_len;
};

void capture_init(struct capture *c, uint64_t limit);
void capture_done(struct capture *c);
/* -ENOMEM when memory ran out: the byte count goes on, the content is lost. */
int capture_add(struct capture *c, const void *data, size_t len);
bool capture_truncated(const struct capture *c);
/* Where the artifact is to be written; what was kept so far is its beginning. */
void capture_start_artifact(struct capture *c, int fd);
/* The two pieces to show, trimmed to whole characters where they were cut. The tail is put in
 * order in place. */
struct capture_view {
	const char *head, *tail;
	size_t head_len, tail_len;
};
void capture_view(struct capture *c, struct capture_view *ret);

#endif
