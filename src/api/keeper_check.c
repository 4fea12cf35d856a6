/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this a request that the keeper may follow? It runs with the rights of who started the daemon,
 * root perhaps, for a process that talks with the whole world: so what is not known to be harmless
 * is refused. No option that names something on the host is among those below, and no word can be
 * taken for one.
 */
#include <stdio.h>
#include <string.h>

#include "api/keeper_int.h"
#include "api/tokens.h"
#include "base/fd.h"
#include "base/id.h"

#define NAME_MAX_BYTES 63u
#define VALUE_MAX_BYTES 128u

/* Options with a value end with '=', or with '*' where it may be any text: inside, or of the
 * command. */
#define COMMAND_OPTIONS                                                                            \
	"run-id= lang= env* workdir* time= grace= cpu-time= cpus= memory= pids= disk= nofile= "    \
	"output= limits= user= allow* policy-text* reason* on-alert= egress-bytes= "               \
	"egress-connections= egress-requests= deterministic deps= package* apt* asker* "

#define RULE_COMMAND 0x1u /* -- and what to run */
/* It looks at the whole data directory, not at the tenant's part: the keeper says whose by
 * --tenant, which nobody else can. */
#define RULE_WHOLE 0x2u
#define RULE_FOLLOWS 0x4u /* until it is told to end */

static const struct rule {
	const char *verb, *options;
	const char *words; /* n: name of a workspace, p: point in its history, r: id of a run; those
			  behind ? may lack */
	unsigned flags;
} rules[] = {
	{"new", "json disk= image=", "n", 0},
	{"ls", "json", "", 0},
	{"info", "json", "n", 0},
	{"rm", "json", "n", 0},
	{"snap", "json", "n?p", 0},
	{"undo", "json", "n?p", 0},
	{"rollback", "json", "np", 0},
	{"fork", "json at=", "nn", 0},
	{"diff", "json names command=", "n?pp", 0},
	{"log", "json all", "n", 0},
	{"push", "serve-sync sync-key= to* mirror", "n", 0},
	{"pull", "serve-sync sync-key= to*", "n", 0},
	{"deps", "json deps= lang= package* apt* image=", "", 0},
	{"secret", "json give*", "", 0},
	{"exec", COMMAND_OPTIONS, "n", RULE_COMMAND},
	{"run", COMMAND_OPTIONS "name= image=", "", RULE_COMMAND},
	{"receipt", "json", "r", RULE_WHOLE},
	{"audit",
	 "json all follow cursors cursor* from= since= kind* run= sandbox= workspace* host* path*",
	 "", RULE_WHOLE | RULE_FOLLOWS},
};

static int refuse(struct err *e, const char *what, const char *word)
{
	return err_set(e, ERR_INVALID, "\"%.80s\" %s", word, what);
}

static bool is_made_of(const char *text, size_t max, const char *more)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!plain && !(i > 0 && strchr(more, c)))
			return false;
	}
	return n > 0 && n <= max;
}

/* The id of a sandbox where a name belongs would lead into it, whoever has it. */
static int check_name(const char *word, struct err *e)
{
	bool id = strlen(word) == ID_SIZE - 1 &&
		  (strncmp(word, "sbx", 3) == 0 || strncmp(word, "run", 3) == 0);

	if (is_made_of(word, NAME_MAX_BYTES, "-") && !id)
		return 0;
	(void)err_set(e, ERR_INVALID, "name: \"%.80s\" is not a valid name for a workspace", word);
	return err_remedy(e, id ? "it would be taken for an id of a sandbox"
				: "use up to 63 of a-z, 0-9 and -, not beginning with -");
}

static int check_point(const char *word, struct err *e)
{
	if (is_made_of(word, NAME_MAX_BYTES, "-_."))
		return 0;
	(void)refuse(e, "is neither a number nor a label of a snapshot", word);
	return err_remedy(e, "use up to 63 of a-z, 0-9, -, _ and .");
}

static int check_run(const char *word, struct err *e)
{
	return id_is("run", word) ? 0 : refuse(e, "is no id of a run", word);
}

/* The rule's row of an option: *ret_kind is '=', '*' or ' '. */
static bool find_option(const struct rule *r, const char *name, size_t len, char *ret_kind)
{
	for (const char *p = r->options; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " =*");

		*ret_kind = p[n] ? p[n] : ' ';
		if (n == len && memcmp(p, name, n) == 0)
			return true;
		p += strcspn(p, " ");
	}
	return false;
}

static bool is_value(const char *value)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";

	return *value && *value != '-' && strlen(value) <= VALUE_MAX_BYTES &&
	       strspn(value, plain) == strlen(value);
}

static int check_option(const struct rule *r, const char *word, struct err *e)
{
	const char *name = strncmp(word, "--", 2) == 0 ? word + 2 : "";
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	bool is_at = strncmp(name, "at=", 3) == 0; /* what op_workspace.c calls it: a snapshot */
	char kind = 0;

	if (!len || !find_option(r, name, len, &kind))
		return refuse(e, "is no option that may be used here", word);
	if ((kind == ' ') != !value)
		return refuse(e, value ? "takes no value" : "has no value", word);
	if (strncmp(word, "--name=", 7) == 0)
		return check_name(value, e);
	if (kind == '=' && !is_value(value))
		return err_set(e, ERR_INVALID, "%s%.*s: \"%.80s\" cannot be right",
			       is_at ? "" : "--", is_at ? 8 : (int)len, is_at ? "snapshot" : name,
			       value);
	return 0;
}

static bool has_option(const struct keeper_request *q, unsigned end, const char *begin)
{
	for (unsigned i = 1; i < end; i++)
		if (strncmp(q->words[i], begin, strlen(begin)) == 0)
			return true;
	return false;
}

static int check_words(const struct rule *r, const struct keeper_request *q, unsigned *at,
		       struct err *e)
{
	bool needed = true;

	for (const char *w = r->words; *w; w++) {
		if (*w == '?') {
			needed = false;
			continue;
		}
		if (*at == q->n_words) {
			if (!needed)
				return 0;
			return err_set(e, ERR_INVALID, "%s: a word is missing", r->verb);
		}
		const char *word = q->words[(*at)++];
		if ((*w == 'n'	 ? check_name(word, e)
		     : *w == 'r' ? check_run(word, e)
				 : check_point(word, e)) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Without the text, --lang would take its first argument for the name of a file of the host. */
static int check_command(const struct rule *r, const struct keeper_request *q, unsigned options,
			 unsigned at, struct err *e)
{
	bool program = q->head.flags & KEEPER_PROGRAM;

	if (!(q->head.flags & KEEPER_RESULT) || (q->head.flags & KEEPER_LAYERS) ||
	    has_option(q, options, "--lang=") != program)
		return err_set(e, ERR_INVALID, "%s: not with these descriptors", r->verb);
	if (strcmp(r->verb, "run") == 0 && !has_option(q, options, "--name=") &&
	    !has_option(q, options, "--deps=") && !has_option(q, options, "--package=") &&
	    !has_option(q, options, "--image=") && !has_option(q, options, "--apt="))
		return err_set(e, ERR_INVALID, "run: only with --name, an image or packages");
	if (at == q->n_words || strcmp(q->words[at], "--") != 0)
		return err_set(e, ERR_INVALID, "%s: -- is missing", r->verb);
	if (at + 1 == q->n_words && !program)
		return err_set(e, ERR_INVALID, "%s: the command is missing", r->verb);
	return 0;
}

/* Without the socket it would show, or change, what lies in its working directory. */
static int check_hold(const struct rule *r, const struct keeper_request *q, unsigned options,
		      struct err *e)
{
	bool program = q->head.flags & KEEPER_PROGRAM;

	if (!(q->head.flags & KEEPER_LAYERS) || (q->head.flags & KEEPER_RESULT) ||
	    has_option(q, options, "--lang=") != program)
		return err_set(e, ERR_INVALID, "%s: not with these descriptors", r->verb);
	return 0;
}

static int check_request(struct keeper_request *q, struct err *e)
{
	const struct rule *r = rules, *end = rules + sizeof(rules) / sizeof(*rules);
	unsigned at = 1;

	while (r < end && strcmp(r->verb, q->words[0]) != 0)
		r++;
	if (r == end)
		return refuse(e, "is no verb that may be used here", q->words[0]);
	q->whole = r->flags & RULE_WHOLE;
	q->asks = r->flags & RULE_COMMAND;
	q->follows = r->flags & RULE_FOLLOWS;
	/* One dash is none of ours: it is what a caller calls a workspace. */
	for (; at < q->n_words && strncmp(q->words[at], "--", 2) == 0 && q->words[at][2]; at++)
		if (check_option(r, q->words[at], e) < 0)
			return -EINVAL;
	unsigned options = at;
	if (check_words(r, q, &at, e) < 0)
		return -EINVAL;
	if (r->flags & RULE_COMMAND)
		return check_command(r, q, options, at, e);
	if (at < q->n_words)
		return refuse(e, "is one word too many", q->words[at]);
	if (strcmp(r->verb, "deps") == 0 || strcmp(r->verb, "secret") == 0)
		return check_hold(r, q, options, e);
	if (q->head.flags)
		return err_set(e, ERR_INVALID, "%s: not with these descriptors", r->verb);
	return 0;
}

static int split(const char *bytes, struct keeper_request *q, struct err *e)
{
	const char *end = bytes + q->head.len;

	if (q->head.n_words == 0 || q->head.n_words > KEEPER_WORDS_MAX)
		return err_set(e, ERR_LIMIT, "%u words", q->head.n_words);
	for (q->n_words = 0; q->n_words < q->head.n_words; q->n_words++) {
		const char *stop = memchr(bytes, '\0', (size_t)(end - bytes));

		if (!stop)
			return err_set(e, ERR_INVALID, "a word has no end");
		q->words[q->n_words] = bytes;
		bytes = stop + 1;
	}
	return bytes == end ? 0 : err_set(e, ERR_INVALID, "there is more behind the words");
}

int keeper_check(const void *message, size_t len, unsigned n_fds, struct keeper_request *ret,
		 struct err *e)
{
	struct keeper_head *h = &ret->head;

	if (len < sizeof(*h) || len > KEEPER_BYTES_MAX)
		return err_set(e, ERR_INVALID, "a message of %zu bytes", len);
	memcpy(h, message, sizeof(*h));
	if (h->magic != KEEPER_MAGIC || h->version != KEEPER_VERSION)
		return err_set(e, ERR_INVALID, "a message of another version");
	if (h->flags & ~(KEEPER_RESULT | KEEPER_PROGRAM | KEEPER_LAYERS) ||
	    h->len != len - sizeof(*h) || h->grace_ms > KEEPER_GRACE_MAX)
		return err_set(e, ERR_INVALID, "a message that contradicts itself");
	if (n_fds != keeper_fds(h->flags))
		return err_set(e, ERR_INVALID, "%u descriptors", n_fds);
	if (!memchr(h->tenant, '\0', sizeof(h->tenant)) || !tenant_is_valid(h->tenant))
		return err_set(e, ERR_INVALID, "no tenant has this name");
	int r = split((const char *)message + sizeof(*h), ret, e);
	return r < 0 ? r : check_request(ret, e);
}
