/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters that stay, by name in their sandbox; one caller at a time has one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/boxes.h"
#include "base/fd.h"
#include "base/id.h"
#include "pinfold/pinfold.h"

/* With the box's lock. */
static struct session *look_up(struct box *b, const char *name)
{
	struct session *s = b->sessions;

	while (s && strcmp(s->name, name) != 0 && strcmp(s->id, name) != 0)
		s = s->next;
	return s;
}

static int missing(const struct box *b, const char *name, struct err *e)
{
	(void)err_set(e, ERR_MISSING, "there is no session \"%.40s\" in sandbox %s", name,
		      b->name[0] ? b->name : b->id);
	(void)err_detail(e, "session");
	return err_remedy(e,
			  "make it first, with POST .../sessions, or name one that the list has");
}

static struct session *add_session(struct box *b, const char *name, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));
	unsigned n = 0;

	for (struct session *other = b->sessions; other; other = other->next)
		n++;
	if (n >= BOX_SESSIONS_MAX || !s || id_make("ses", s->id, e) < 0) {
		free(s);
		if (n >= BOX_SESSIONS_MAX)
			(void)err_set(e, ERR_LIMIT, "there are %u sessions in this sandbox already",
				      n);
		return NULL;
	}
	s->wake = FD_NONE;
	(void)snprintf(s->name, sizeof(s->name), "%s", *name ? name : s->id);
	s->next = b->sessions;
	b->sessions = s;
	return s;
}

static void forget(struct box *b, struct session *s)
{
	struct session **at = &b->sessions;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	session_free(s);
}

void session_free(struct session *s)
{
	pinfold_session_close(s->handle);
	pinfold_watch_close(s->watch);
	fd_close(&s->wake);
	free(s->line);
	free(s);
}

int box_session_answer(struct box *b, const char *name, const char *line, struct err *e)
{
	uint64_t one = 1;
	int r = 0;

	(void)pthread_mutex_lock(&b->lock);
	struct session *s = look_up(b, name);
	if (!s)
		r = missing(b, name, e);
	else if (!s->asking || s->answered)
		r = err_set(e, ERR_CONFLICT, "session \"%s\" does not ask for a line", s->name);
	else if (line && !(s->line = strdup(line)))
		r = err_sys(e, "line");
	else {
		s->answered = true;
		(void)!write(s->wake, &one, sizeof(one)); /* full: it is awake */
	}
	(void)pthread_mutex_unlock(&b->lock);
	return r;
}

/* Somebody may want to interrupt it meanwhile: the handle changes under the lock. */
static struct pinfold_session *swap_handle(struct box *b, struct session *s,
					   struct pinfold_session *handle)
{
	(void)pthread_mutex_lock(&b->lock);
	struct pinfold_session *old = s->handle;
	s->handle = handle;
	(void)pthread_mutex_unlock(&b->lock);
	return old;
}

/* Without the lock; it is ours alone. */
static int make_ready(struct box *b, struct session *s, const char *lang, bool reset, struct err *e)
{
	struct pinfold_session_options o = {.size = sizeof(o),
					    .lang = lang ? lang : s->lang,
					    .tenant = b->tenant,
					    .packages_json = b->packages};
	struct pinfold_session *made = NULL;
	struct pinfold_error failure;

	if (s->handle && (reset || !pinfold_session_alive(s->handle) || strcmp(s->lang, o.lang)))
		pinfold_session_close(swap_handle(b, s, NULL));
	if (s->handle)
		return 0;
	if (pinfold_session_open(b->id, &o, &made, &failure) < 0)
		return api_error(e, &failure);
	if (lang)
		(void)snprintf(s->lang, sizeof(s->lang), "%s", lang);
	(void)swap_handle(b, s, made);
	return 0;
}

struct session *box_session(struct box *b, const char *name, const char *lang, bool reset,
			    struct err *e)
{
	(void)pthread_mutex_lock(&b->lock);
	struct session *s = *name ? look_up(b, name) : NULL;
	bool made = !s && lang;
	if (!s)
		s = lang ? add_session(b, name, e) : (missing(b, name, e), NULL);
	else if (s->busy) {
		unsigned age = (unsigned)((loop_now_ms() - s->since_ms) / 1000);

		(void)err_set(e, ERR_BUSY, "session \"%s\" is still running %s (%u s)", s->name,
			      s->run, age);
		(void)err_remedy(e, "wait, interrupt it, or use another session");
		e->retry_ms = 1000;
		s = NULL;
	}
	if (s && s->handle && lang && !reset && strcmp(s->lang, lang) != 0 &&
	    pinfold_session_alive(s->handle)) {
		(void)err_set(e, ERR_CONFLICT, "session \"%s\" is one of %s", s->name, s->lang);
		(void)err_remedy(e, "choose another name, or let it begin anew with reset");
		s = NULL;
	}
	if (s) {
		s->busy = true;
		s->since_ms = loop_now_ms();
	}
	(void)pthread_mutex_unlock(&b->lock);
	if (s && make_ready(b, s, lang, reset, e) < 0) {
		(void)pthread_mutex_lock(&b->lock);
		s->busy = false;
		if (made)
			forget(b, s);
		(void)pthread_mutex_unlock(&b->lock);
		return NULL;
	}
	return s;
}

void box_session_put(struct box *b, struct session *s)
{
	(void)pthread_mutex_lock(&b->lock);
	s->busy = false;
	s->asking = s->answered = false;
	free(s->line);
	s->line = NULL;
	s->run[0] = '\0';
	(void)pthread_mutex_unlock(&b->lock);
}

int box_session_interrupt(struct box *b, const char *name, struct err *e)
{
	(void)pthread_mutex_lock(&b->lock);
	struct session *s = look_up(b, name);
	if (s && s->busy && s->handle)
		pinfold_session_interrupt(s->handle);
	(void)pthread_mutex_unlock(&b->lock);
	return s ? 0 : missing(b, name, e);
}

int box_session_close(struct box *b, const char *name, struct err *e)
{
	(void)pthread_mutex_lock(&b->lock);
	struct session *s = look_up(b, name);
	bool busy = s && s->busy;
	if (s && !busy)
		forget(b, s);
	(void)pthread_mutex_unlock(&b->lock);
	if (busy)
		return err_set(e, ERR_BUSY, "session \"%s\" is executing", name);
	return s ? 0 : missing(b, name, e);
}
