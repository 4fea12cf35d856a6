/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/netns.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int netns_own(int *ret_fd, struct err *e)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open the network namespace");
	*ret_fd = fd;
	return 0;
}

int netns_enter(int fd, struct err *e)
{
	return setns(fd, CLONE_NEWNET) < 0 ? err_sys(e, "enter a network namespace") : 0;
}

void netns_return(int own)
{
	if (setns(own, CLONE_NEWNET) == 0)
		return;
	/* Whatever we did next would be done in a sandbox's network. */
	(void)fprintf(stderr, "pinfold: no way back from a network namespace: %s\n",
		      strerror(errno));
	abort();
}

/*
 * What a program without capabilities can leave behind in a namespace that holds a loopback alone:
 * counters of every kind of packet, route looked up and error (dev, snmp, snmp6, netstat), uses of
 * routes (ipv6_route, rt6_stats), groups joined (igmp, igmp6, dev_mcast), leases of flow labels, which
 * outlive their socket; caches of peers and of TCP are made by packets, which are counted. Rules, routes,
 * addresses and settings need a right that nobody inside has. A socket that somebody outside still
 * holds is counted as used (sockstat). tcp, udp and the like are left out: they walk tables of the
 * whole host, and sockstat has their sum.
 */
static const char *const shown[] = {"dev",	     "snmp",	   "snmp6",	"netstat",
				    "ip6_flowlabel", "ipv6_route", "rt6_stats", "igmp",
				    "igmp6",	     "dev_mcast",  "sockstat6"};

/* What fits, which is never all of the room. */
static int read_file(const char *name, char *text, size_t size, size_t *ret_len, struct err *e)
{
	char path[64];
	size_t len = 0;
	ssize_t n = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/net/%s", name);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	/* A kernel may be without IPv6 or groups; without these nothing would be looked at. */
	if (fd < 0 && (errno != ENOENT || strcmp(name, "dev") == 0 || strcmp(name, "snmp") == 0 ||
		       strcmp(name, "netstat") == 0 || strcmp(name, "sockstat") == 0))
		return err_sys(e, "%s", path);
	while (fd >= 0 && len < size && (n = read(fd, text + len, size - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		return err_sys(e, "%s", path);
	if (len >= size)
		return err_set(e, ERR_LIMIT, "%s is too long", path);
	*ret_len = len;
	return 0;
}

static int add_file(const char *name, char *text, size_t *len, struct err *e)
{
	size_t n = 0;
	int r = read_file(name, text + *len, NETNS_TEXT_MAX - *len, &n, e);

	*len += n;
	return r;
}

/* "TCP: inuse 0 orphan 0 tw 0 alloc 32 mem 0": orphan, alloc and mem are the whole host's. */
static bool is_hosts(const char *word)
{
	return strcmp(word, "orphan") == 0 || strcmp(word, "alloc") == 0 ||
	       strcmp(word, "mem") == 0;
}

static int add_sockstat(char *text, size_t *len, struct err *e)
{
	char all[1024], *rest = NULL;
	size_t n = 0;
	int r = read_file("sockstat", all, sizeof(all), &n, e);

	if (r < 0)
		return r;
	all[n] = '\0';
	for (char *word = strtok_r(all, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
		size_t m = strlen(word);

		if (is_hosts(word)) {
			(void)strtok_r(NULL, " \n", &rest); /* its number */
			continue;
		}
		if (*len + m + 1 >= NETNS_TEXT_MAX)
			return err_set(e, ERR_LIMIT, "sockstat is too long");
		memcpy(text + *len, word, m);
		text[*len + m] = ' ';
		*len += m + 1;
	}
	return 0;
}

int netns_look(int fd, int own, char *text, size_t *ret_len, struct err *e)
{
	size_t len = 0;
	int r = netns_enter(fd, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]) && r >= 0; i++)
		r = add_file(shown[i], text, &len, e);
	if (r >= 0)
		r = add_sockstat(text, &len, e);
	netns_return(own);
	*ret_len = len;
	return r;
}
