/* SPDX-License-Identifier: Apache-2.0 */
#include "http/host.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "http/chars_int.h"

#define LABEL_MAX 63

static bool is_name(const char *p, size_t n)
{
	size_t label = 0;

	if (n > 0 && p[n - 1] == '.')
		n--;
	if (n == 0 || n > HTTP_HOST_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (p[i] != '.') {
			if (!chars_has(&chars_label, p[i]) || ++label > LABEL_MAX)
				return false;
			continue;
		}
		if (label == 0)
			return false;
		label = 0;
	}
	return label > 0;
}

static bool is_ip6(const char *p, size_t n)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr addr;

	if (n >= sizeof(text) || memchr(p, '\0', n))
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	return inet_pton(AF_INET6, text, &addr) == 1;
}

static bool parse_port(const char *p, size_t n, uint16_t *ret)
{
	unsigned port = 0;

	if (n == 0 || n > 5 || !chars_all(&chars_digit, p, n))
		return false;
	for (size_t i = 0; i < n; i++)
		port = port * 10 + (unsigned)(p[i] - '0');
	*ret = (uint16_t)port;
	return port >= 1 && port <= 65535;
}

bool http_host_parse(const char *text, size_t len, struct http_host *ret)
{
	struct http_host host = {.name = text};
	const char *end = memchr(text, len > 0 && text[0] == '[' ? ']' : ':', len);
	size_t used = end ? (size_t)(end - text) : len;

	assert(ret);
	if (len > 0 && text[0] == '[') {
		if (!end)
			return false;
		host.name++;
		host.name_len = (uint32_t)(used - 1);
		host.is_ip6 = true;
		used++;
	} else {
		host.name_len = (uint32_t)used;
	}
	if (host.is_ip6 ? !is_ip6(host.name, host.name_len) : !is_name(host.name, host.name_len))
		return false;
	if (used < len &&
	    (text[used] != ':' || !parse_port(text + used + 1, len - used - 1, &host.port)))
		return false;
	*ret = host;
	return true;
}

bool http_host_same(const struct http_host *a, const struct http_host *b, uint16_t port)
{
	return a->is_ip6 == b->is_ip6 && chars_equal(a->name, a->name_len, b->name, b->name_len) &&
	       (a->port ? a->port : port) == (b->port ? b->port : port);
}
