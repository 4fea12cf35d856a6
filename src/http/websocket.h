/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSockets (RFC 6455), the server's half: opening, frames of a client, frames of ours. Pure and
 * without heap; payload is unmasked where it lies and given as slices. No extensions: we offer
 * none, so reserved bits are refused.
 */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/head.h"

#define WS_CONTROL_MAX 125
#define WS_HEAD_MAX 10 /* of a frame of ours */
#define WS_ACCEPT_SIZE 29

enum ws_op {
	WS_MORE = 0, /* on the wire alone: the message that was begun goes on */
	WS_TEXT = 1,
	WS_BINARY = 2,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10,
};

/* Does a request open a WebSocket? 0: answer 101 with Upgrade: websocket, Connection: Upgrade
 * and Sec-WebSocket-Accept with this value. Refused with 400, or with 426 for another version
 * than 13, which is to be named in Sec-WebSocket-Version. Whose page asks (Origin) is for the
 * caller to see. */
int ws_handshake(const struct http_head *h, char ret_accept[WS_ACCEPT_SIZE], struct http_error *e);

/*
 * States of a decoder: HEAD -> PAYLOAD -> HEAD ...; behind a close frame CLOSED, where all is
 * ignored; behind a refusal BROKEN.
 */
enum ws_state { WS_IN_HEAD, WS_IN_PAYLOAD, WS_CLOSED, WS_BROKEN };

struct ws {
	enum ws_state state;
	uint64_t message_bytes_max;
	uint64_t bytes;	  /* of the message so far */
	uint64_t left;	  /* of the frame */
	enum ws_op op;	  /* of the frame */
	enum ws_op begun; /* of the message that is not whole yet; WS_MORE: none */
	bool is_last;	  /* the frame ends its message */
	uint8_t head[14], n_head;
	uint8_t mask[4], mask_at;
	uint8_t text_need, text_low, text_high; /* of the character that a slice cut */
	uint8_t n_control;
	char control[WS_CONTROL_MAX];
};

struct ws_event {
	enum ws_op op; /* of a piece: the message's, WS_TEXT or WS_BINARY */
	char *data;    /* borrowed from what was fed, or from the decoder until the next call */
	size_t len;
	bool is_last;	/* the message is whole with this piece */
	uint16_t close; /* with WS_CLOSE: the code, 1005 when it gave none; data is the reason */
};

void ws_init(struct ws *w, uint64_t message_bytes_max);
/*
 * Take at most one event from `in`, which is changed. 1: *ret is one. 0: there is none in it. Both:
 * *ret_used bytes are done with; go on behind them. < 0: refused, e->status is the code to close
 * with: 1002 against the protocol, 1007 text that is no UTF-8, 1009 larger than allowed.
 */
int ws_feed(struct ws *w, char *in, size_t n, size_t *ret_used, struct ws_event *ret,
	    struct http_error *e);

/* What stands in front of `len` bytes that we send; its length. */
size_t ws_frame_head(char out[WS_HEAD_MAX], enum ws_op op, bool is_last, uint64_t len);
/* A whole close frame; a reason of more than 123 bytes is cut. Its length. */
size_t ws_close_frame(char out[2 + WS_CONTROL_MAX], uint16_t code, const char *reason);

#endif
