/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/notify.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "kernel/seccomp.h"
#include "sandbox/spec.h"
#include "wire/gate.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

void notify_init(int listener)
{
	/* Linux 6.6; without it a connect costs some microseconds more. */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

/* The address argument of connect(fd, addr, len) or sendto(fd, buf, n, flags, addr, len). */
static bool read_address(const struct seccomp_notif *req, struct sockaddr_storage *ret)
{
	bool is_connect = strcmp(seccomp_report_name(req->data.nr), "connect") == 0;
	uint64_t at = req->data.args[is_connect ? 1 : 4];
	uint64_t len = req->data.args[is_connect ? 2 : 5] & 0xffffffffu;
	struct iovec here = {.iov_base = ret, .iov_len = len < sizeof(*ret) ? len : sizeof(*ret)};
	struct iovec there = {.iov_base = (void *)(uintptr_t)at, .iov_len = here.iov_len};

	memset(ret, 0, sizeof(*ret));
	return process_vm_readv((pid_t)req->pid, &here, 1, &there, 1, 0) >=
	       (ssize_t)sizeof(ret->ss_family);
}

static bool is_loopback6(const struct in6_addr *a)
{
	return IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_UNSPECIFIED(a) ||
	       (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

/* 1 when the address is one that cannot be reached from inside. Name lookups ask a server on the
 * loopback that is not there, so port 53 is worth telling, too. */
static int describe(const struct sockaddr_storage *addr, const char *call, struct notify_event *ret)
{
	bool inside;

	if (addr->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)addr;
		uint32_t ip = ntohl(in->sin_addr.s_addr);

		inside = ip >> 24 == 127 || ip == 0;
		ret->port = ntohs(in->sin_port);
		(void)inet_ntop(AF_INET, &in->sin_addr, ret->host, sizeof(ret->host));
	} else if (addr->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)addr;

		inside = is_loopback6(&in->sin6_addr);
		ret->port = ntohs(in->sin6_port);
		(void)inet_ntop(AF_INET6, &in->sin6_addr, ret->host, sizeof(ret->host));
	} else {
		return 0;
	}
	if (inside && ret->port != 53)
		return 0;
	ret->network = true;
	if (inside)
		(void)snprintf(ret->what, sizeof(ret->what), "name lookup (DNS)");
	else
		(void)snprintf(ret->what, sizeof(ret->what),
			       addr->ss_family == AF_INET6 ? "%s [%s]:%u" : "%s %s:%u", call,
			       ret->host, ret->port);
	return 1;
}

static int answer(int listener, uint64_t id, int error, uint32_t flags)
{
	struct seccomp_notif_resp resp = {.id = id, .error = error, .flags = flags};

	/* ENOENT: the caller was killed while it waited. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int notify_answer(int listener, const struct notify_event *ev)
{
	return ev->network ? answer(listener, ev->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE)
			   : answer(listener, ev->id, -EPERM, 0);
}

int notify_take(int listener, struct notify_event *ret)
{
	struct seccomp_notif req = {0};
	struct sockaddr_storage addr;
	bool fast = false;

	*ret = (struct notify_event){0};
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return errno == ENOENT || errno == EINTR || errno == EAGAIN ? 0 : -errno;
	const char *name = seccomp_report_name(req.data.nr);
	if (!name)
		return answer(listener, req.id, -ENOSYS, 0);
	ret->id = req.id;
	if (seccomp_report_guard(req.data.nr)) {
		ret->guard = true;
		ret->pid = req.pid;
		ret->nr = req.data.nr;
		memcpy(ret->args, req.data.args, sizeof(ret->args));
		return 1;
	}
	if (!seccomp_report_network(req.data.nr)) {
		(void)snprintf(ret->what, sizeof(ret->what), "%s", name);
		ret->hint = seccomp_report_hint(req.data.nr);
		return 1;
	}
	/* It opens a connection (TCP Fast Open), and is judged as one. */
	if (strcmp(name, "sendto") == 0 && (req.data.args[3] & MSG_FASTOPEN))
		fast = true;
	if (read_address(&req, &addr) && describe(&addr, fast ? "connect" : name, ret))
		return 1;
	ret->network = true;
	return notify_answer(listener, ret);
}

bool notify_is_gated(const struct sandbox_egress *out, const struct notify_event *ev)
{
	if (!ev->network || !out->n_ports)
		return false;
	if (out->is_heard)
		return true;
	/* Port 0 is how libc finds out which address it would come from. */
	if (ev->port == GATE_DNS_PORT || ev->port == 0)
		return true;
	if (strncmp(ev->what, "connect", strlen("connect")) != 0)
		return false; /* datagrams */
	for (unsigned i = 0; i < out->n_ports; i++)
		if (out->ports[i] == ev->port)
			return true;
	return false;
}
