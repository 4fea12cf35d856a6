/* SPDX-License-Identifier: Apache-2.0 */
#include "api/boxes.h"

#include <pinfold/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/gone.h"
#include "api/heirs.h"
#include "api/options.h"
#include "api/quota.h"
#include "base/fd.h"
#include "base/hold.h"
#include "pinfold/pinfold.h"

#define KEY_TENANT "pinfold.tenant"
#define KEY_NAME "pinfold.name" /* of one with a time to live of its own */
#define KEY_IMAGE "pinfold.image"
#define KEY_ROOT "pinfold.root" /* uid 0 inside */
#define OURS 4u			/* of them at most */
#define METADATA_MAX 16u
#define KEY_USED "pinfold.used" /* the name of one that is kept while it is used */
#define SWEEP_MS 60000u
#define TTL_MS (10u * 60 * 1000)

struct boxes {
	pthread_mutex_t naming; /* who looks for a name and takes it when it is free holds this */
	pthread_mutex_t lock;
	struct box *first;    /* under lock */
	uint64_t swept_at_ms; /* under lock */
	struct gone_table *gone;
};

int boxes_new(struct boxes **ret, struct err *e)
{
	struct boxes *b = calloc(1, sizeof(*b));

	if (b)
		b->gone = gone_new();
	if (!b || !b->gone) {
		free(b);
		return err_sys(e, "table of sandboxes");
	}
	(void)pthread_mutex_init(&b->lock, NULL);
	(void)pthread_mutex_init(&b->naming, NULL);
	*ret = b;
	return 0;
}

static void free_box(struct box *b)
{
	while (b->sessions) {
		struct session *s = b->sessions;

		b->sessions = s->next;
		session_free(s);
	}
	pinfold_files_close(b->files);
	(void)pthread_mutex_destroy(&b->lock);
	free(b->packages);
	free(b);
}

void boxes_free(struct boxes *boxes)
{
	if (!boxes)
		return;
	while (boxes->first) {
		struct box *b = boxes->first;

		boxes->first = b->next;
		free_box(b);
	}
	(void)pthread_mutex_destroy(&boxes->lock);
	(void)pthread_mutex_destroy(&boxes->naming);
	gone_free(boxes->gone);
	free(boxes);
}

static const char *metadata_of(const struct pinfold_sandbox_info *info, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = info->metadata; *p; p += strlen(p) + 1)
		if (strncmp(p, key, n) == 0 && p[n] == '=')
			return p + n + 1;
	return "";
}

static const char *name_of(const struct pinfold_sandbox_info *info)
{
	const char *name = metadata_of(info, KEY_NAME);

	return *name ? name : metadata_of(info, KEY_USED);
}

const char *sandbox_image(const struct pinfold_sandbox_info *info)
{
	return metadata_of(info, KEY_IMAGE);
}

bool sandbox_is_root(const struct pinfold_sandbox_info *info)
{
	return *metadata_of(info, KEY_ROOT);
}

const char *sandbox_tenant(const struct pinfold_sandbox_info *info)
{
	return metadata_of(info, KEY_TENANT);
}

/* With the table's lock. */
static struct box *look_up(struct boxes *boxes, const char *tenant, const char *id)
{
	struct box *b = boxes->first;

	while (b && (b->gone || (HOLD_API_TENANT && strcmp(b->tenant, tenant) != 0) ||
		     (strcmp(b->id, id) != 0 && strcmp(b->name, id) != 0)))
		b = b->next;
	return b;
}

/* One for a sandbox that the daemon has; with a reference for the caller. */
static struct box *add_box(struct boxes *boxes, const char *id, const char *tenant,
			   const char *name)
{
	struct box *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	(void)snprintf(b->id, sizeof(b->id), "%s", id);
	(void)snprintf(b->tenant, sizeof(b->tenant), "%s", tenant);
	(void)snprintf(b->name, sizeof(b->name), "%s", name ? name : "");
	(void)pthread_mutex_init(&b->lock, NULL);
	b->refs = 1;
	b->known_ms = loop_now_ms();
	(void)pthread_mutex_lock(&boxes->lock);
	struct box *other = look_up(boxes, tenant, id);
	if (other) { /* somebody was faster */
		other->refs++;
		free_box(b);
		b = other;
	} else {
		b->next = boxes->first;
		boxes->first = b;
	}
	(void)pthread_mutex_unlock(&boxes->lock);
	return b;
}

/* Its time begins anew with each use. The daemon is told now and then, with a little more than
 * that. */
static void extend(struct box *b)
{
	struct pinfold_error ignored; /* it may have ended meanwhile */
	uint64_t now = loop_now_ms(), slack = b->idle_ms / 64;

	if (!b->idle_ms || b->gone)
		return;
	(void)pthread_mutex_lock(&b->lock);
	bool due = now >= b->extended_ms + slack;
	if (due) {
		b->extended_ms = now;
		b->until_ms = now + b->idle_ms + slack;
	}
	(void)pthread_mutex_unlock(&b->lock);
	if (due)
		(void)pinfold_sandbox_touch(b->id, b->idle_ms + slack, &ignored);
}

void box_overfull(struct box *b)
{
	(void)pthread_mutex_lock(&b->lock);
	b->out_of_memory = true;
	(void)pthread_mutex_unlock(&b->lock);
}

void box_timed(struct box *b, uint64_t ttl_ms)
{
	(void)pthread_mutex_lock(&b->lock);
	if (ttl_ms) {
		b->idle_ms = 0;
		b->until_ms = loop_now_ms() + ttl_ms;
	}
	(void)pthread_mutex_unlock(&b->lock);
}

/* It is not there any more; who asks for it is told why, as far as we know. */
static void note_gone(struct boxes *boxes, struct box *b, bool ended_by_call)
{
	char why[160];

	(void)pthread_mutex_lock(&b->lock);
	bool late = b->until_ms && loop_now_ms() >= b->until_ms;
	if (b->out_of_memory)
		(void)snprintf(why, sizeof(why), "a command used more memory than its limit");
	else if (ended_by_call)
		(void)snprintf(why, sizeof(why), "somebody ended it");
	else if (late && b->idle_ms)
		(void)snprintf(why, sizeof(why), "nobody used it for %llu min",
			       (unsigned long long)b->idle_ms / 60000);
	else
		(void)snprintf(why, sizeof(why), "%s",
			       late ? "its time to live was over"
				    : "it was ended, or a limit ended it");
	(void)pthread_mutex_unlock(&b->lock);
	gone_add(boxes->gone, b->tenant, b->id, b->name, why);
}

void box_put(struct api *api, struct box *b)
{
	struct box *dead = NULL;

	if (!b)
		return;
	extend(b);
	(void)pthread_mutex_lock(&api->boxes->lock);
	if (--b->refs == 0 && b->gone) {
		struct box **at = &api->boxes->first;

		while (*at != b)
			at = &(*at)->next;
		*at = b->next;
		dead = b;
	}
	(void)pthread_mutex_unlock(&api->boxes->lock);
	if (dead)
		free_box(dead);
}

static bool is_listed(const struct pinfold_sandbox_info *list, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!list[i].ended_ms && strcmp(list[i].id, id) == 0)
			return true;
	return false;
}

/* What nobody asks for any more has ended some day, and still holds sockets of its own. */
static void sweep(struct boxes *boxes)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error ignored;
	struct box *dead = NULL;
	size_t n = 0;

	(void)pthread_mutex_lock(&boxes->lock);
	uint64_t now = loop_now_ms();
	bool due = now >= boxes->swept_at_ms + SWEEP_MS;
	if (due)
		boxes->swept_at_ms = now;
	(void)pthread_mutex_unlock(&boxes->lock);
	if (!due || pinfold_sandbox_list(&list, &n, &ignored) < 0)
		return;
	(void)pthread_mutex_lock(&boxes->lock);
	for (struct box **at = &boxes->first; *at;) {
		struct box *b = *at;

		/* One that came meanwhile is not in the list. */
		if (b->refs || b->known_ms >= now || is_listed(list, n, b->id)) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		b->next = dead;
		dead = b;
	}
	(void)pthread_mutex_unlock(&boxes->lock);
	while (dead) {
		struct box *b = dead;

		dead = b->next;
		note_gone(boxes, b, false);
		free_box(b);
	}
	pinfold_sandbox_list_free(list);
}

static bool name_is_valid(const char *name)
{
	size_t n = strlen(name);

	return n && n < BOX_NAME_SIZE && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

int box_check_name(const char *arg, const char *name, struct err *e)
{
	if (name_is_valid(name))
		return 0;
	(void)err_set(e, ERR_INVALID, "%s: \"%.40s\" is no name of a sandbox", arg, name);
	return err_remedy(e, "use up to 32 of a-z, 0-9 and -, beginning with no -");
}

static int check_name(struct api *api, const struct who *who, const char *name, struct err *e)
{
	struct err missing = ERR_INIT;

	if (box_check_name("name", name, e) < 0)
		return -EINVAL;
	struct box *other = box_find(api, who, name, &missing);
	if (!other)
		return 0;
	box_put(api, other);
	(void)err_set(e, ERR_CONFLICT, "there is a sandbox \"%s\" already", name);
	return err_remedy(e, "use it, end it, or choose another name");
}

/* The caller's own entries, and ours behind them; an empty one is left out. */
static int with_metadata(const struct pinfold_run_options *o, char ours[OURS][160],
			 const char **list, struct err *e)
{
	unsigned n = 0, used = 0;

	for (unsigned i = 0; i < OURS; i++)
		used += ours[i][0] != '\0';
	const unsigned most = METADATA_MAX - (used > 2 ? used : 2); /* most have two */
	for (; o->metadata && o->metadata[n]; n++) {
		if (n == most)
			return err_set(e, ERR_INVALID, "metadata: more than %u entries", most);
		if (strncmp(o->metadata[n], "pinfold.", 8) == 0)
			return err_set(e, ERR_INVALID, "metadata: names with pinfold. are ours");
		list[n] = o->metadata[n];
	}
	for (unsigned i = 0; i < OURS; i++)
		if (ours[i][0])
			list[n++] = ours[i];
	list[n] = NULL;
	return 0;
}

static struct box *create(struct api *api, const struct who *who, const char *name,
			  const struct pinfold_run_options *o, uint64_t ttl_ms, struct err *e)
{
	struct pinfold_run_options own = *o;
	struct pinfold_error failure;
	const char *list[METADATA_MAX + 1];
	char ours[OURS][160] = {""}, id[PINFOLD_ID_SIZE];

	name = name ? name : "";
	const uint64_t idle_ms = *name && !ttl_ms ? BOX_IDLE_MS : 0;
	if (*name && check_name(api, who, name, e) < 0)
		return NULL;
	if (options_check_disk(o, who, e) < 0)
		return NULL;
	(void)snprintf(ours[0], sizeof(ours[0]), KEY_TENANT "=%s", who->tenant);
	if (*name)
		(void)snprintf(ours[1], sizeof(ours[1]), "%s=%s", idle_ms ? KEY_USED : KEY_NAME,
			       name);
	if (o->image && strcmp(o->image, "host") != 0)
		(void)snprintf(ours[2], sizeof(ours[2]), KEY_IMAGE "=%s", o->image);
	if (o->user && strcmp(o->user, "root") == 0)
		(void)snprintf(ours[3], sizeof(ours[3]), KEY_ROOT "=yes");
	if (with_metadata(o, ours, list, e) < 0)
		return NULL;
	sweep(api->boxes);
	own.flags |= PINFOLD_FOREIGN;
	own.deps = "off"; /* what it has was had before: packages_fd */
	own.packages = NULL;
	own.apt = NULL;
	own.metadata = list;
	own.tenant = who->tenant;
	own.token = who->token;
	own.client = who->client;
	if (api->approvals >= 0)
		own.approvals = api->approvals;
	own.time_ms = ttl_ms ? ttl_ms : idle_ms ? idle_ms : TTL_MS;
	struct quota_need need = {own.memory_bytes, own.disk_bytes, FD_NONE};
	struct lease *lease = NULL;
	if (quota_take(api->quotas, who->tenant, &need, &lease, e) < 0)
		return NULL;
	int r = quota_purse(api, who->tenant, &own, &own.egress_purse, e);
	/* Its time begins before we know of it: what is gone by then must not seem early. */
	const uint64_t asked_ms = loop_now_ms();
	if (r >= 0 && pinfold_sandbox_create(&own, id, &failure) < 0)
		r = api_error(e, &failure);
	if (own.egress_purse)
		(void)close(own.egress_purse); /* the gate has it */
	if (r < 0) {
		lease_end(api->quotas, lease, 0);
		return NULL;
	}
	lease_keep(api->quotas, lease, id);
	struct box *b = add_box(api->boxes, id, who->tenant, name);
	if (!b)
		(void)err_sys(e, "table of sandboxes");
	else {
		b->idle_ms = idle_ms;
		b->until_ms = asked_ms + own.time_ms;
		b->packages = own.packages_json ? strdup(own.packages_json) : NULL;
	}
	return b;
}

struct box *box_create(struct api *api, const struct who *who, const char *name,
		       const struct pinfold_run_options *o, uint64_t ttl_ms, struct err *e)
{
	bool named = name && *name;

	if (named)
		(void)pthread_mutex_lock(&api->boxes->naming);
	struct box *b = create(api, who, name, o, ttl_ms, e);
	if (named)
		(void)pthread_mutex_unlock(&api->boxes->naming);
	return b;
}

static int missing(struct api *api, const struct who *who, const char *id, struct err *e)
{
	struct err ignored = ERR_INIT;
	auto_value *list = boxes_list(api, who, &ignored);
	char names[400] = "";
	size_t n = 0;

	for (size_t i = 0; i < value_len(list) && i < 10; i++) {
		const char *name = value_str(value_get(value_at(list, i), "name"));

		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "",
				      name ? name : value_str(value_get(value_at(list, i), "id")));
		n = n < sizeof(names) ? n : sizeof(names) - 1;
	}
	if (quota_is_over(api->quotas, who->tenant, e)) /* why it is not there any more */
		return err_wrap(e, "sandbox \"%.40s\" was ended or does not exist", id);
	char why[256];
	if (gone_find(api->boxes->gone, who->tenant, id, why, sizeof(why)))
		(void)err_set(e, ERR_MISSING,
			      "sandbox \"%.40s\" does not exist (%s; its files are gone)", id, why);
	else
		(void)err_set(e, ERR_MISSING, "sandbox \"%.40s\" does not exist", id);
	(void)err_detail(e, "sandbox");
	return err_remedy(e, *names ? "live sandboxes: %s" : "there is none; make one first%s",
			  names);
}

/* The daemon need not be asked while somebody inside holds the other end of a channel. */
static bool is_connected(struct box *b)
{
	if (pthread_mutex_trylock(&b->lock) != 0)
		return false;
	bool yes = b->files && pinfold_files_alive(b->files);
	(void)pthread_mutex_unlock(&b->lock);
	return yes;
}

/* Is it still there? */
static bool daemon_has(const char *id)
{
	auto_free struct pinfold_sandbox_info *info = malloc(sizeof(*info));
	struct pinfold_error ignored;

	return info && pinfold_sandbox_get(id, info, &ignored) == 0 && !info->ended_ms;
}

bool box_lives(const struct box *b)
{
	return daemon_has(b->id);
}

/* When its time is over, by our clock. */
static uint64_t until_of(const struct pinfold_sandbox_info *info)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	const uint64_t now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	return loop_now_ms() + (info->expires_ms > now ? info->expires_ms - now : 0);
}

/* A sandbox that we do not know, or do not know any more, but that the daemon has. */
static struct box *find_again(struct api *api, const struct who *who, const char *id)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error ignored;
	struct box *found = NULL;
	size_t n = 0;

	if (pinfold_sandbox_list(&list, &n, &ignored) < 0)
		return NULL;
	for (size_t i = 0; i < n && !found; i++) {
		const char *name = name_of(&list[i]);

		if (list[i].ended_ms ||
		    strcmp(metadata_of(&list[i], KEY_TENANT), who->tenant) != 0 ||
		    (strcmp(list[i].id, id) != 0 && (!*name || strcmp(name, id) != 0)))
			continue;
		found = add_box(api->boxes, list[i].id, who->tenant, name);
		if (found && *metadata_of(&list[i], KEY_USED))
			found->idle_ms = BOX_IDLE_MS;
		if (found && list[i].expires_ms)
			found->until_ms = until_of(&list[i]);
	}
	pinfold_sandbox_list_free(list);
	return found;
}

struct box *box_find(struct api *api, const struct who *who, const char *id, struct err *e)
{
	(void)pthread_mutex_lock(&api->boxes->lock);
	struct box *b = look_up(api->boxes, who->tenant, id);
	if (b)
		b->refs++;
	(void)pthread_mutex_unlock(&api->boxes->lock);
	if (b && (is_connected(b) || daemon_has(b->id)))
		return b;
	if (b) {
		note_gone(api->boxes, b, false);
		b->gone = true;
		box_put(api, b);
	}
	b = find_again(api, who, id);
	if (!b)
		(void)missing(api, who, id, e);
	return b;
}

struct box *box_named(struct api *api, const struct who *who, const char *name, struct err *e)
{
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	struct err ignored = ERR_INIT;

	(void)pthread_mutex_lock(&api->boxes->naming);
	struct box *b = box_find(api, who, name, &ignored);
	if (!b)
		b = create(api, who, name, &o, 0, e);
	(void)pthread_mutex_unlock(&api->boxes->naming);
	return b;
}

int box_destroy(struct api *api, struct box *b, struct err *e)
{
	struct pinfold_error failure;

	note_gone(api->boxes, b, true);
	b->gone = true;
	quota_box_ends(api->quotas, b->id);
	return pinfold_sandbox_destroy(b->id, &failure) < 0 ? api_error(e, &failure) : 0;
}

static struct value *known(uint64_t n)
{
	return n == UINT64_MAX ? value_of_null() : value_of_u64(n);
}

static struct value *describe(const struct pinfold_sandbox_info *i)
{
	struct value *o = value_object(), *limits = value_object(), *usage = value_object(),
		     *metadata = value_object();
	const char *name = name_of(i);

	value_set(o, "id", value_of_str(i->id));
	value_set(o, "name", *name ? value_of_str(name) : value_of_null());
	value_set(o, "status", value_of_str(i->status));
	value_set(o, "isolation", value_of_str(i->isolation));
	const char *image = metadata_of(i, KEY_IMAGE);
	value_set(o, "image", value_of_str(*image ? image : i->image));
	value_set(o, "created", value_of_instant(i->created_ms));
	value_set(o, "expires", value_of_instant(i->expires_ms));
	value_set(o, "background", value_of_u64(i->background));
	value_set(o, "alerts", value_of_u64(i->alerts));
	value_set(limits, "memory", value_of_u64(i->memory_limit));
	value_set(limits, "pids", value_of_u64(i->pids_limit));
	value_set(limits, "disk", value_of_u64(i->disk_limit));
	value_set(limits, "cpus", value_of_real((double)i->cpus_milli / 1000));
	value_set(limits, "nofile", value_of_u64(i->nofile));
	value_set(o, "limits", limits);
	value_set(usage, "memory_bytes", known(i->memory_bytes));
	value_set(usage, "cpu_ms", known(i->cpu_ms));
	value_set(usage, "processes", known(i->processes));
	value_set(o, "usage", usage);
	for (const char *p = i->metadata; *p; p += strlen(p) + 1) {
		const char *is = strchr(p, '=');
		char key[80];

		if (!is || strncmp(p, "pinfold.", 8) == 0)
			continue;
		(void)snprintf(key, sizeof(key), "%.*s", (int)(is - p), p);
		value_set(metadata, key, value_of_str(is + 1));
	}
	value_set(o, "metadata", metadata);
	return o;
}

static bool has_metadata(const struct pinfold_sandbox_info *info, const char *wanted)
{
	size_t n = wanted ? strlen(wanted) : 0;

	if (!wanted)
		return true;
	for (const char *p = info->metadata; *p; p += strlen(p) + 1)
		if (strncmp(p, "pinfold.", 8) != 0 && strncmp(p, wanted, n) == 0 &&
		    (!p[n] || (p[n] == '=' && !strchr(wanted, '='))))
			return true;
	return false;
}

/* Ids begin with the time when they were made. */
static int newest_first(const void *a, const void *b)
{
	const struct pinfold_sandbox_info *const *x = a, *const *y = b;

	return strcmp((*y)->id, (*x)->id);
}

struct value *boxes_some(struct api *api, const struct who *who, struct boxes_page *page,
			 struct err *e)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error failure;
	size_t n = 0, found = 0;

	(void)api;
	if (pinfold_sandbox_list(&list, &n, &failure) < 0) {
		(void)api_error(e, &failure);
		return NULL;
	}
	auto_free const struct pinfold_sandbox_info **his = calloc(n + 1, sizeof(*his));
	struct value *all = his ? value_array() : NULL;
	for (size_t i = 0; his && i < n; i++)
		if (!list[i].ended_ms &&
		    strcmp(metadata_of(&list[i], KEY_TENANT), who->tenant) == 0 &&
		    has_metadata(&list[i], page->metadata) &&
		    (!page->after || strcmp(list[i].id, page->after) < 0))
			his[found++] = &list[i];
	if (his)
		qsort(his, found, sizeof(*his), newest_first);
	for (size_t i = 0; i < found && (!page->limit || i < page->limit); i++)
		value_add(all, describe(his[i]));
	if (page->limit && found > page->limit)
		(void)snprintf(page->next, sizeof(page->next), "%s", his[page->limit - 1]->id);
	pinfold_sandbox_list_free(list);
	if (!all)
		(void)err_sys(e, "list of sandboxes");
	return all;
}

struct value *boxes_list(struct api *api, const struct who *who, struct err *e)
{
	return boxes_some(api, who, &(struct boxes_page){0}, e);
}

struct value *box_describe(struct api *api, struct box *b, struct err *e)
{
	auto_free struct pinfold_sandbox_info *info = malloc(sizeof(*info));
	struct pinfold_error failure;

	(void)api;
	if (!info || pinfold_sandbox_get(b->id, info, &failure) < 0) {
		(void)(info ? api_error(e, &failure) : err_sys(e, "sandbox"));
		return NULL;
	}
	struct value *v = describe(info), *packages = NULL;
	struct err none = ERR_INIT;
	if (v && b->packages &&
	    value_parse(b->packages, strlen(b->packages), &packages, &none) >= 0)
		value_set(v, "packages", packages);
	return v;
}

struct pinfold_files *box_files(struct box *b, struct err *e)
{
	struct pinfold_error failure;

	(void)pthread_mutex_lock(&b->lock);
	if (!b->files && pinfold_files_open(b->id, &b->files, &failure) < 0) {
		b->files = NULL;
		(void)pthread_mutex_unlock(&b->lock);
		(void)api_error(e, &failure);
		return NULL;
	}
	return b->files;
}

void box_files_put(struct box *b, bool broken)
{
	if (broken) {
		pinfold_files_close(b->files);
		b->files = NULL;
	}
	(void)pthread_mutex_unlock(&b->lock);
}

/* With the box's lock: something that another process cannot have. */
static bool is_ours(const struct box *b)
{
	bool port = false;

	for (unsigned i = 0; i < BOX_PORTS_MAX; i++)
		port |= b->ports[i] != 0;
	return port || b->sessions || pinfold_policy_holds(b->id);
}

void boxes_tell(struct boxes *boxes, struct heirs *h, bool all)
{
	(void)pthread_mutex_lock(&boxes->lock);
	for (struct box *b = boxes->first; b; b = b->next) {
		(void)pthread_mutex_lock(&b->lock);
		bool tell = !b->gone && is_ours(b) && (all || !b->told);
		b->told |= tell;
		(void)pthread_mutex_unlock(&b->lock);
		if (!tell)
			continue;
		heirs_key(h, b->tenant, b->id);
		if (b->name[0])
			heirs_key(h, b->tenant, b->name);
	}
	(void)pthread_mutex_unlock(&boxes->lock);
}

bool boxes_held(struct boxes *boxes)
{
	bool held = false;

	sweep(boxes);
	(void)pthread_mutex_lock(&boxes->lock);
	for (struct box *b = boxes->first; b && !held; b = b->next) {
		(void)pthread_mutex_lock(&b->lock);
		held = !b->gone && is_ours(b);
		(void)pthread_mutex_unlock(&b->lock);
	}
	(void)pthread_mutex_unlock(&boxes->lock);
	return held;
}
