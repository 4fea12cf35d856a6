/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a confidential guest (SEV-SNP, TDX), by the kernel's configfs-tsm: who makes a
 * directory there has a request of his own. 64 bytes go into `inblob`: the nonce, and zeros.
 * `outblob` has the report, signed by the processor's maker; `provider` says whose, `auxblob` may
 * have certificates.
 *
 * Of a report that is shown the form is looked at only as far as the nonce: its signature is for
 * the maker's own tools, which know his roots and what he has called back.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "evidence/evidence_int.h"

#define REPORT_MAX (32u << 10)
#define ABOUT_BYTES 64u

/* Where the 64 bytes are in it. */
static const struct {
	const char *provider;
	size_t at, least;
} forms[] = {
	{"sev_guest", 0x50, 0x4a0},
	{"tdx_guest", 48 + 520, 48 + 584},
};

struct part {
	uint8_t byte[REPORT_MAX];
	size_t len;
};

static int read_part(int dir, const char *name, struct part *ret, struct err *e)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int r = fd < 0 ? -errno : fd_read_max(fd, ret->byte, sizeof(ret->byte), &ret->len);

	errno = -r;
	return r < 0 ? err_sys(e, "%s", name) : 0;
}

int tsm_ask(int dir, const uint8_t nonce[HASH_BYTES], struct value *to, struct err *e)
{
	uint8_t about[ABOUT_BYTES] = {0};
	auto_close int in = openat(dir, "inblob", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	struct err none = ERR_INIT;
	struct part part;

	memcpy(about, nonce, HASH_BYTES);
	/* One write: the kernel takes what comes as the whole. */
	if (in < 0 || write(in, about, sizeof(about)) != (ssize_t)sizeof(about))
		return err_sys(e, "inblob");
	int r = read_part(dir, "provider", &part, e);
	if (r < 0)
		return r;
	while (part.len && part.byte[part.len - 1] == '\n')
		part.len--;
	value_set(to, "provider", value_of_bytes(part.byte, part.len));
	r = read_part(dir, "outblob", &part, e);
	if (r < 0)
		return r;
	value_set(to, "report", value_of_base64(part.byte, part.len));
	if (read_part(dir, "auxblob", &part, &none) >= 0 && part.len)
		value_set(to, "certificates", value_of_base64(part.byte, part.len));
	return 0;
}

static int take(const char *path, const uint8_t nonce[HASH_BYTES], struct value *to, struct err *e)
{
	auto_close int all = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct evidence_claim claim;
	uint32_t random = 0;
	char name[48];

	(void)!getrandom(&random, sizeof(random), 0);
	(void)snprintf(name, sizeof(name), "pinfold-%d-%08x", (int)getpid(), random);
	if (all < 0 || mkdirat(all, name, 0700) < 0)
		return err_sys(e, "no report can be asked for");
	auto_close int dir = openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = dir < 0 ? err_sys(e, "%s", name) : tsm_ask(dir, nonce, to, e);
	(void)unlinkat(all, name, AT_REMOVEDIR); /* what is in it are not files */
	if (r >= 0 && !evidence_tsm.check(to, nonce, &claim))
		r = err_set(e, ERR_INTERNAL, "a report that is none: %s", claim.why);
	return r;
}

static bool check(const struct value *evidence, const uint8_t nonce[HASH_BYTES],
		  struct evidence_claim *ret)
{
	const char *provider = value_str(value_get(evidence, "provider"));
	uint8_t report[REPORT_MAX], about[ABOUT_BYTES] = {0};
	size_t n = evidence_bytes(value_get(evidence, "report"), report, sizeof(report));

	memcpy(about, nonce, HASH_BYTES);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!provider || strcmp(provider, forms[i].provider) != 0)
			continue;
		if (n < forms[i].least)
			return evidence_bad(ret, "report: too short");
		if (memcmp(report + forms[i].at, about, sizeof(about)) != 0)
			return evidence_bad(ret, "report: it is about something else");
		return true;
	}
	return evidence_bad(ret, "provider: not known");
}

const struct evidence_kind evidence_tsm = {"tsm", "/sys/kernel/config/tsm/report", take, check};
