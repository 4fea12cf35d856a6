/* SPDX-License-Identifier: Apache-2.0 */
/* A quote of a TPM, of which no bit can be another; TPMs that answer anything; reports of
 * guests. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/fd.h"
#include "evidence/evidence.h"
#include "evidence/evidence_int.h"
#include "ledger/notary.h"
#include "ledger_help.h"

#define ZERO "0000000000000000000000000000000000000000000000000000000000000000"

/* swtpm's, about SHA-256 of "pinfold", register 7 extended once. */
static const char quoted[] =
	"{\"kind\":\"tpm2\",\"key\":\"ACMACwAFBHIAAAAQABgACwADABAAIIJbCuIU6261ZbmN+1tXDIH/"
	"+EtusZNoX6u6VxA3dEJUACCVesIHEEc8ZSuJ903HZN3s8PEHrq3GWYaHaqJ541QJRQ==\",\"pcrs\":{"
	"\"0\":\"" ZERO "\",\"1\":\"" ZERO "\",\"2\":\"" ZERO "\",\"3\":\"" ZERO "\","
	"\"4\":\"" ZERO "\",\"5\":\"" ZERO "\",\"6\":\"" ZERO "\",\"7\":\""
	"8878b15a7d6a3a4f464e8f9f42591dbc0cf4bedea0ec309003d2b2ee53655ef8\",\"8\":\"" ZERO "\","
	"\"9\":\"" ZERO "\",\"10\":\"" ZERO "\",\"11\":\"" ZERO "\",\"12\":\"" ZERO "\","
	"\"13\":\"" ZERO "\",\"14\":\"" ZERO "\",\"15\":\"" ZERO "\"},\"quote\":\""
	"/1RDR4AYACIACzBfgKsroNsN05gf9MtNjr1TACTUsPn6GFsdfzzbyBE5ACDv4ydm6JxqGRtUrOgOibgCshpk1tEC"
	"PEeo+rwh7cSx3gAAAAAAAACtAAAAAQAAAAABIBkQIwAWNjYAAAABAAsD//8AACCJWamk85MDQDGKV8V2atplGzRS"
	"hf6I7+y1MjDEYmmq3Q==\",\"signature\":\"ABgACwAgTyw5RMw1vUJi/Y9DCBus4cSqeSsEdC05Jfz9nSpZwRoA"
	"ID6Sme5OkJm+n6f8CvhjRJUfnZhbrTLs06UOFZyCajaC\"}";

static struct value *fixture(uint8_t nonce[HASH_BYTES])
{
	struct value *v = NULL;
	struct err e = ERR_INIT;

	value_init();
	hash_bytes("pinfold", 7, nonce);
	(void)value_parse(quoted, strlen(quoted), &v, &e);
	return v;
}

static bool is_good(struct notary *n, const struct value *v, const uint8_t nonce[HASH_BYTES])
{
	struct evidence_claim c;
	struct err e = ERR_INIT;

	return evidence_check(v, nonce, &c) && c.has_signature &&
	       notary_check_p256(n, c.key, c.text, c.len, c.signature, &e) == 1;
}

/* How many bits of a field can be another. */
static unsigned loose_bits(struct notary *n, struct value *v, const char *field,
			   const uint8_t nonce[HASH_BYTES])
{
	uint8_t part[512];
	size_t len = evidence_bytes(value_get(v, field), part, sizeof(part));
	unsigned loose = 0;

	for (size_t i = 0; i < 8 * len; i++) {
		part[i / 8] ^= (uint8_t)(1 << i % 8);
		value_set(v, field, value_of_base64(part, len));
		loose += is_good(n, v, nonce);
		part[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t i = 0; i < len; i++) {
		value_set(v, field, value_of_base64(part, i));
		loose += is_good(n, v, nonce);
	}
	value_set(v, field, value_of_base64(part, len));
	return loose;
}

static void test_quote(void)
{
	static const char *const fields[] = {"key", "quote", "signature"};
	auto_notary notary = NOTARY_INIT;
	uint8_t nonce[HASH_BYTES];
	auto_value *v = fixture(nonce);
	struct evidence_claim c;
	struct err e = ERR_INIT;

	is_int(notary_start(&notary, FD_NONE, &e), 0, "a notary");
	ok(is_good(&notary, v, nonce), "a quote of a TPM is good");
	(void)evidence_check(v, nonce, &c);
	is_int((long long)strlen(c.name), 68, "its key has a name");
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		is_int(loose_bits(&notary, v, fields[i], nonce), 0, fields[i]);
	ok(is_good(&notary, v, nonce), "as it was it is good");
	nonce[31] ^= 1;
	ok(!is_good(&notary, v, nonce), "about something else it is not");
	is_str((evidence_check(v, nonce, &c), c.why), "quote: it is about something else",
	       "and why");
	nonce[31] ^= 1;
	struct value *pcrs = value_get(v, "pcrs");
	value_set(pcrs, "16", value_of_str(ZERO));
	ok(!is_good(&notary, v, nonce), "nor with a register more");
	value_del(pcrs, "16");
	value_set(pcrs, "3", value_of_str("1" ZERO));
	ok(!is_good(&notary, v, nonce), "nor with another");
	value_del(pcrs, "3");
	ok(!is_good(&notary, v, nonce), "nor with one less");
}

static void test_kinds(void)
{
	uint8_t nonce[HASH_BYTES];
	auto_value *v = fixture(nonce);
	struct value *none = NULL;
	struct evidence_claim c;
	struct err e = ERR_INIT;

	ok(evidence_check(NULL, nonce, &c), "an older receipt has none");
	is_str(c.kind, "none", "which is a kind");
	is_int(evidence_take("none", nonce, &none, &e), 0, "none is taken");
	ok(evidence_check(none, nonce, &c) && !c.has_signature, "and is what it is");
	value_free(none);
	value_set(v, "kind", value_of_str("oracle"));
	ok(!evidence_check(v, nonce, &c), "a kind that nobody knows is not");
	value_set(v, "kind", value_of_int(7));
	ok(!evidence_check(v, nonce, &c), "nor a kind that is no word");
}

/* Answers all that it is asked with the same bytes. */
static pid_t fake(const char *path, const uint8_t *answer, size_t len)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	(void)unlink(path);
	if (bind(s, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(s, 1) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid == 0) {
		int c = accept(s, NULL, NULL);
		char asked[4096];

		for (int i = 0; len && i < 64 && read(c, asked, sizeof(asked)) > 0; i++)
			if (send(c, answer, len, MSG_NOSIGNAL) < 0)
				break;
		_exit(0);
	}
	(void)close(s);
	return pid;
}

static void hostile(const char *path, const char *what, const uint8_t *answer, size_t len)
{
	uint8_t nonce[HASH_BYTES] = {1};
	struct value *v = NULL;
	struct err e = ERR_INIT;
	char how[128];
	pid_t pid = fake(path, answer, len);

	(void)snprintf(how, sizeof(how), "tpm2:%s", path);
	ok(evidence_take(how, nonce, &v, &e) < 0 && !v, what);
	diag("%s", e.text);
	(void)waitpid(pid, NULL, 0);
}

static void test_hostile(void)
{
	uint8_t a[4096] = {0x80, 0x01};
	int dir = make_dir();
	char path[100];

	value_init();
	(void)snprintf(path, sizeof(path), "%s/sock", place);
	hostile(path, "nothing", a, 0);
	a[5] = 9;
	hostile(path, "less than a header", a, 10);
	a[5] = 10;
	hostile(path, "more than it says", a, 11);
	memset(a + 2, 0xff, 4);
	hostile(path, "four gigabytes", a, 100);
	memset(a + 2, 0, 4);
	a[5] = 10;
	a[9] = 7;
	hostile(path, "a refusal", a, 10);
	memcpy(a + 6, "\0\0\x09\x22", 4);
	hostile(path, "later, for ever", a, 10);
	memset(a + 6, 0, 4);
	hostile(path, "good, and nothing behind it", a, 10);
	a[5] = 20;
	hostile(path, "zeros", a, 20);
	memset(a + 10, 0xff, 10);
	hostile(path, "a key without an end", a, 20);
	a[4] = 0x10;
	a[5] = 0;
	hostile(path, "as much as there may be", a, 4096);
	drop_dir(dir);
}

static void put_file(int dir, const char *name, const void *data, size_t len)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)fd_write_all(fd, data, len);
}

/* The files of a request, as the kernel would have them. */
static void test_report(void)
{
	static uint8_t report[0x4a0];
	auto_value *v = value_object();
	uint8_t nonce[HASH_BYTES];
	struct evidence_claim c;
	struct err e = ERR_INIT;
	int dir = make_dir();

	hash_bytes("pinfold", 7, nonce);
	memcpy(report + 0x50, nonce, sizeof(nonce));
	put_file(dir, "inblob", "", 0);
	put_file(dir, "provider", "sev_guest\n", 10);
	put_file(dir, "outblob", report, sizeof(report));
	value_set(v, "kind", value_of_str("tsm"));
	is_int(tsm_ask(dir, nonce, v, &e), 0, "a report is asked for");
	struct stat st;
	ok(fstatat(dir, "inblob", &st, 0) == 0 && st.st_size == 64, "with 64 bytes");
	ok(evidence_check(v, nonce, &c) && !c.has_signature, "it is about the nonce");
	value_set(v, "provider", value_of_str("tdx_guest"));
	ok(!evidence_check(v, nonce, &c), "in the form of another maker it is not");
	memcpy(report + 48 + 520, nonce, sizeof(nonce));
	value_set(v, "report", value_of_base64(report, 48 + 584));
	ok(evidence_check(v, nonce, &c), "unless it is there, too");
	value_set(v, "report", value_of_base64(report, 48 + 583));
	ok(!evidence_check(v, nonce, &c), "a short one is none");
	value_set(v, "provider", value_of_str("nobody"));
	ok(!evidence_check(v, nonce, &c), "nor is one of nobody's");
	nonce[0] ^= 1;
	value_set(v, "provider", value_of_str("sev_guest"));
	value_set(v, "report", value_of_base64(report, sizeof(report)));
	ok(!evidence_check(v, nonce, &c), "or about something else");
	(void)unlinkat(dir, "outblob", 0);
	ok(tsm_ask(dir, nonce, v, &e) < 0, "no report is an error");
	drop_dir(dir);
}

int main(void)
{
	TAP_RUN(test_quote);
	TAP_RUN(test_kinds);
	TAP_RUN(test_hostile);
	TAP_RUN(test_report);
	return tap_done();
}
