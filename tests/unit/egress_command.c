/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of a policy: which are met, which are not, and what the file may say. */
#include "egress/command.h"
#include "egress/yaml.h"
#include "tap.h"

static struct policy *load(const char *text, struct err *e)
{
	struct policy *p = policy_new();

	if (policy_load_yaml(p, text, strlen(text), "p.yaml", NULL, e) == 0)
		return p;
	policy_free(p);
	return NULL;
}

static struct policy *rule(const char *action, const char *pattern)
{
	char text[512];
	struct err e = ERR_INIT;

	snprintf(text, sizeof(text), "commands:\n  - %s: %s\n", action, pattern);
	struct policy *p = load(text, &e);
	if (!p)
		diag("%s", e.text);
	return p;
}

/* Words of a command line, each with its NUL. */
static size_t words(const char *line, char *ret)
{
	size_t n = strlen(line);

	memcpy(ret, line, n + 1);
	for (size_t i = 0; i < n; i++)
		if (ret[i] == ' ')
			ret[i] = '\0';
	return n + 1;
}

static enum egress_action judge(struct policy *p, const char *program, const char *line, bool cut)
{
	char argv[512];
	struct command c = {.kind = COMMAND_EXEC, .program = program, .words = argv, .is_cut = cut};
	struct command_verdict v;

	c.len = words(line, argv);
	policy_command(p, &c, &v);
	return v.action;
}

static const struct {
	const char *pattern, *program, *line;
	bool is_met;
} execs[] = {
	{"git push", "/usr/bin/git", "git push", true},
	{"git push", "/usr/bin/git", "git push origin main", true},
	{"git push", "/usr/bin/git", "git pull", false},
	{"git push", "/usr/bin/git", "git log push", false},
	{"git push", "/usr/bin/git", "git", false},
	{"git push", "/usr/bin/git", "git -C /work push", true},
	{"git push", "/usr/bin/git", "git -c a=b --git-dir=/x --no-pager push -f", true},
	{"git push", "/usr/bin/git", "git -C push status", true},
	{"git push", "/usr/bin/git", "git -C x status push", false},
	{"git push", "/usr/bin/git", "git --git-dir=push status", false},
	{"git push", "/usr/bin/git", "x push", true},
	{"git push", "/tmp/x", "git push", true},
	{"git push", "/tmp/x", "x push", false},
	{"git push", "/usr/bin/gitk", "gitk push", false},
	{"git push", "/usr/lib/git-core/git-push", "git-push origin", true},
	{"git push", "/usr/lib/git-core/git-pull", "git-pull origin", false},
	{"git push", NULL, "git push", true},
	{"git push", "/lib64/ld-linux-x86-64.so.2", "ld --argv0 x /usr/bin/git push", true},
	{"git push", "/lib64/ld-linux-x86-64.so.2", "ld /usr/bin/git status", false},
	{"git push", "/usr/bin/cat", "cat git push", false},
	{"git push --force", "/usr/bin/git", "git push", false},
	{"git push --force", "/usr/bin/git", "git push origin --force", true},
	{"git push --force", "/usr/bin/git", "git --force push", true},
	{"git push --force*", "/usr/bin/git", "git push --force-with-lease=x", true},
	{"git push -f", "/usr/bin/git", "git push -vf", true},
	{"git push -f", "/usr/bin/git", "git push --file", false},
	{"git push origin", "/usr/bin/git", "git push -u origin", true},
	{"git push origin", "/usr/bin/git", "git push -u x origin", true},
	{"git push origin", "/usr/bin/git", "git push x origin", false},
	{"npm publish", "/usr/bin/npm", "npm --registry http://x publish", true},
	{"kubectl delete", "/usr/bin/kubectl", "kubectl -n prod delete pod x", true},
	{"python3* -c", "/usr/bin/python3.11", "python3.11 -c pass", true},
	{"twine", "/usr/bin/twine", "twine", true},
	{"terraform * apply", "/usr/bin/terraform", "terraform x apply", true},
};

static void programs(void)
{
	for (size_t i = 0; i < sizeof(execs) / sizeof(execs[0]); i++) {
		struct policy *p = rule("ask", execs[i].pattern);
		char name[200];

		snprintf(name, sizeof(name), "%s: %s is %s", execs[i].pattern, execs[i].line,
			 execs[i].is_met ? "met" : "another");
		ok(p && judge(p, execs[i].program, execs[i].line, false) ==
				   (execs[i].is_met ? EGRESS_ASK : EGRESS_ALLOW),
		   name);
		policy_free(p);
	}
	struct policy *p = rule("ask", "git push --force");
	ok(judge(p, "/usr/bin/git", "git push", true) == EGRESS_ASK,
	   "what is cut may go on with the option");
	ok(judge(p, "/usr/bin/git", "git -C", true) == EGRESS_ASK, "or with the word");
	ok(judge(p, "/usr/bin/git", "git pull", true) == EGRESS_ALLOW, "but not after another");
	policy_free(p);
}

static const struct {
	const char *pattern, *path, *to;
	bool is_met;
} deletes[] = {
	{"outside /work/tmp", "/work/a", NULL, true},
	{"outside /work/tmp", "/work/tmp", NULL, true},
	{"outside /work/tmp", "/work/tmp/a", NULL, false},
	{"outside /work/tmp", "/work/tmpx", NULL, true},
	{"outside /work/tmp", "/tmp/a", NULL, false},
	{"outside /work/tmp", "/tmp", NULL, true},
	{"outside /work/a /work/b", "/work/b/x", NULL, false},
	{"outside /work/a /work/b", "/work/c/x", NULL, true},
	{"outside /work/tmp", "/work/a", "/work/b", false},
	{"outside /work/tmp", "/work/a", "/work/tmp/a", true},
	{"outside /work/tmp", "/work/a", "/tmp/a", true},
	{"outside /work/tmp", "/work/tmp/a", "/work/a", false},
	{"inside /work/.git", "/work/.git", NULL, true},
	{"inside /work/.git", "/work/.git/refs/heads/x", NULL, true},
	{"inside /work/.git", "/work/.gitignore", NULL, false},
	{"inside /work/.git", "/work/.git/index.lock", "/work/.git/index", false},
	{"inside /work/.git", "/work/.git/config", "/tmp/config", true},
};

static void paths(void)
{
	for (size_t i = 0; i < sizeof(deletes) / sizeof(deletes[0]); i++) {
		char pattern[100], name[200];
		struct command c = {
			.kind = COMMAND_DELETE, .path = deletes[i].path, .to = deletes[i].to};
		struct command_verdict v = {.action = EGRESS_ALLOW};

		snprintf(pattern, sizeof(pattern), "{delete: %s}", deletes[i].pattern);
		struct policy *p = rule("deny", pattern);
		if (p)
			policy_command(p, &c, &v);
		snprintf(name, sizeof(name), "%s: %s%s%s is %s", deletes[i].pattern,
			 deletes[i].path, deletes[i].to ? " to " : "",
			 deletes[i].to ? deletes[i].to : "", deletes[i].is_met ? "met" : "not");
		ok(p && v.action == (deletes[i].is_met ? EGRESS_DENY : EGRESS_ALLOW), name);
		policy_free(p);
	}
}

static void order(void)
{
	struct err e = ERR_INIT;
	struct policy *p = load("commands:\n- ask: git push\n  reason: it leaves\n- deny: git push "
				"--force\n",
				&e);
	struct policy *above = load("commands: [{deny: git push prod}]\n", &e);
	char argv[64];
	struct command c = {.kind = COMMAND_EXEC, .program = "/usr/bin/git", .words = argv};
	struct command_verdict v;

	ok(p && !policy_has_network(p) && policy_guards(p, COMMAND_EXEC) &&
		   !policy_guards(p, COMMAND_DELETE),
	   "a policy of commands names no network");
	c.len = words("git push", argv);
	policy_command(p, &c, &v);
	ok(v.action == EGRESS_ASK && strcmp(v.text, "ask git push") == 0 &&
		   strcmp(v.reason, "it leaves") == 0 && v.line == 2,
	   "the verdict says which rule");
	ok(judge(p, "/usr/bin/git", "git push --force", false) == EGRESS_DENY, "deny beats ask");
	ok(policy_set_ceiling(p, above, &e) == 0 &&
		   judge(p, "/usr/bin/git", "git push prod", false) == EGRESS_DENY &&
		   judge(p, "/usr/bin/git", "git push dev", false) == EGRESS_ASK,
	   "a ceiling counts beside");

	void *block = NULL;
	size_t len = 0;
	struct policy *q = NULL;
	ok(policy_pack(p, &block, &len, &e) == 0 && policy_unpack(block, len, &q, &e) == 0 &&
		   judge(q, "/usr/bin/git", "git push prod", false) == EGRESS_DENY &&
		   judge(q, "/usr/bin/git", "git push", false) == EGRESS_ASK,
	   "and all of it is there when it was packed");
	unsigned survived = 0;
	for (size_t i = 0; i < len; i++) {
		struct policy *odd = NULL;

		((unsigned char *)block)[i] ^= 0xff;
		if (policy_unpack(block, len, &odd, &e) == 0) {
			(void)judge(odd, "/usr/bin/git", "git -x push prod", false);
			survived++;
		}
		policy_free(odd);
		((unsigned char *)block)[i] ^= 0xff;
	}
	ok(survived < len, "a block with a byte changed is refused, or another policy");
	free(block);
	policy_free(q);
	policy_free(p);
}

static void bad(const char *text, const char *says)
{
	struct err e = ERR_INIT;
	struct policy *p = load(text, &e);

	if (!ok(!p && strstr(e.text, says) && strstr(e.text, "p.yaml"), says))
		diag("%s", e.text);
	policy_free(p);
}

static void mistakes(void)
{
	bad("commands: git push\n", "line 1, column 11: commands: is not a list");
	bad("commands:\n  - git push\n", "line 2, column 5: commands[0]: is not a mapping");
	bad("commands:\n  - aks: git push\n",
	    "line 2, column 5: commands[0].aks: there is no such");
	bad("commands:\n  - reason: x\n",
	    "line 2, column 5: commands[0]: needs one of ask and deny");
	bad("commands: [{ask: git push, deny: git push}]\n", "needs one of ask and deny");
	bad("commands: [{ask: /usr/bin/git push}]\n", "name of a program");
	bad("commands: [{ask: -c x}]\n", "name of a program");
	bad("commands: [{ask: '*'}]\n", "names every program");
	bad("commands: [{ask: ' '}]\n", "is empty");
	bad("commands: [{ask: ''}]\n", "is empty");
	bad("commands: [{ask: 7}]\n", "has to be");
	bad("commands: [{ask: \"git\\tpush\"}]\n", "control character");
	bad("commands: [{ask: a b c d e f g h i j k l m n o p q}]\n", "more than 16 words");
	bad("commands: [{ask: {delete: /work}}]\n", "outside or inside");
	bad("commands: [{ask: {delete: outside}}]\n", "outside or inside");
	bad("commands: [{ask: {delete: outside work}}]\n", "outside or inside");
	bad("commands: [{ask: {delete: outside /}}]\n", "outside or inside");
	bad("commands: [{ask: {delete: outside /work/}}]\n", "outside or inside");
	bad("commands: [{ask: {delete: outside /work/../x}}]\n", "outside or inside");
	bad("commands: [{ask: {remove: outside /work}}]\n", "there is no such key");
	bad("commands: [{ask: {delete: outside /a, x: 1}}]\n", "one mapping with delete");
}

int main(void)
{
	TAP_RUN(programs);
	TAP_RUN(paths);
	TAP_RUN(order);
	TAP_RUN(mistakes);
	return tap_done();
}
