/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/hello.h"

#include <assert.h>
#include <string.h>

#include "egress/hold.h"

#define RECORD_HEAD 5u
#define RECORD_MAX 16384u
#define RECORDS_MAX 64u /* a hello in more pieces than that is a game */
#define ALERT_LEN 2u
#define ALERT_FATAL 2
#define CLIENT_HELLO 1
#define SERVER_HELLO 2
#define SERVER_HELLO_FRONT 38u /* type, length, version, random */

enum { TYPE_CIPHERS = 20, TYPE_ALERT = 21, TYPE_HANDSHAKE = 22, TYPE_DATA = 23 };

enum {
	EXT_SERVER_NAME = 0,
	EXT_ALPN = 16,
	EXT_VERSIONS = 43,
	EXT_ECH = 0xfe0d,
	EXT_ESNI = 0xffce,
};

enum {
	ALERT_UNEXPECTED = 10,
	ALERT_OVERFLOW = 22,
	ALERT_DECODE = 50,
	ALERT_VERSION = 70,
	ALERT_DENIED = 49,
	ALERT_UNRECOGNIZED_NAME = 112,
	ALERT_MISSING_EXTENSION = 109,
};

/* A part of the message. Reading past its end sets `is_bad` and gives nothing. */
struct slice {
	const uint8_t *at;
	size_t left;
	bool is_bad;
};

static enum hello_state refuse(struct hello *ret, uint8_t alert, const char *why)
{
	ret->alert = alert;
	ret->why = why;
	return HELLO_REFUSED;
}

static unsigned take_number(struct slice *s, unsigned bytes)
{
	unsigned value = 0;

	if (s->left < bytes) {
		s->is_bad = true;
		s->left = 0;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | *s->at++;
	s->left -= bytes;
	return value;
}

/* What follows a length of so many bytes. */
static struct slice take_vector(struct slice *s, unsigned bytes)
{
	size_t n = take_number(s, bytes);
	struct slice inside = {.at = s->at, .left = n};

	if (s->is_bad || s->left < n) {
		s->is_bad = true;
		s->left = 0;
		return (struct slice){.at = s->at, .is_bad = true};
	}
	s->at += n;
	s->left -= n;
	return inside;
}

static enum hello_state read_server_name(struct slice ext, struct hello *ret)
{
	struct slice list = take_vector(&ext, 2);
	unsigned type = take_number(&list, 1);
	struct slice name = take_vector(&list, 2);
	const char *why = NULL;

	if (ext.is_bad || list.is_bad || ext.left)
		return refuse(ret, ALERT_DECODE, "server_name is broken");
	if (list.left)
		return refuse(ret, ALERT_DECODE, "several names in server_name");
	if (type != 0)
		return refuse(ret, ALERT_DECODE, "server_name is of an unknown kind");
	if (name.left == 0)
		return refuse(ret, ALERT_UNRECOGNIZED_NAME, "server_name is empty");
	/* RFC 6066 has none, and servers disagree about it. */
	if (name.at[name.left - 1] == '.')
		return refuse(ret, ALERT_UNRECOGNIZED_NAME, "server_name ends with a dot");
	if (name_parse((const char *)name.at, name.left, &ret->name, &why) < 0)
		return refuse(ret, ALERT_UNRECOGNIZED_NAME, "server_name is not a host name");
	if (ret->name.kind != NAME_DNS)
		return refuse(ret, ALERT_UNRECOGNIZED_NAME, "server_name is an address");
	return HELLO_NAME;
}

static enum hello_state read_alpn(struct slice ext, struct hello *ret)
{
	struct slice list = take_vector(&ext, 2), all = list;

	if (ext.is_bad || ext.left || list.left == 0)
		return refuse(ret, ALERT_DECODE, "the list of protocols is broken");
	while (list.left && !list.is_bad) {
		struct slice one = take_vector(&list, 1);

		if (one.is_bad || one.left == 0)
			return refuse(ret, ALERT_DECODE, "the list of protocols is broken");
		ret->offers_h2 |= one.left == 2 && memcmp(one.at, "h2", 2) == 0;
		ret->offers_http11 |= one.left == 8 && memcmp(one.at, "http/1.1", 8) == 0;
	}
	/* A list that does not fit is not shown; nothing depends on all of it. */
	if (all.left <= sizeof(ret->alpn)) {
		memcpy(ret->alpn, all.at, all.left);
		ret->alpn_len = (uint16_t)all.left;
	}
	return HELLO_NAME;
}

static enum hello_state read_versions(struct slice ext, struct hello *ret)
{
	struct slice list = take_vector(&ext, 1);

	if (ext.is_bad || ext.left || list.left % 2)
		return refuse(ret, ALERT_DECODE, "the list of versions is broken");
	while (list.left)
		ret->offers_tls13 |= take_number(&list, 2) == 0x0304;
	return HELLO_NAME;
}

static enum hello_state read_extension(unsigned type, struct slice ext, struct hello *ret)
{
	switch (type) {
	case EXT_SERVER_NAME: return read_server_name(ext, ret);
	case EXT_ALPN: return read_alpn(ext, ret);
	case EXT_VERSIONS: return read_versions(ext, ret);
	case EXT_ECH:
	case EXT_ESNI:
		return HOLD_GATE_ECH ? refuse(ret, ALERT_DENIED, "the real name is hidden (ECH)")
				     : HELLO_NAME;
	default: return HELLO_NAME;
	}
}

static enum hello_state read_extensions(struct slice all, struct hello *ret)
{
	uint64_t seen[1024] = {0};
	bool has_name = false;

	while (all.left) {
		unsigned type = take_number(&all, 2);
		struct slice ext = take_vector(&all, 2);

		if (all.is_bad || ext.is_bad)
			return refuse(ret, ALERT_DECODE, "an extension that is cut");
		if (seen[type / 64] >> (type % 64) & 1)
			return refuse(ret, ALERT_DECODE, "an extension that is there twice");
		seen[type / 64] |= UINT64_C(1) << (type % 64);
		has_name |= type == EXT_SERVER_NAME;
		if (read_extension(type, ext, ret) == HELLO_REFUSED)
			return HELLO_REFUSED;
	}
	if (!has_name)
		return refuse(ret, ALERT_MISSING_EXTENSION, "no server_name");
	return HELLO_NAME;
}

static enum hello_state read_message(const uint8_t *msg, size_t len, struct hello *ret)
{
	struct slice s = {.at = msg, .left = len};
	unsigned version = take_number(&s, 2);

	if (s.left < 32)
		return refuse(ret, ALERT_DECODE, "a ClientHello that is cut");
	s.at += 32;
	s.left -= 32;
	struct slice session = take_vector(&s, 1), ciphers = take_vector(&s, 2);
	struct slice compressions = take_vector(&s, 1);
	if (s.is_bad || session.left > 32 || ciphers.left < 2 || ciphers.left % 2 ||
	    compressions.left == 0)
		return refuse(ret, ALERT_DECODE, "a ClientHello that is broken");
	if (version < 0x0301 || version > 0x03ff)
		return refuse(ret, ALERT_VERSION, "a version before TLS");
	if (s.left == 0)
		return refuse(ret, ALERT_MISSING_EXTENSION, "no server_name");
	struct slice extensions = take_vector(&s, 2);
	if (s.is_bad || extensions.is_bad || s.left)
		return refuse(ret, ALERT_DECODE, "extensions that are cut, or bytes behind them");
	return read_extensions(extensions, ret);
}

static enum hello_state check_record(const uint8_t *p, size_t left, struct hello *ret)
{
	/* SSLv2 has a length of two bytes with the first bit set, then its own client hello. */
	if (p[0] & 0x80 && (left < 3 || p[2] == 1))
		return left < 3 ? HELLO_MORE : refuse(ret, ALERT_VERSION, "a hello of SSL 2");
	if (p[0] != TYPE_HANDSHAKE)
		return refuse(ret, 0, "not TLS");
	if (left >= 2 && p[1] != 3)
		return refuse(ret, 0, "not TLS");
	if (left < RECORD_HEAD)
		return HELLO_MORE;
	size_t n = (size_t)p[3] << 8 | p[4];
	if (n == 0 || n > RECORD_MAX)
		return refuse(ret, ALERT_OVERFLOW, "a record that is empty or too long");
	return HELLO_NAME;
}

/* What the records so far carry is put together in `msg`, whose first four bytes say how long it
 * will be. */
enum hello_state hello_parse(const uint8_t *buf, size_t len, struct hello *ret)
{
	uint8_t msg[4 + HELLO_MAX];
	size_t have = 0, at = 0, want = 4;

	assert(ret);
	memset(ret, 0, sizeof(*ret));
	for (unsigned records = 0; at < len; records++) {
		enum hello_state state = check_record(buf + at, len - at, ret);

		if (state != HELLO_NAME)
			return state;
		if (records == RECORDS_MAX)
			return refuse(ret, ALERT_DECODE, "a ClientHello in too many pieces");
		size_t n = (size_t)buf[at + 3] << 8 | buf[at + 4], left = len - at - RECORD_HEAD;
		size_t there = n < left ? n : left;
		size_t room = want - have < there ? want - have : there;
		const uint8_t *p = buf + at + RECORD_HEAD;

		memcpy(msg + have, p, room);
		have += room;
		if (have >= 1 && msg[0] != CLIENT_HELLO)
			return refuse(ret, ALERT_UNEXPECTED, "not a ClientHello");
		if (have == 4 && want == 4) {
			want += (size_t)msg[1] << 16 | (size_t)msg[2] << 8 | msg[3];
			if (want == 4)
				return refuse(ret, ALERT_DECODE, "a ClientHello that is cut");
			if (want > sizeof(msg))
				return refuse(ret, ALERT_OVERFLOW,
					      "a ClientHello that is too long");
			size_t rest = want - have < there - room ? want - have : there - room;
			memcpy(msg + have, p + room, rest);
			have += rest;
			room += rest;
		}
		/* A message ends with its record: nothing may ride behind it unseen. */
		if (have == want && (room < there || there < n))
			return refuse(ret, ALERT_UNEXPECTED, "something behind the ClientHello");
		ret->len = at + RECORD_HEAD + n;
		if (have == want && want > 4)
			return read_message(msg + 4, want - 4, ret);
		at += RECORD_HEAD + there;
	}
	return HELLO_MORE;
}

/* What a server says in the place of random bytes (RFC 8446, 4.1.3). */
static const uint8_t retry_random[32] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
					 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
					 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
					 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

static enum hello_answer read_answer(const uint8_t *p, size_t left, size_t n)
{
	/* Nobody cuts one so short, and of what is no ServerHello we do not know what it asks for. */
	if (n < SERVER_HELLO_FRONT || (left > RECORD_HEAD && p[RECORD_HEAD] != SERVER_HELLO))
		return HELLO_ANSWER_RETRY;
	if (left < RECORD_HEAD + SERVER_HELLO_FRONT)
		return HELLO_ANSWER_MORE;
	return memcmp(p + RECORD_HEAD + 6, retry_random, sizeof(retry_random)) == 0
		       ? HELLO_ANSWER_RETRY
		       : HELLO_ANSWER_FINAL;
}

enum hello_answer hello_answer(const uint8_t *buf, size_t len)
{
	size_t at = 0;

	while (len - at >= RECORD_HEAD) {
		const uint8_t *p = buf + at;
		size_t n = (size_t)p[3] << 8 | p[4];

		if (p[0] == TYPE_HANDSHAKE)
			return read_answer(p, len - at, n);
		if (p[0] != TYPE_ALERT)
			return HELLO_ANSWER_FINAL;
		if (n != ALERT_LEN || at > HELLO_ANSWER_BYTES / 2)
			return HELLO_ANSWER_RETRY;
		if (len - at < RECORD_HEAD + ALERT_LEN)
			break;
		if (p[RECORD_HEAD] == ALERT_FATAL)
			return HELLO_ANSWER_FINAL;
		at += RECORD_HEAD + ALERT_LEN; /* a warning may come first */
	}
	return HELLO_ANSWER_MORE;
}

size_t hello_second(const uint8_t *buf, size_t len, bool *ret_more)
{
	size_t at = 0;

	while (len - at >= RECORD_HEAD && (buf[at] == TYPE_CIPHERS || buf[at] == TYPE_DATA)) {
		size_t n = (size_t)buf[at + 3] << 8 | buf[at + 4];

		if (n > len - at - RECORD_HEAD)
			break;
		at += RECORD_HEAD + n;
	}
	*ret_more = at < len && (buf[at] == TYPE_CIPHERS || buf[at] == TYPE_DATA);
	return at;
}

size_t hello_alert(uint8_t alert, uint8_t ret[7])
{
	const uint8_t record[7] = {21, 3, 3, 0, 2, 2, alert};

	memcpy(ret, record, sizeof(record));
	return alert ? sizeof(record) : 0;
}
