/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This program is static, loads nothing and resolves no name. OpenSSL can do both, and would bring
 * libc's loader and resolver in for it; these take their place.
 */
#include <dlfcn.h>
#include <netdb.h>

void *dlopen(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return (void *)0;
}

void *dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return (void *)0;
}

int dlclose(void *handle)
{
	(void)handle;
	return 0;
}

char *dlerror(void)
{
	static char text[] = "this program loads nothing";

	return text;
}

int dladdr(const void *address, Dl_info *info)
{
	(void)address;
	(void)info;
	return 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)ret;
	return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

const char *gai_strerror(int code)
{
	(void)code;
	return "this program resolves no name";
}

struct hostent *gethostbyname(const char *name)
{
	(void)name;
	return (void *)0;
}

int getnameinfo(const struct sockaddr *address, socklen_t len, char *host, socklen_t host_len,
		char *service, socklen_t service_len, int flags)
{
	(void)address;
	(void)len;
	(void)host;
	(void)host_len;
	(void)service;
	(void)service_len;
	(void)flags;
	return EAI_FAIL;
}
