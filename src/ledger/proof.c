/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/proof.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/value.h"
#include "ledger/event.h"
#include "ledger/notary.h"
#include "ledger/settle.h"

/* All that is in one. */
struct parts {
	char *event;
	size_t event_len;
	uint64_t at;
	struct tree_hash hash[TREE_PROOF_MAX];
	unsigned n;
	struct note note;
};

static int write_parts(const struct parts *p, char **ret, size_t *ret_len, struct err *e)
{
	size_t room = 4 * (p->event_len + 2) / 3 + (size_t)p->n * 48 + NOTE_SIZE + 128, n;
	char *to = malloc(room);

	if (!to)
		return err_sys(e, "proof");
	n = (size_t)snprintf(to, room, "%sextra ", PROOF_BEGIN);
	n += note_base64(p->event, p->event_len, to + n);
	n += (size_t)snprintf(to + n, room - n, "\nindex %llu\n", (unsigned long long)p->at);
	for (unsigned i = 0; i < p->n; i++) {
		n += note_base64(p->hash[i].byte, HASH_BYTES, to + n);
		to[n++] = '\n';
	}
	to[n++] = '\n';
	/* The empty line behind it is for files of many. */
	n += note_again(&p->note, to + n) - 1;
	to[n] = '\0';
	*ret = to;
	*ret_len = n;
	return 0;
}

static int find_event(int dir, struct parts *p, struct err *e)
{
	auto_scan *s = NULL;
	struct scan_line line = {.len = 0};
	struct event_head head;
	int r = scan_open(dir, &s, e);

	if (r >= 0 && (settle_seek(dir, s, p->at, e) < 0 || scan_next(s, &line, e) <= 0 ||
		       !event_head(line.text, line.len, &head) || head.at != p->at)) {
		(void)err_set(e, ERR_MISSING, "event %llu is not there", (unsigned long long)p->at);
		r = err_remedy(e,
			       "it was pruned, or pinfold verify says where the ledger is damaged");
	}
	if (r < 0)
		return r;
	p->event = strndup(line.text, line.len);
	p->event_len = line.len;
	return p->event ? 0 : err_sys(e, "proof");
}

int proof_make(int dir, uint64_t at, char **ret, size_t *ret_len, struct err *e)
{
	auto_free struct parts *p = calloc(1, sizeof(*p));
	int r = p ? settle_now(dir, e) : err_sys(e, "proof");

	if (r >= 0)
		r = settle_last(dir, &p->note, e);
	if (r >= 0 && at >= p->note.point.head.size) {
		(void)err_set(e, ERR_MISSING, "there is no event %llu", (unsigned long long)at);
		r = err_remedy(e, "the last one is %llu; \"at\" of an event says its place",
			       (unsigned long long)p->note.point.head.size - 1);
	}
	if (r < 0)
		return r;
	p->at = at;
	r = find_event(dir, p, e);
	auto_close int tree = r < 0 ? FD_NONE : settle_open_tree(dir, e);
	if (r >= 0)
		r = tree < 0 ? tree
			     : tree_inclusion(at, p->note.point.head.size, settle_read, &tree,
					      p->hash, &p->n, e);
	if (r >= 0)
		r = write_parts(p, ret, ret_len, e);
	free(p->event);
	return r < 0 ? r : 0;
}

/* The line at *text, which goes on behind it; NULL: there is none. */
static const char *next_line(const char **text, const char *end, size_t *ret_len)
{
	const char *line = *text, *stop = memchr(line, '\n', (size_t)(end - line));

	if (!stop)
		return NULL;
	*ret_len = (size_t)(stop - line);
	*text = stop + 1;
	return line;
}

static bool is_number(const char *text, size_t len, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || i > 14)
			return false;
		*ret = *ret * 10 + (uint64_t)(text[i] - '0');
	}
	return len > 0;
}

static bool parse_note(const char *text, const char *end, struct note *ret)
{
	struct err none = ERR_INIT;
	auto_free char *whole = NULL;
	size_t used = 0;

	/* As in the file, where an empty line ends it. */
	return asprintf(&whole, "%.*s\n", (int)(end - text), text) >= 0 &&
	       note_parse(whole, strlen(whole), ret, &used, &none) >= 0 && !whole[used];
}

static bool parse_parts(const char *text, size_t len, struct parts *p)
{
	const char *end = text + len, *line;
	void *event = NULL;
	size_t n = 0;

	if (len < sizeof(PROOF_BEGIN) || memcmp(text, PROOF_BEGIN, sizeof(PROOF_BEGIN) - 1) != 0)
		return false;
	text += sizeof(PROOF_BEGIN) - 1;
	line = next_line(&text, end, &n);
	if (!line || n < 7 || memcmp(line, "extra ", 6) != 0 ||
	    value_from_base64(line + 6, n - 6, &event, &p->event_len) < 0)
		return false;
	p->event = event;
	line = next_line(&text, end, &n);
	if (!line || n < 7 || memcmp(line, "index ", 6) != 0 || !is_number(line + 6, n - 6, &p->at))
		return false;
	while ((line = next_line(&text, end, &n)) && n > 0)
		if (p->n == TREE_PROOF_MAX || !note_bytes(line, n, &p->hash[p->n++], HASH_BYTES))
			return false;
	return line && parse_note(text, end, &p->note);
}

__attribute__((format(printf, 2, 3))) static int bad(struct proof_result *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(ret->what, sizeof(ret->what), fmt, ap);
	va_end(ap);
	return 0;
}

static int check_parts(const struct parts *p, const struct public_key *key,
		       struct proof_result *ret, struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	const struct checkpoint *point = &p->note.point;
	struct event_head head;
	struct tree_hash leaf;
	uint8_t id[4];

	if (!event_head(p->event, p->event_len, &head))
		return bad(ret, "extra: this is no event");
	ret->at = head.at;
	memcpy(ret->chain, head.chain, sizeof(ret->chain));
	if (head.at != p->at)
		return bad(ret, "index: the event is another one");
	if (strncmp(point->name, "pinfold/", 8) != 0 || strcmp(head.chain, point->name + 8) != 0)
		return bad(ret, "the checkpoint: it is of another chain");
	tree_leaf(p->event, p->event_len, &leaf);
	if (!tree_check_inclusion(p->at, point->head.size, &leaf, p->hash, p->n, &point->head.root))
		return bad(ret, "the event is not in the tree of the checkpoint");
	note_key_id(KEY_SIGNS, point->name, key, id);
	if (memcmp(id, p->note.key_id, sizeof(id)) != 0)
		return bad(ret, "the checkpoint: signed by another key");
	int r = notary_start(&notary, FD_NONE, e);
	if (r >= 0)
		r = notary_check(&notary, key, p->note.body, p->note.body_len, &p->note.sig, e);
	ret->good = r > 0;
	return r < 0 ? r : r > 0 ? 0 : bad(ret, "the checkpoint: its signature is wrong");
}

int proof_check(const char *text, size_t len, const struct public_key *key,
		struct proof_result *ret, struct err *e)
{
	auto_free struct parts *p = calloc(1, sizeof(*p));
	auto_free char *again = NULL;
	size_t n = 0;
	int r = 0;

	*ret = (struct proof_result){.good = false};
	if (!p)
		return err_sys(e, "proof");
	bool parsed = parse_parts(text, len, p);
	if (parsed)
		r = write_parts(p, &again, &n, e);
	/* The same text again: nothing can be said in two ways. */
	if (r >= 0 && (!parsed || n != len || memcmp(again, text, n) != 0))
		r = bad(ret, "this is no proof of an event");
	else if (r >= 0)
		r = check_parts(p, key, ret, e);
	if (p->event && p->event_len < EVENT_BYTES_MAX)
		ret->event = strndup(p->event, p->event_len);
	free(p->event);
	return r;
}
