/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports that nobody chose: the kernel would take any. A server that binds port 0 prints which it
 * got, and prints from which its clients came, so both come from the thread's stream. Only of the
 * sandbox's own loopback are clients given one: what goes out is none of ours.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define PORT_FIRST 32768u
#define PORTS 28000u
#define TRIES 32u

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Where its port is; NULL: it has none. */
static in_port_t *port_of(union address *a, socklen_t len)
{
	if (len >= sizeof(a->in) && a->any.sa_family == AF_INET)
		return &a->in.sin_port;
	return len >= sizeof(a->in6) && a->any.sa_family == AF_INET6 ? &a->in6.sin6_port : NULL;
}

static bool take(union address *to, const struct sockaddr *from, socklen_t len)
{
	if (!from || len > sizeof(*to) || len < sizeof(from->sa_family))
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, len);
	return port_of(to, len) != NULL;
}

/* One that is free. -EADDRINUSE: none was found, and the kernel may choose. */
static long bind_any(struct pinned_thread *t, int fd, union address *a, socklen_t len)
{
	long r = -EADDRINUSE;

	for (unsigned i = 0; i < TRIES && r == -EADDRINUSE; i++) {
		uint64_t n = pinned_mix(t->key ^ 0x706f7274, ++t->ports);

		*port_of(a, len) = htons((uint16_t)(PORT_FIRST + n % PORTS));
		r = sys3(SYS_bind, fd, a, len);
	}
	return r;
}

PINNED_API int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct pinned_thread *t = pinned_thread();
	union address a;

	if (t && take(&a, addr, len) && *port_of(&a, len) == 0) {
		long r = bind_any(t, fd, &a, len);
		if (r != -EADDRINUSE)
			return (int)pinned_result(r);
	}
	return (int)pinned_result(sys3(SYS_bind, fd, addr, len));
}

static bool is_loopback(const union address *a)
{
	return a->any.sa_family == AF_INET ? ntohl(a->in.sin_addr.s_addr) >> 24 == 127
					   : IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr);
}

/* Of streams that have no port yet. That it finds none is no failure. */
static void give_port(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct pinned_thread *t = pinned_thread();
	union address a, own;
	socklen_t own_len = sizeof(own), type_len = sizeof(int);
	int type = 0;

	if (!t || !take(&a, addr, len) || !is_loopback(&a) ||
	    sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0 ||
	    type != SOCK_STREAM || sys3(SYS_getsockname, fd, &own, &own_len) < 0 ||
	    own.any.sa_family != a.any.sa_family || !port_of(&own, own_len) ||
	    *port_of(&own, own_len) != 0)
		return;
	(void)bind_any(t, fd, &own, own_len);
}

PINNED_API int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	static int (*behind)(int, const struct sockaddr *, socklen_t);

	give_port(fd, addr, len);
	if (!behind)
		behind = pinned_behind("connect", NULL);
	return behind(fd, addr, len);
}
