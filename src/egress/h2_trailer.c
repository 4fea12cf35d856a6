/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/h2_trailer.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "http/trailer.h"

bool h2_trailers_add(struct h2_trailers *t, const char *name, size_t name_len, const char *value,
		     size_t len)
{
	char text[128];

	if (name_len == 0 || name[0] == ':' || name_len >= sizeof(text) ||
	    memchr(name, '\0', name_len) || t->n == HTTP_TRAILER_FIELDS_MAX)
		return false;
	if (!t->room && (t->room = malloc(HTTP_TRAILERS_MAX)))
		http_out_init(&t->out, t->room, HTTP_TRAILERS_MAX);
	if (!t->room)
		return false;
	memcpy(text, name, name_len);
	text[name_len] = '\0';
	http_out_field_n(&t->out, text, value, len);
	t->n++;
	return t->out.error == 0;
}

void h2_trailers_done(struct h2_trailers *t)
{
	free(t->room);
	*t = (struct h2_trailers){0};
}

bool h2_trailers_put(const struct h2_trailers *t, struct stage_buf *to)
{
	return t->out.error == 0 && stage_put_end(to, t->room, t->out.len) == 0;
}

int h2_trailers_send(struct nghttp2_session *session, int32_t id, const struct http_body *b,
		     unsigned nv_flags)
{
	static char names[HTTP_TRAILERS_ROOM];
	nghttp2_nv nv[HTTP_TRAILER_FIELDS_MAX];
	const char *lines = b->kept;
	size_t left = b->kept ? b->kept_len : 0, n = 0;
	struct http_field f;
	char *name = names;

	while (n < HTTP_TRAILER_FIELDS_MAX && http_trailer_next(&lines, &left, &f)) {
		for (uint32_t k = 0; k < f.name_len; k++)
			name[k] = (char)(f.name[k] >= 'A' && f.name[k] <= 'Z' ? f.name[k] + 32
									      : f.name[k]);
		nv[n++] = (nghttp2_nv){(uint8_t *)name, (uint8_t *)(uintptr_t)f.value, f.name_len,
				       f.value_len, (uint8_t)nv_flags};
		name += f.name_len;
	}
	if (n == 0)
		return 0;
	return nghttp2_submit_trailer(session, id, nv, n) == 0 ? 1 : -1;
}
