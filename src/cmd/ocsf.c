/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in the words of OCSF 1.3, for a SIEM. Runs are Process Activity, alarms Detection Finding,
 * all else API Activity. Numbers are those of the schema, and each class has the attributes that
 * it, and the profiles that metadata names, allow; what has no place there is in raw_data, whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "cmd/audit.h"

enum ocsf_class { PROCESS_ACTIVITY = 1007, DETECTION_FINDING = 2004, API_ACTIVITY = 6003 };
enum {
	ACTIVITY_OTHER = 99,
	STATUS_OK = 1,
	STATUS_FAILURE = 2,
	SEVERITY_INFO = 1,
	SEVERITY_HIGH = 4
};

static const char *text_of(const struct value *v, const char *key)
{
	const char *text = value_str(value_get(v, key));

	return text ? text : "";
}

static int64_t time_ms(const char *text)
{
	struct tm tm = {0};
	unsigned ms = 0;
	const char *dot = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!dot || sscanf(dot, ".%3u", &ms) != 1)
		return 0;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

static enum ocsf_class class_of(const char *kind)
{
	static const char *const runs[] = {"run",	    "workspace.exec", "sandbox.exec",
					   "session.open",  "sandbox.create", "sandbox.spawn",
					   "sandbox.exited"};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		if (strcmp(kind, runs[i]) == 0)
			return PROCESS_ACTIVITY;
	return strncmp(kind, "alert", 5) == 0 ? DETECTION_FINDING : API_ACTIVITY;
}

/* Create, read, update, delete: by the last word of the kind. */
static int api_activity(const char *kind)
{
	static const struct {
		const char *word;
		int id;
	} words[] = {{"new", 1},    {"create", 1}, {"import", 1}, {"add", 1},	   {"set", 3},
		     {"list", 2},   {"get", 2},	   {"read", 2},	  {"export", 2},   {"copy_out", 2},
		     {"pull", 2},   {"write", 3},  {"undo", 3},	  {"rollback", 3}, {"apply", 3},
		     {"remove", 4}, {"delete", 4}, {"forget", 4}, {"prune", 4}};
	const char *dot = strrchr(kind, '.');

	for (size_t i = 0; dot && i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(dot + 1, words[i].word) == 0)
			return words[i].id;
	return ACTIVITY_OTHER;
}

static int activity_of(enum ocsf_class class, const char *kind, const char *phase)
{
	switch (class) {
	case PROCESS_ACTIVITY: /* launch, terminate */
		return strcmp(phase, "end") == 0       ? 2
		       : strcmp(phase, "started") == 0 ? ACTIVITY_OTHER
						       : 1;
	case DETECTION_FINDING: return 1; /* create */
	case API_ACTIVITY: return api_activity(kind);
	}
	return ACTIVITY_OTHER;
}

static void set_text(struct value *to, const char *key, const char *text)
{
	if (*text)
		value_set(to, key, value_of_str(text));
}

static struct value *profiles(bool has_container)
{
	struct value *v = value_array();

	value_add(v, value_of_str("host"));
	if (has_container)
		value_add(v, value_of_str("container"));
	return v;
}

static struct value *metadata(const struct value *event, bool has_container)
{
	struct value *v = value_object(), *product = value_object();
	char uid[64];

	value_set(product, "name", value_of_str("Pinfold"));
	value_set(product, "vendor_name", value_of_str("Pinfold"));
	value_set(v, "product", product);
	value_set(v, "version", value_of_str("1.3.0"));
	value_set(v, "profiles", profiles(has_container));
	set_text(v, "log_name", text_of(event, "chain"));
	value_set(v, "sequence", value_copy(value_get(event, "at")));
	(void)snprintf(uid, sizeof(uid), "%s/%lld", text_of(event, "chain"),
		       (long long)value_int(value_get(event, "at")));
	value_set(v, "uid", value_of_str(uid));
	set_text(v, "tenant_uid", text_of(event, "tenant"));
	set_text(v, "correlation_uid", text_of(event, "run"));
	return v;
}

static struct value *actor(const struct value *event)
{
	const struct value *who = value_get(event, "who");
	struct value *v = value_object(), *user = value_object();
	char uid[24];

	(void)snprintf(uid, sizeof(uid), "%lld", (long long)value_int(value_get(who, "uid")));
	value_set(user, "uid", value_of_str(who ? uid : "ledger"));
	set_text(user, "credential_uid", text_of(who, "token"));
	value_set(v, "user", user);
	set_text(v, "app_name", text_of(who, "client"));
	return v;
}

static struct value *device(void)
{
	struct value *v = value_object();
	struct utsname u;

	value_set(v, "type_id", value_of_int(0));
	value_set(v, "hostname", value_of_str(uname(&u) == 0 ? u.nodename : "localhost"));
	return v;
}

static struct value *process(const struct value *event, const struct value *data)
{
	const struct value *words = value_get(data, "command");
	struct value *v = value_object(), *inside = value_object();
	char line[1024] = "";
	size_t n = 0;

	for (size_t i = 0; i < value_len(words) && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "",
				      value_str(value_at(words, i)) ? value_str(value_at(words, i))
								    : "");
	set_text(v, "cmd_line", line);
	set_text(v, "uid", text_of(event, *text_of(event, "run") ? "run" : "sandbox"));
	set_text(inside, "uid", text_of(event, "sandbox"));
	set_text(inside, "name", text_of(event, "workspace"));
	if (value_len(inside))
		value_set(v, "container", value_share(inside));
	value_free(inside);
	if (!*text_of(v, "uid"))
		value_set(v, "pid", value_of_int(0)); /* one of them has to be there */
	return v;
}

static void set_outcome(struct value *v, enum ocsf_class class, const struct value *event,
			const struct value *data)
{
	const char *status = text_of(data, "status"), *phase = text_of(event, "phase");
	bool bad = strcmp(phase, "refused") == 0 || strcmp(status, "failed") == 0 ||
		   strcmp(status, "refused") == 0;

	value_set(v, "status_id", value_of_int(bad ? STATUS_FAILURE : STATUS_OK));
	set_text(v, "status_detail", text_of(value_get(data, "error"), "code"));
	set_text(v, "status_code", status);
	if (class == PROCESS_ACTIVITY && value_get(data, "exit_status"))
		value_set(v, "exit_code", value_copy(value_get(data, "exit_status")));
	if (value_get(data, "wall_ms"))
		value_set(v, "duration", value_copy(value_get(data, "wall_ms")));
}

static struct value *finding(const struct value *event, const struct value *data)
{
	struct value *v = value_object();
	char title[256];

	(void)snprintf(title, sizeof(title), "%s %s: %s", text_of(event, "kind"),
		       text_of(data, "rule"), text_of(data, "what"));
	value_set(v, "title", value_of_str(title));
	value_set(v, "uid", value_of_str(text_of(event, "before")));
	return v;
}

static void set_api(struct value *v, const char *kind)
{
	struct value *api = value_object(), *from = value_object();

	value_set(api, "operation", value_of_str(kind));
	value_set(v, "api", api);
	value_set(from, "hostname", value_of_str("localhost"));
	value_set(v, "src_endpoint", from);
}

struct value *ocsf_of(const struct value *event, const char *line, size_t len)
{
	const char *kind = text_of(event, "kind"), *phase = text_of(event, "phase");
	const struct value *data = value_get(event, "data");
	enum ocsf_class class = class_of(kind);
	int activity = activity_of(class, kind, phase);
	bool has_container = class == PROCESS_ACTIVITY &&
			     (*text_of(event, "sandbox") || *text_of(event, "workspace"));
	struct value *v = value_object();

	value_set(v, "category_uid", value_of_int(class / 1000));
	value_set(v, "class_uid", value_of_int(class));
	value_set(v, "activity_id", value_of_int(activity));
	value_set(v, "type_uid", value_of_int(class * 100 + activity));
	value_set(v, "severity_id",
		  value_of_int(class == DETECTION_FINDING ? SEVERITY_HIGH : SEVERITY_INFO));
	value_set(v, "time", value_of_int(time_ms(text_of(event, "time"))));
	value_set(v, "metadata", metadata(event, has_container));
	value_set(v, "actor", actor(event));
	value_set(v, "device", device());
	set_outcome(v, class, event, data);
	if (class == PROCESS_ACTIVITY)
		value_set(v, "process", process(event, data));
	else if (class == DETECTION_FINDING)
		value_set(v, "finding_info", finding(event, data));
	else
		set_api(v, kind);
	value_set(v, "raw_data", value_of_bytes(line, len));
	return v;
}
