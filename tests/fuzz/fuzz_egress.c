/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what the first of them says: a host, a path, a DNS question or answer, a
 * ClientHello, SOCKS, a policy file, a packed policy. Held to what egress/ promises:
 *	- what is accepted is accepted again in the form that came out, and means the same;
 *	- a ClientHello or SOCKS request says the same wherever reads cut it;
 *	- a path that one reading allows by a pattern is not denied its own text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/dns.h"
#include "egress/hello.h"
#include "egress/path.h"
#include "egress/policy.h"
#include "egress/socks.h"
#include "egress/target.h"
#include "egress/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void on_name(const char *text, size_t len)
{
	struct name a, b;
	const char *why = NULL;
	uint16_t port = 0;

	if (name_parse(text, len, &a, &why) == 0) {
		NEED(a.len == strlen(a.text) && a.len <= NAME_LEN_MAX);
		NEED(name_parse(a.text, a.len, &b, &why) == 0 && name_equal(&a, &b));
		if (a.kind != NAME_DNS)
			(void)address_class(&a.address);
	} else {
		NEED(why && *why);
	}
	(void)name_parse_port(text, len, &a, &port, &why);
}

static void on_path(const char *text, size_t len)
{
	static struct path p;
	const char *why = NULL;

	if (path_read(text, len, &p, &why) < 0) {
		NEED(why && *why);
		return;
	}
	NEED(p.strict[0] == '/' && p.loose[0] == '/');
	NEED(!strstr(p.loose, "/../") && !strstr(p.loose, "//"));
	NEED(path_fits("/**", 3, &p, true));
	NEED(!path_fits("/nowhere/\x01", 10, &p, false));
}

static void on_dns(const uint8_t *msg, size_t len)
{
	struct name n = {.kind = NAME_DNS, .len = 6, .text = "a.test"};
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_query q, again;
	struct dns_reply r;
	const char *why = NULL;
	int result = dns_query_parse(msg, len, &q, &why);

	if (result >= 0)
		NEED(dns_answer_code(&q, DNS_REFUSED, out) <= DNS_ANSWER_MAX);
	if (result == 0) {
		size_t n_out = dns_ask(q.id, &q.name, q.type, out);

		NEED(dns_query_parse(out, n_out, &again, &why) == 0);
		NEED(name_equal(&q.name, &again.name) && q.type == again.type);
	}
	if (len >= 2)
		(void)dns_reply_parse(msg, len, (uint16_t)(msg[0] << 8 | msg[1]), &n, DNS_A, &r);
	(void)dns_frame(msg, len, DNS_QUERY_MAX);
}

static void on_hello(const uint8_t *buf, size_t len)
{
	struct hello whole, part;
	enum hello_state state = hello_parse(buf, len, &whole);

	for (size_t n = 0; n < len && n < 200; n++) {
		enum hello_state early = hello_parse(buf, n, &part);

		if (early == HELLO_MORE)
			continue;
		NEED(early == state);
		NEED(state != HELLO_NAME || name_equal(&whole.name, &part.name));
		break;
	}
	NEED(state != HELLO_REFUSED || whole.why);
}

static void on_socks(const uint8_t *buf, size_t len)
{
	struct socks_request whole, part;
	uint8_t answer[2];
	int used = socks_request(buf, len, &whole);

	NEED(used <= (int)len);
	for (size_t n = 0; used > 0 && n < (size_t)used; n++)
		NEED(socks_request(buf, n, &part) == 0);
	(void)socks_greeting(buf, len, answer);
}

static void on_policy(struct policy *p)
{
	static const char *const urls[] = {"https://a.test/x", "http://b.a.test/", "10.0.0.1:443"};
	struct err e = ERR_INIT;
	struct egress_verdict v, w;
	struct egress_request q;
	struct policy *back = NULL;
	const char *why = NULL;
	struct name host;
	size_t len = 0;
	void *block = NULL;

	NEED(policy_pack(p, &block, &len, &e) == 0);
	NEED(policy_unpack(block, len, &back, &e) == 0);
	for (size_t i = 0; i < 3; i++) {
		NEED(target_of_url(urls[i], "GET", &host, &q, &why) == 0);
		policy_decide(p, &q, &v);
		policy_decide(back, &q, &w);
		NEED(v.action == w.action && v.protocol == w.protocol && !strcmp(v.text, w.text));
	}
	free(block);
	policy_free(back);
}

static void on_file(const char *text, size_t len)
{
	struct err e = ERR_INIT;
	struct policy *p = policy_new();

	if (p && policy_load_yaml(p, text, len, "fuzz", NULL, &e) == 0)
		on_policy(p);
	else
		NEED(e.text[0]);
	policy_free(p);
}

static void on_pack(const uint8_t *data, size_t len)
{
	struct err e = ERR_INIT;
	struct policy *p = NULL;

	if (policy_unpack(data, len, &p, &e) == 0)
		on_policy(p);
	policy_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0 || len > 1 << 16)
		return 0;
	const uint8_t *rest = data + 1;
	switch (data[0]) {
	case 'n': on_name((const char *)rest, len - 1); break;
	case 'p': on_path((const char *)rest, len - 1); break;
	case 'd': on_dns(rest, len - 1); break;
	case 'h': on_hello(rest, len - 1); break;
	case 's': on_socks(rest, len - 1); break;
	case 'y': on_file((const char *)rest, len - 1); break;
	case 'k': on_pack(rest, len - 1); break;
	default: break;
	}
	return 0;
}
