/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the keeper: what it may follow, and all that it must not. */
#include "api/keeper_int.h"

#include <stdio.h>

#include "tap.h"

static struct keeper_request request;
static char message[KEEPER_BYTES_MAX + 64];
static size_t message_len;
static struct err e;

/* Words with '|' between them; an empty one is none. */
static void make(const char *words, uint32_t flags)
{
	struct keeper_head h = {.magic = KEEPER_MAGIC, .version = KEEPER_VERSION, .flags = flags};
	char *to = message + sizeof(h);
	size_t n = strlen(words);

	(void)snprintf(h.tenant, sizeof(h.tenant), "uid-1000");
	memcpy(to, words, n + 1);
	h.n_words = 1;
	for (size_t i = 0; i < n; i++)
		if (to[i] == '|') {
			to[i] = '\0';
			h.n_words++;
		}
	h.len = (uint32_t)n + 1;
	memcpy(message, &h, sizeof(h));
	message_len = sizeof(h) + h.len;
}

static struct keeper_head *head(void)
{
	return (struct keeper_head *)(void *)message;
}

static unsigned fds_of(uint32_t flags)
{
	return keeper_fds(flags);
}

static int check(unsigned n_fds)
{
	e = (struct err)ERR_INIT;
	return keeper_check(message, message_len, n_fds, &request, &e);
}

static int judge(const char *words, uint32_t flags)
{
	make(words, flags);
	return check(fds_of(flags));
}

static void good(const char *words, uint32_t flags)
{
	char name[300];

	(void)snprintf(name, sizeof(name), "taken: %s", words);
	if (!ok(judge(words, flags) == 0, name))
		diag("%s", e.text);
}

static void bad(const char *words, uint32_t flags)
{
	char name[300];

	(void)snprintf(name, sizeof(name), "refused: %.200s", words);
	ok(judge(words, flags) < 0 && e.text[0], name);
}

#define RUN KEEPER_RESULT
#define PROGRAM (KEEPER_RESULT | KEEPER_PROGRAM)
#define SBX "sbxaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define RUN_ID "runaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void takes_what_it_should(void)
{
	good("new|--json|demo", 0);
	good("new|--json|--disk=1073741824|demo", 0);
	good("ls|--json", 0);
	good("deps|--json|--package=pandas>=2|--package=node:express@^4", KEEPER_LAYERS);
	good("deps|--json|--deps=auto|--lang=python", KEEPER_LAYERS | KEEPER_PROGRAM);
	good("secret|--json|--give=API_KEY=pfs_x|--give=B=pfs_y", KEEPER_LAYERS);
	good("info|--json|demo", 0);
	good("rm|--json|demo", 0);
	good("snap|--json|demo", 0);
	good("snap|--json|demo|before-1.2_x", 0);
	good("undo|--json|demo|3", 0);
	good("push|--serve-sync|--sync-key=0123456789abcdef|--to=/home/user/a b|--mirror|demo", 0);
	good("pull|--serve-sync|--sync-key=0123456789abcdef|demo", 0);
	good("rollback|--json|demo|before", 0);
	good("fork|--json|--at=7|demo|demo-b", 0);
	good("diff|--json|--names|demo|1|2", 0);
	good("diff|--json|--command=4|demo", 0);
	good("log|--json|--all|demo", 0);
	good("exec|--run-id=" RUN_ID "|--memory=64M|--env=A=b c|--workdir=/home/user|demo|--|ls|-l",
	     RUN);
	good("exec|demo|--|sh|-c|rm --dir /; --socket|", RUN);
	good("exec|--allow=*.x.test:443|--policy-text={\"allow\": []}|demo|--|ls", RUN);
	good("exec|--lang=python|demo|--|--dir|/etc", PROGRAM);
	good("exec|--lang=python|demo|--", PROGRAM);
	good("run|--name=demo|--|true", RUN);
	good("run|--deps=auto|--|python3|x.py", RUN);
	good("run|--image=tools:1.2|--name=demo|--|true", RUN);
	good("new|--json|--image=alpine_3.20|demo", 0);
	ok(!request.whole, "in the tenant's own data directory");
	good("receipt|--json|" RUN_ID, 0);
	ok(request.whole, "a receipt is looked for in all of it, and told whose");
	good("audit|--json|--all|--follow|--cursors|--cursor=led:1.led:2|--kind=run", 0);
	ok(request.whole && request.follows, "so are events, as long as somebody listens");
	bad("audit|--json|--tenant=other", 0);
	bad("audit|--cursor-file=/etc/passwd", 0);
	bad("audit|key", 0);
	bad("audit|rotate", 0);
	bad("audit|prune|--before=1s", 0);
}

static void words_are_where_they_are(void)
{
	judge("exec|--time=1000ms|demo|--|a||b", RUN);
	is_int(request.n_words, 7, "all words");
	is_str(request.words[4], "a", "the first of the command");
	is_str(request.words[5], "", "an empty one");
	is_str(request.words[6], "b", "the last");
}

static void refuses_verbs(void)
{
	static const char *const verbs[] = {
		"serve", "shell",  "plan",   "cp",     "push",	"pull",	   "watch",  "review",
		"apply", "export", "import", "fsck",   "ps",	"logs",	   "attach", "kill",
		"pause", "resume", "extend", "doctor", "bench", "version", "help",   "docs",
		"token", "mcp",	   "image",  "--help", "-h",	"",	   "Exec",   "exec "};

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		bad(verbs[i], 0);
		char words[64];
		(void)snprintf(words, sizeof(words), "%s|demo|--|true", verbs[i]);
		bad(words, RUN);
	}
}

static const char *const options[] = {"--dir=/etc",
				      "--dir",
				      "--hide=a",
				      "--show=.env",
				      "--stdin=/etc/shadow",
				      "--socket=/tmp/s",
				      "--output-file=/x",
				      "-o",
				      "--policy=/x",
				      "--policy-fd=3",
				      "--pty",
				      "--detach",
				      "-d",
				      "--daemon",
				      "--no-daemon",
				      "--keep=1d",
				      "--raw",
				      "--result-fd=1",
				      "--code-fd=0",
				      "--result-fd=3",
				      "-c=print",
				      "-c",
				      "--c=x",
				      "--share",
				      "--follow",
				      "--to=/x",
				      "--mirror",
				      "--force",
				      "--preload=x",
				      "--isolation=none",
				      "--help",
				      "-h",
				      "--time",
				      "--time=",
				      "--time=/etc",
				      "--time=1 s",
				      "--memory=-1",
				      "--memory=1;",
				      "--json=1",
				      "--name=" SBX,
				      "--name=../x",
				      "--name=-x",
				      "--run-id=../../x",
				      "--lang=../x",
				      "--image=/etc",
				      "--image=a/b",
				      "--tim=1",
				      "--times=1",
				      "--ti me=1",
				      "---time=1",
				      "-",
				      "---",
				      "--=x",
				      "-time=1",
				      "--user=0 0"};

/* Whatever names something on the host, and whatever reaches the daemon. */
static void refuses_options(void)
{
	char words[300];

	for (unsigned i = 0; i < sizeof(options) / sizeof(*options); i++) {
		(void)snprintf(words, sizeof(words), "exec|%s|demo|--|true", options[i]);
		bad(words, RUN);
		(void)snprintf(words, sizeof(words), "run|--name=a|%s|--|true", options[i]);
		bad(words, RUN);
		(void)snprintf(words, sizeof(words), "log|%s|demo", options[i]);
		bad(words, 0);
		(void)snprintf(words, sizeof(words), "new|%s|demo", options[i]);
		bad(words, 0);
	}
	bad("info|--disk=1|demo", 0);
	bad("exec|--json|demo|--|true", RUN);
	bad("exec|--name=b|demo|--|true", RUN);
}

static void refuses_words(void)
{
	bad("info|--json", 0);
	bad("info|--json|a|b", 0);
	bad("info|--json|-a", 0);
	bad("info|--json|--", 0);
	bad("info|--json|a|--dir=/etc", 0);
	bad("info|--json|", 0);
	bad("info|--json|a b", 0);
	bad("info|--json|A", 0);
	bad("info|--json|../a", 0);
	bad("info|--json|a/b", 0);
	bad("info|--json|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0);
	bad("snap|--json|a|-x", 0);
	bad("snap|--json|a|x/y", 0);
	bad("snap|--json|a|b|c", 0);
	bad("fork|--json|a", 0);
	bad("fork|--json|a|-b", 0);
	bad("diff|--json|a|1|2|3", 0);
	bad("ls|--json|a", 0);
	bad("deps|--json", 0);
	bad("deps|--json|--package=a", KEEPER_RESULT);
	bad("deps|--json|--package=a", KEEPER_RESULT | KEEPER_LAYERS);
	bad("deps|--json|--lang=python", KEEPER_LAYERS);
	bad("deps|--lock=/etc/x", KEEPER_LAYERS);
	bad("deps|add|x", KEEPER_LAYERS);
	bad("secret|--json|--give=API_KEY=pfs_x", 0);
	bad("secret|--json|--give=API_KEY=pfs_x", KEEPER_RESULT);
	bad("secret|--json|--tenant=other|--give=API_KEY=pfs_x", KEEPER_LAYERS);
	bad("secret|set|API_KEY", KEEPER_LAYERS);
	bad("secret|--command=id|--give=API_KEY=pfs_x", KEEPER_LAYERS);
	bad("secret|--file=/etc/shadow", KEEPER_LAYERS);
	bad("ls|--json", KEEPER_LAYERS);
	bad("undo|--json|a|--force", 0);
	bad("push|demo|/etc", 0);
	bad("push|--url=unix:/x|demo", 0);
	bad("push|--token-file=/etc/shadow|demo", 0);
	bad("pull|--serve-sync|--sync-key=../x|demo", 0);
	bad("pull|demo|/root", 0);
	bad("watch|demo|/etc", 0);
	bad("receipt|--json", 0);
	bad("receipt|--json|demo", 0);
	bad("receipt|--json|" SBX, 0);
	bad("receipt|--json|--tenant=other|" RUN_ID, 0);
	bad("receipt|" RUN_ID "|" RUN_ID, 0);
	bad("receipt|" RUN_ID, RUN);
}

/* As root such a name would lead into anybody's sandbox. */
static void refuses_sandboxes(void)
{
	bad("exec|" SBX "|--|true", RUN);
	bad("exec|" RUN_ID "|--|true", RUN);
	bad("new|--json|" SBX, 0);
	bad("fork|--json|a|" SBX, 0);
}

static void refuses_commands(void)
{
	bad("exec|demo", RUN);
	bad("exec|demo|--", RUN);
	bad("exec|demo|true", RUN);
	bad("exec|demo|--dir=/etc|--|true", RUN);
	bad("exec|--|true", RUN);
	bad("exec|demo|--|true", 0);
	bad("run|--|true", RUN);
	bad("run|demo|--|true", RUN);
	bad("run|--deps=auto|--dir=/etc|--|true", RUN);
	bad("run|--deps=auto|--lang=python|--|/etc/passwd", RUN);
	bad("run|--deps|--|true", RUN);
	bad("run|--name=demo|true", RUN);
	/* Without the text its first argument would be a file of the host. */
	bad("exec|--lang=bash|demo|--|/etc/shadow", RUN);
	bad("exec|demo|--|true", PROGRAM);
	bad("run|--name=a|--lang=bash|--|/etc/shadow", RUN);
	bad("info|--json|demo", RUN);
	bad("info|--json|demo", PROGRAM);
	/* A program's argument is none of ours. */
	bad("exec|demo|--|--lang=bash|x", PROGRAM);
	bad("run|--|--name=x", RUN);
}

static void refuses_heads(void)
{
	make("ls|--json", 0);
	head()->magic++;
	ok(check(4) < 0, "another magic");
	make("ls|--json", 0);
	head()->version++;
	ok(check(4) < 0, "another version");
	make("ls|--json", 0);
	head()->flags = 0x4;
	ok(check(4) < 0, "unknown flags");
	make("ls|--json", 0);
	head()->grace_ms = KEEPER_GRACE_MAX + 1;
	ok(check(4) < 0, "a grace without end");
	make("ls|--json", 0);
	ok(check(3) < 0 && check(5) < 0 && check(0) < 0, "other descriptors");
	make("exec|demo|--|true", RUN);
	ok(check(4) < 0 && check(6) < 0, "other descriptors for a command");
	for (size_t n = 0; n < sizeof(struct keeper_head); n++) {
		message_len = n;
		if (!check(4))
			break;
	}
	is_int((long long)message_len, sizeof(struct keeper_head) - 1,
	       "a head that is cut anywhere");
}

static void refuses_lengths(void)
{
	static const uint32_t lengths[] = {0, 1, 9, 11, 4096, 0x7fffffff, 0xffffffff};
	static const uint32_t counts[] = {
		0, 1, 3, 100, KEEPER_WORDS_MAX, KEEPER_WORDS_MAX + 1, 0x7fffffff, 0xffffffff};
	char name[80];

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		make("ls|--json", 0);
		head()->len = lengths[i];
		(void)snprintf(name, sizeof(name), "a length of %u", lengths[i]);
		ok(check(4) < 0, name);
	}
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		make("ls|--json", 0);
		head()->n_words = counts[i];
		(void)snprintf(name, sizeof(name), "%u words", counts[i]);
		ok(check(4) < 0, name);
	}
	make("ls|--json", 0);
	message[message_len - 1] = 'x';
	ok(check(4) < 0, "the last word has no end");
	make("ls|--json", 0);
	message[message_len++] = 'x';
	ok(check(4) < 0, "something behind it");
	head()->len++;
	ok(check(4) < 0, "something behind it that is counted");
	make("ls|--json", 0);
	message_len = KEEPER_BYTES_MAX + 1;
	head()->len = (uint32_t)(message_len - sizeof(struct keeper_head));
	ok(check(4) < 0, "too long");
}

static void refuses_tenants(void)
{
	static const char *const names[] = {"", "../x", "a/b", "-a", "A", "a b", ".", "a\n"};
	char name[80];

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		make("ls|--json", 0);
		(void)snprintf(head()->tenant, TENANT_SIZE, "%s", names[i]);
		(void)snprintf(name, sizeof(name), "tenant %u", i);
		ok(check(4) < 0, name);
	}
	make("ls|--json", 0);
	memset(head()->tenant, 'a', TENANT_SIZE);
	ok(check(4) < 0, "a tenant without end");
}

/* The same from a heap block of exactly its size: a sanitizer sees every byte too far. */
static void never_reads_too_far(void)
{
	static const char *const words[] = {"ls|--json",     "info|-", "info|--",
					    "exec|demo|--|", "-",      "snap|a|-"};
	int looked = 0;

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		make(words[i], i == 3 ? RUN : 0);
		for (size_t n = 0; n <= message_len; n++) {
			char *exact = malloc(n ? n : 1);

			if (!exact)
				return;
			memcpy(exact, message, n);
			if (n >= sizeof(struct keeper_head))
				((struct keeper_head *)(void *)exact)->len =
					(uint32_t)(n - sizeof(struct keeper_head));
			e = (struct err)ERR_INIT;
			(void)keeper_check(exact, n, i == 3 ? 5 : 4, &request, &e);
			free(exact);
			looked++;
		}
	}
	ok(looked > 100, "cut anywhere");
}

int main(void)
{
	TAP_RUN(takes_what_it_should);
	TAP_RUN(words_are_where_they_are);
	TAP_RUN(refuses_verbs);
	TAP_RUN(refuses_options);
	TAP_RUN(refuses_words);
	TAP_RUN(refuses_sandboxes);
	TAP_RUN(refuses_commands);
	TAP_RUN(refuses_heads);
	TAP_RUN(refuses_lengths);
	TAP_RUN(refuses_tenants);
	TAP_RUN(never_reads_too_far);
	return tap_done();
}
