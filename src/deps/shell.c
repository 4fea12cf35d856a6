/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, quotes, and what ends a command; documents that follow (<<END) belong to the command that
 * named them. `$(` and what opens a group begin a command, too. All else of a shell's language is
 * just words: nothing is expanded.
 */
#include "deps/shell.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "deps/words.h"

#define WORDS_MAX 64u
#define COMMANDS_MAX 64u
#define TEXT_MAX (256u << 10)

struct command {
	const char *words[WORDS_MAX + 1]; /* ends with NULL; more are left out */
	unsigned n;
	const char *input;  /* what it is given, NULL: nothing that we know */
	const char *output; /* the file that it writes, or NULL */
	bool appends;	    /* behind what is there */
	bool piped;	    /* it reads what the one before it writes */
};

struct lexer {
	const char *at;
	char *room; /* words, one behind the other; never more than twice the text */
	size_t used;
	struct command *commands; /* COMMANDS_MAX */
	unsigned n;
	/* Documents that begin with the next line, and whose they are. */
	const char *ends[COMMANDS_MAX];
	unsigned whose[COMMANDS_MAX], n_ends;
	bool is_indented[COMMANDS_MAX];
};

void deps_shell_done(struct deps_shell *s)
{
	free_ptr(&s->text);
	free_ptr(&s->file);
}

static struct command *now(struct lexer *l)
{
	return &l->commands[l->n];
}

static void end_command(struct lexer *l)
{
	if (now(l)->n && l->n + 1 < COMMANDS_MAX)
		l->n++;
	else if (now(l)->n)
		*now(l) = (struct command){.n = 0}; /* enough were seen */
}

static void put(struct lexer *l, char c)
{
	l->room[l->used++] = c;
}

static bool ends_word(char c)
{
	return c == '\0' || strchr(" \t\n;&|()<>", c) != NULL;
}

/* Up to the quote that closes; "$x" stays as it is written. */
static void take_quoted(struct lexer *l, char quote)
{
	for (l->at++; *l->at && *l->at != quote; l->at++) {
		if (quote == '"' && *l->at == '\\' && l->at[1] && strchr("\\\"$`\n", l->at[1]))
			l->at++;
		put(l, *l->at);
	}
	if (*l->at)
		l->at++;
}

/* $'a\nb', as far as programs need it. */
static void take_escaped(struct lexer *l)
{
	for (l->at += 2; *l->at && *l->at != '\''; l->at++) {
		char c = *l->at;

		if (c == '\\' && l->at[1]) {
			l->at++;
			c = *l->at == 'n' ? '\n' : *l->at == 't' ? '\t' : *l->at;
		}
		put(l, c);
	}
	if (*l->at)
		l->at++;
}

static const char *take_word(struct lexer *l)
{
	const char *word = l->room + l->used;

	while (!ends_word(*l->at)) {
		if (*l->at == '\'' || *l->at == '"') {
			take_quoted(l, *l->at);
		} else if (l->at[0] == '$' && l->at[1] == '\'') {
			take_escaped(l);
		} else if (l->at[0] == '$' && l->at[1] == '(') {
			break; /* a command begins */
		} else {
			if (*l->at == '\\' && l->at[1])
				l->at++;
			put(l, *l->at++);
		}
	}
	put(l, '\0');
	return word;
}

static void skip_blanks(struct lexer *l)
{
	while (*l->at == ' ' || *l->at == '\t' || (l->at[0] == '\\' && l->at[1] == '\n'))
		l->at += *l->at == '\\' ? 2 : 1;
}

/* <<END, <<-END, <<<word, <file, 2>file */
static void take_redirection(struct lexer *l)
{
	bool document = strncmp(l->at, "<<", 2) == 0 && l->at[2] != '<';
	bool text = strncmp(l->at, "<<<", 3) == 0, writes = *l->at == '>';

	bool appends = strncmp(l->at, ">>", 2) == 0;
	while (*l->at == '<' || *l->at == '>')
		l->at++;
	bool indented = document && *l->at == '-';
	if (indented || *l->at == '&' || *l->at == '|')
		l->at++;
	skip_blanks(l);
	const char *word = take_word(l);
	if (text)
		now(l)->input = word;
	if (writes) {
		now(l)->output = word;
		now(l)->appends = appends;
	}
	if (!document || l->n_ends == COMMANDS_MAX)
		return;
	l->ends[l->n_ends] = word;
	l->is_indented[l->n_ends] = indented;
	l->whose[l->n_ends++] = l->n;
}

static const char *line_end(const char *p)
{
	return p + strcspn(p, "\n");
}

/* Behind the end of a line: the documents that it announced. */
static void take_documents(struct lexer *l)
{
	for (unsigned i = 0; i < l->n_ends; i++) {
		const char *text = l->room + l->used;

		for (bool done = false; *l->at && !done;) {
			const char *from = l->at, *to = line_end(from);

			if (l->is_indented[i])
				from += strspn(from, "\t");
			done = (size_t)(to - from) == strlen(l->ends[i]) &&
			       strncmp(from, l->ends[i], (size_t)(to - from)) == 0;
			for (; !done && from < to; from++)
				put(l, *from);
			if (!done)
				put(l, '\n');
			l->at = *to ? to + 1 : to;
		}
		put(l, '\0');
		l->commands[l->whose[i]].input = text;
	}
	l->n_ends = 0;
}

static void take_all(struct lexer *l)
{
	for (skip_blanks(l); *l->at; skip_blanks(l)) {
		if (*l->at == '\n') {
			l->at++;
			end_command(l);
			take_documents(l);
		} else if (*l->at == '#') {
			l->at = line_end(l->at);
		} else if (*l->at == '<' || *l->at == '>') {
			take_redirection(l);
		} else if (l->at[0] == '$' && l->at[1] == '(') {
			end_command(l);
			l->at += 2;
		} else if (strchr(";&|()`", *l->at)) {
			bool pipe = l->at[0] == '|' && l->at[1] != '|' && now(l)->n;

			end_command(l);
			now(l)->piped = pipe;
			l->at++;
		} else {
			const char *word = take_word(l);

			if (now(l)->n < WORDS_MAX)
				now(l)->words[now(l)->n++] = word;
		}
	}
	end_command(l);
}

/* What stands before a program, and its letters that have a value. */
static const struct before {
	const char *name, *valued;
} before[] = {
	{"env", "uC"},	     {"nice", "n"},	{"ionice", "cn"},
	{"sudo", "ugpCDhT"}, {"stdbuf", "ioe"}, {"xargs", "IiLnPsdEa"},
	{"time", "fo"},	     {"nohup", ""},	{"setsid", ""},
	{"chronic", ""},     {"command", ""},	{"exec", "a"},
	{"timeout", "ks"},   {"then", ""},	{"do", ""},
	{"else", ""},	     {"elif", ""},	{"if", ""},
	{"while", ""},	     {"until", ""},	{"!", ""},
	{"{", ""},	     {"eval", ""},
};

static const struct before *find_before(const char *word)
{
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (strcmp(before[i].name, name) == 0)
			return &before[i];
	return NULL;
}

static bool is_variable(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n && word[n] == '=';
}

const char *const *deps_shell_program(const char *const *w)
{
	while (*w) {
		const struct before *b = find_before(*w);

		if (!b && !is_variable(*w))
			break;
		w++;
		for (; b && *w && **w == '-'; w++) {
			bool valued = (*w)[1] && !(*w)[2] && strchr(b->valued, (*w)[1]) && w[1];

			w += valued;
		}
		/* How long. */
		if (b && strcmp(b->name, "timeout") == 0 && *w)
			w++;
	}
	return w;
}

static void add_text(struct deps_shell *s, const char *text)
{
	size_t have = s->text ? strlen(s->text) : 0, n = strlen(text);
	char *more = have + n < TEXT_MAX ? realloc(s->text, have + n + 2) : NULL;

	if (!more)
		return; /* what it needs is then not known, and said when it is missing */
	memcpy(more + have, text, n);
	memcpy(more + have + n, "\n", 2);
	s->text = more;
}

/* In texts of echo and printf \n ends a line. */
static void add_lines(struct deps_shell *to, const char *word)
{
	auto_free char *text = strdup(word);
	char *out = text;

	for (const char *p = word; text && *p; p++) {
		bool end = p[0] == '\\' && p[1] == 'n';

		*out++ = end ? '\n' : *p;
		p += end;
	}
	if (!text)
		return;
	*out = '\0';
	add_text(to, text);
}

/* What a command gives to the next one, or to a file: cat <<END, tee FILE <<END, echo TEXT, printf TEXT. */
static bool gives(const struct command *c, struct deps_shell *to)
{
	bool echo = c->n > 1 && strcmp(c->words[0], "echo") == 0, line = true;

	if (c->input)
		add_text(to, c->input);
	else if (!echo && (c->n < 2 || strcmp(c->words[0], "printf") != 0))
		return false;
	for (unsigned i = 1; !c->input && i < c->n; i++) {
		const char *word = c->words[i];

		/* printf '%s\n' 'import x' */
		if (strncmp(word, "%s", 2) == 0 || (line && echo && word[0] == '-'))
			continue;
		line = false;
		add_lines(to, word);
	}
	return true;
}

/* What a program that is no file is: python3 - <<END, cat <<END | python3. */
static bool take_input(const struct command *c, const char *const *w, struct deps_shell *to)
{
	if (*w && strcmp(*w, "-") != 0)
		return false;
	if (c->input)
		add_text(to, c->input);
	return c->input || (c->piped && gives(c - 1, to));
}

/* A file that commands before wrote: cat >x.py <<END, tee x.py <<END, echo 'import x' >x.py. False where
 * it may have been there before. */
static bool take_written(const struct command *first, const struct command *c, const char *file,
			 struct deps_shell *to)
{
	bool found = false;

	for (; first < c; first++) {
		const char *where = first->output   ? first->output
				    : first->n == 2 ? first->words[1]
						    : "";

		if ((first->input || first->output) && strcmp(where, file) == 0)
			found = (gives(first, to) && !first->appends) || found;
	}
	return found;
}

const char *deps_shell_text(const char *const *w)
{
	for (; *w && **w == '-' && (*w)[1] != '-'; w++)
		if (strchr(*w, 'c'))
			return w[1];
	return NULL;
}

bool deps_is_shell(const char *program)
{
	static const char *const names[] = {"sh", "bash", "dash", "zsh", "ash", "ksh"};
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

struct looking {
	const struct command *first;
	deps_shell_kind *kind;
	bool seen;	/* something of a language */
	unsigned files; /* programs that are files */
};

static void look_at(struct looking *k, const struct command *c, struct deps_shell *ret)
{
	const char *const *w = deps_shell_program(c->words);
	enum deps_lang lang;
	bool takes = false;

	if (!*w || !k->kind(*w, &lang, &takes) || (k->seen && lang != ret->lang))
		return;
	ret->lang = lang;
	k->seen = true;
	struct deps_words found =
		takes ? deps_words(lang, w + 1) : (struct deps_words){.text = NULL};
	char import[DEPS_IMPORT_SIZE];
	if (found.module && deps_words_import(lang, found.module, import)) {
		add_text(ret, import);
		ret->is_more = ret->is_more || !(found.text || found.file);
	}
	bool taken = found.text || !takes;
	if (!taken && found.file)
		taken = take_written(k->first, c, found.file, ret);
	else if (!taken && !found.module)
		taken = take_input(c, w + 1, ret);
	if (found.text)
		add_text(ret, found.text);
	if (!taken && found.file && k->files++ == 0)
		ret->file = strdup(found.file);
}

bool deps_shell(const char *text, deps_shell_kind *kind, struct deps_shell *ret)
{
	size_t n = strlen(text);
	auto_free char *room = n <= TEXT_MAX ? malloc(2 * n + 2) : NULL;
	auto_free struct command *commands = calloc(COMMANDS_MAX, sizeof(*commands));
	struct lexer l = {.at = text, .room = room, .commands = commands};
	struct looking k = {.first = commands, .kind = kind};

	*ret = (struct deps_shell){.text = NULL};
	if (!room || !commands)
		return false;
	take_all(&l);
	for (unsigned i = 0; i < l.n; i++)
		look_at(&k, &commands[i], ret);
	ret->is_more = ret->is_more || k.files > 1;
	if (ret->is_more)
		free_ptr(&ret->file);
	return k.seen;
}
