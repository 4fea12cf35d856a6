/* SPDX-License-Identifier: Apache-2.0 */
/* verify and receipt: what a stranger checks, and what he is given. */
#include <pinfold/ledger.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/value.h"
#include "cmd/audit.h"
#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/story.h"
#include "cmd/verb.h"

#define FILE_MAX (1u << 20)  /* of a key, a checkpoint or a receipt */
#define END_BYTES (1u << 16) /* of a file of checkpoints: many of them */

static const char *const verify_paragraphs[] = {
	"Without FILE: checks every event of the ledger, that each follows the one before, and "
	"that the signed checkpoints cover them. It names the first place that does not match. "
	"With FILE: checks a receipt, or a proof of one event (pinfold audit proof). Nothing but "
	"the files and the public key is needed.",
	"The key beside the ledger is used unless --key names one that was kept elsewhere, which "
	"proves more; with several keys in it, as pinfold audit key prints them, every chain is checked with its "
	"own, and none of them may be missing. So does a checkpoint that was kept elsewhere (--anchor): it shows "
	"when the whole ledger was exchanged for an older copy.",
	"A receipt may have evidence of the machine that it comes from. A quote of a TPM is checked: that it "
	"is about this receipt, and by the key that stands beside it. Which machine's key that is only you "
	"know: --evidence names the one that you expect.",
	"Exit status 0: it is what was written; 1: it is not; 125: it could not be checked.",
	NULL,
};

const struct verb_doc verify_doc = {
	.usage = {"[options] [FILE]"},
	.paragraphs = verify_paragraphs,
	.examples =
		{
			{"All of it:", "pinfold verify"},
			{"By a key of yours:", "pinfold verify --key key.pem --anchor checkpoint"},
			{"A receipt, on another machine:",
			 "pinfold verify --key key.pem receipt.json"},
			{"All chains, by keys that were kept elsewhere:",
			 "pinfold verify --key keys.pem"},
		},
};

static const char *const receipt_paragraphs[] = {
	"Prints the receipt of a run that has ended: what was run and where, how it ended, its "
	"place in the ledger and the proof of that, signed. It is an in-toto statement in a DSSE "
	"envelope; docs/ledger.md shows how to check one without Pinfold. It is JSON, with --json "
	"and without.",
	"Where this machine has a TPM or is a confidential guest, its quote or report is in it: "
	"PINFOLD_EVIDENCE is auto, none, tpm2 or tsm. With the last two there is no receipt without it.",
	NULL,
};

const struct verb_doc receipt_doc = {
	.usage = {"[options] RUN"},
	.paragraphs = receipt_paragraphs,
	.examples = {{"Kept in a file:",
		      "pinfold receipt run23obm6odpiuefilepsinpumc3g >receipt.json"}},
};

/* All that a descriptor has; more than we take is refused, not cut. */
static char *slurp(int fd, const char *name, size_t *ret_len, struct err *e)
{
	auto_free char *text = malloc(FILE_MAX + 1);
	int r = fd < 0 || !text ? -errno : fd_read_max(fd, text, FILE_MAX + 1, ret_len);

	if (r < 0) {
		errno = -r;
		(void)err_sys(e, "%s", name);
		return NULL;
	}
	if (*ret_len > FILE_MAX) {
		(void)err_set(e, ERR_LIMIT, "%s: more than %u bytes", name, FILE_MAX);
		(void)err_remedy(e, "name the file itself, not one that it is a part of");
		return NULL;
	}
	text[*ret_len] = '\0';
	return take_ptr(&text);
}

char *audit_slurp(const char *path, size_t *ret_len, struct err *e)
{
	auto_close int fd =
		path ? open(path, O_RDONLY | O_CLOEXEC) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	return slurp(fd, path ? path : "standard input", ret_len, e);
}

/* Of a file of checkpoints the last counts: its end is enough, however long it has grown. */
static char *slurp_end(const char *path, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t len = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size > (off_t)END_BYTES &&
	    lseek(fd, st.st_size - (off_t)END_BYTES, SEEK_SET) < 0) {
		(void)err_sys(e, "%s", path);
		return NULL;
	}
	return slurp(fd, path, &len, e);
}

struct shown {
	bool json, bad, any;
	struct json j;
};

static void put_result(struct shown *s, const struct pinfold_verify_result *v)
{
	json_open(&s->j, NULL, '{');
	json_str(&s->j, "chain", v->chain[0] ? v->chain : NULL);
	json_str(&s->j, "directory", v->name);
	json_bool(&s->j, "good", v->good);
	json_u64(&s->j, "events", v->events);
	json_u64(&s->j, "checkpoints", v->checkpoints);
	json_u64(&s->j, "unsigned_events", v->unsigned_events);
	json_u64(&s->j, "keys", v->keys);
	json_u64(&s->j, "cuts", v->cuts);
	json_u64(&s->j, "torn_bytes", v->torn_bytes);
	json_u64(&s->j, "gone", v->gone);
	json_u64(&s->j, "witnessed", v->witnessed);
	show_time(&s->j, "witnessed_at", v->witnessed_ms);
	json_str(&s->j, "where", v->good ? NULL : v->where);
	if (v->good)
		json_none(&s->j, "position");
	else
		json_u64(&s->j, "position", v->position);
	json_str(&s->j, "what", v->good ? NULL : v->what);
	json_close(&s->j, '}');
}

static void show_chain(const struct pinfold_verify_result *v, void *arg)
{
	struct shown *s = arg;
	char ago[24];

	if (s->json && !s->any)
		show_list_begin(&s->j);
	s->any = true;
	s->bad |= !v->good;
	if (s->json) {
		put_result(s, v);
		return;
	}
	printf("%s: %llu events, %llu checkpoints: ", v->name, (unsigned long long)v->events,
	       (unsigned long long)v->checkpoints);
	if (v->good)
		printf("good");
	else
		printf("NOT GOOD at event %llu: %s: %s", (unsigned long long)v->position, v->where,
		       v->what);
	if (v->good && v->unsigned_events)
		printf(", %llu are newer than the last checkpoint",
		       (unsigned long long)v->unsigned_events);
	if (v->good && v->witnessed) {
		uint64_t now = show_now_ms();

		printf(", the witness signed %llu of them %s ago", (unsigned long long)v->witnessed,
		       show_span(now > v->witnessed_ms ? now - v->witnessed_ms : 0, ago,
				 sizeof(ago)));
	}
	if (v->gone)
		printf(", the first %llu were pruned", (unsigned long long)v->gone);
	if (v->cuts)
		printf(", %llu torn ends are on record", (unsigned long long)v->cuts);
	if (v->torn_bytes)
		printf(", %llu bytes at the end are no event", (unsigned long long)v->torn_bytes);
	printf("\n");
}

static int verify_all(const struct request *r, const struct pinfold_verify_options *o)
{
	struct shown s = {.json = r->json};
	struct pinfold_error error;

	if (pinfold_ledger_verify(o, show_chain, &s, &error) < 0)
		return say_library_failure(&error, r->json && !s.any);
	if (r->json && !s.any)
		show_list_begin(&s.j);
	if (r->json && show_list_end(&s.j) < 0)
		return EXIT_PINFOLD;
	if (!r->json && !s.any)
		printf("there is no ledger yet\n");
	int status = r->json ? 0 : help_flush();
	return status ? status : s.bad;
}

static void print_evidence(const struct pinfold_verify_result *v)
{
	if (v->evidence_signed)
		printf("; evidence: %s, key %s", v->evidence, v->evidence_key);
	else if (strcmp(v->evidence, "none") != 0)
		printf("; evidence: %s, about this receipt; its signature was not checked",
		       v->evidence);
}

/* What is checked of anything that names one event. */
static void put_verdict(struct json *j, const struct pinfold_verify_result *v)
{
	json_bool(j, "good", v->good);
	json_str(j, "chain", v->good ? v->chain : NULL);
	if (v->good)
		json_u64(j, "position", v->position);
	else
		json_none(j, "position");
	json_str(j, "what", v->good ? NULL : v->what);
}

static int print_receipt(const struct request *r, const struct pinfold_verify_result *v)
{
	struct json j;

	if (!r->json) {
		if (v->good) {
			printf("good: %s, event %llu of %s", v->where,
			       (unsigned long long)v->position, v->chain);
			print_evidence(v);
			printf("\n");
		} else
			printf("NOT GOOD: %s\n", v->what);
		int status = help_flush();
		return status ? status : !v->good;
	}
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	put_verdict(&j, v);
	json_str(&j, "run", v->good ? v->where : NULL);
	json_str(&j, "evidence", v->good ? v->evidence : NULL);
	json_str(&j, "evidence_key", v->good && v->evidence_key[0] ? v->evidence_key : NULL);
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : !v->good;
}

/* The event is told only where it is proved. */
static int print_proof(const struct request *r, const struct pinfold_verify_result *v,
		       const char *event)
{
	struct err none = ERR_INIT;
	auto_value *told = NULL;
	struct json j;

	if (!r->json && !v->good) {
		printf("NOT GOOD: %s\n", v->what);
	} else if (!r->json) {
		printf("good: event %llu of %s\n", (unsigned long long)v->position, v->chain);
		value_init();
		if (event && value_parse(event, strlen(event), &told, &none) >= 0)
			story_row(told, NULL);
	}
	if (!r->json) {
		int status = help_flush();
		return status ? status : !v->good;
	}
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	put_verdict(&j, v);
	json_str(&j, "event", v->good ? event : NULL);
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : !v->good;
}

static int verify_file(const struct request *r, const struct pinfold_verify_options *o,
		       const char *path)
{
	struct pinfold_verify_result v;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	size_t len = 0;
	auto_free char *text = audit_slurp(path, &len, &e), *event = NULL;

	if (!text)
		return say_failure(&e, r->json);
	bool proof = pinfold_proof_is(text, len);
	if ((proof ? pinfold_proof_verify(text, len, o, &v, &event, &error)
		   : pinfold_receipt_verify(text, len, o, &v, &error)) < 0)
		return say_library_failure(&error, r->json);
	return proof ? print_proof(r, &v, event) : print_receipt(r, &v);
}

int cmd_verify(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	auto_free char *key = NULL, *anchor = NULL, *witness = NULL;
	struct err e = ERR_INIT;
	int used = 0, status = 0;
	size_t len = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (argc - used > 1 && request_end(argc - used - 1, argv + used + 1, &e) < 0)
		return say_failure(&e, r.json);
	if ((r.key && !(key = audit_slurp(r.key, &len, &e))) ||
	    (r.anchor && !(anchor = slurp_end(r.anchor, &e))) ||
	    (r.witness_key && !(witness = audit_slurp(r.witness_key, &len, &e))))
		return say_failure(&e, r.json);
	struct pinfold_verify_options o = {
		.size = sizeof(o),
		.dir = r.ledger,
		.key = key,
		.anchor = anchor,
		.witness = witness,
		.evidence = r.evidence,
	};
	return argc > used ? verify_file(&r, &o, argv[used]) : verify_all(&r, &o);
}

int cmd_receipt(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (argc == used) {
		(void)err_set(&e, ERR_INVALID, "RUN: is missing");
		(void)err_remedy(&e, "pinfold audit lists them");
		return say_failure(&e, r.json);
	}
	if (request_end(argc - used - 1, argv + used + 1, &e) < 0)
		return say_failure(&e, r.json);
	if (pinfold_receipt_write_of(argv[used], r.tenant, STDOUT_FILENO, &error) < 0)
		return say_library_failure(&error, r.json);
	return 0;
}
