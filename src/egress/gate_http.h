/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of HTTP/1.1 in the gate. For gate_http.c and the files that it names. */
#ifndef EGRESS_GATE_HTTP_H
#define EGRESS_GATE_HTTP_H

#include "egress/gate_int.h"
#include "http/body.h"

#define HEAD_ROOM (HTTP_HEAD_MAX + 1024)
#define CHUNK_ROOM 128u /* around a chunk, or the lines behind the last */

struct http_stage {
	struct stage stage;
	struct conn *conn; /* borrowed: it owns us */
	bool is_proxy;
	bool in_exchange;
	struct http_head *head; /* of the request, then of the response; owned; NULL: none is read */
	struct http_body up, down;
	char *up_kept, *down_kept; /* their trailers; owned; NULL: they are dropped */
	uint32_t head_max;	   /* of the request, by the rule; 0: any */
	bool wants_trailers;	   /* the client does */
	bool up_done, down_done, has_response;
	bool keeps, is_old; /* the client's connection stays; it speaks HTTP/1.0 */
	bool server_keeps;  /* so does the server's */
	bool is_clean;	    /* the last exchange was whole on the server's side, and it stays */
	bool is_parting;    /* the request is for another server than there is */
	char *again;	    /* it, while a server that answered before has not answered; owned */
	size_t again_len;
	enum http_method method;
	unsigned n_informal;
	struct egress_inject inject[EGRESS_INJECTS_MAX]; /* of this request; borrowed */
	unsigned n_inject;
	const char *rule;     /* that allows it; borrowed from the policy */
	bool is_brokered;     /* the gate has a secret for its host */
	struct tunnel tunnel; /* wanted by this request, or open */
	struct secret_scan scan;
	struct redact *redact; /* owned; NULL: the sandbox has no secrets */
	struct taped taped;
	struct noted noted;
};

/* Heads are large, and most connections wait. False: no memory. */
bool http_stage_has_head(struct http_stage *s);
void http_stage_drop_head(struct http_stage *s);
/* The request that is on its way need not be sent again. */
void http_stage_forget_again(struct http_stage *s);

/* gate_http_judge.c. STAGE_ON: it may be sent. STAGE_WAIT: a person is asked first. */
enum stage_next http_stage_judge(struct http_stage *s, struct stage_io *io, size_t head_len);
enum stage_next http_stage_refuse(struct stage_io *io, unsigned status, const char *text);
enum stage_next http_stage_no_server(struct stage *stage, struct stage_io *io, const char *why);
enum egress_protocol http_stage_spoken(const struct conn *c);

/* gate_http_head.c: s->head, to the server and to the client. */
int http_stage_write_request(struct http_stage *s, struct stage_io *io);
int http_stage_write_response(struct http_stage *s, struct stage_io *io);

/* gate_http_body.c: as much of a body as there is and as fits, framed anew. 1: it is whole. 0: not yet. -1: bad. */
int http_stage_pump(struct http_stage *s, struct http_body *b, struct stage_buf *in,
		    struct stage_buf *out, bool chunks);
/* A part of an answer, without the values of secrets; `last`: with what was held back. */
int http_stage_put_redacted(struct http_stage *s, struct stage_buf *out, const char *data,
			    size_t len, bool chunks, bool last);
bool http_stage_sends_chunks(const struct http_stage *s);
void http_stage_drop_trailers(struct http_stage *s);

/* gate_http_answer.c: as much of the response as there is. STAGE_ON: see has_response and down_done. */
enum stage_next http_stage_take_answer(struct http_stage *s, struct stage_io *io);

#endif
