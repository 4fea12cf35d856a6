/* SPDX-License-Identifier: Apache-2.0 */
/* Layers as one descriptor: what a caller could say in it, and how long it holds. */
#include "sandbox/bundle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "tap.h"
#include "wire/bundle.h"

static struct bundle good(void)
{
	struct bundle b = {.magic = BUNDLE_MAGIC,
			   .version = BUNDLE_VERSION,
			   .n = 1,
			   .number = {7},
			   .dev = 1,
			   .ino = 2,
			   .path = "/x",
			   .n_links = 1,
			   .links = {"etc/figlet"}};

	return b;
}

static void what_is_said(void)
{
	static const char *const bad[] = {"",	    "etc/",	 "etc/..",   "etc/a/b",
					  "/etc/a", "usr/lib/a", "etc/.hid", "var/lib/../x",
					  "opt",    "opt/a b"};
	struct bundle b = good();

	is_int(bundle_check(&b, 1), 0, "a good one");
	is_int(bundle_check(&b, 2), -EINVAL, "more descriptors than layers");
	is_int(bundle_check(&b, 0), -EINVAL, "none");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		b = good();
		(void)snprintf(b.links[0], BUNDLE_LINK_SIZE, "%s", bad[i]);
		is_int(bundle_check(&b, 1), -EINVAL, "a name that leads elsewhere");
	}
	b = good();
	memset(b.links[0], 'a', BUNDLE_LINK_SIZE);
	is_int(bundle_check(&b, 1), -EINVAL, "a name without an end");
	b = good();
	memset(b.path, '/', sizeof(b.path));
	is_int(bundle_check(&b, 1), -EINVAL, "a path without an end");
	b = good();
	(void)snprintf(b.modules, sizeof(b.modules), "numpy,pandas.io");
	memcpy(b.watched, "/usr/a\0\0", 8);
	b.watched_len = 8;
	is_int(bundle_check(&b, 1), 0, "modules, and files that are watched");
	b.watched_len = 6;
	is_int(bundle_check(&b, 1), -EINVAL, "a file that is watched, without an end");
	b.watched_len = BUNDLE_WATCHED_MAX + 1;
	is_int(bundle_check(&b, 1), -EINVAL, "more than there is room for");
	memcpy(b.watched, "/etc/a\0\0", 8);
	b.watched_len = 8;
	is_int(bundle_check(&b, 1), -EINVAL, "a file outside of packages");
	b = good();
	(void)snprintf(b.modules, sizeof(b.modules), "numpy;x");
	is_int(bundle_check(&b, 1), -EINVAL, "a module that is no name");
	memset(b.modules, 'a', sizeof(b.modules));
	is_int(bundle_check(&b, 1), -EINVAL, "modules without an end");
	b = good();
	b.n = b.number[1] = BUNDLE_LAYERS_MAX + 1;
	is_int(bundle_check(&b, (int)b.n), -EINVAL, "too many layers");
	b = good();
	b.flags = BUNDLE_IMAGE;
	is_int(bundle_check(&b, 1), -EINVAL, "an image with names outside /usr");
	b.n_links = 0;
	is_int(bundle_check(&b, 1), 0, "an image");
	b.flags |= BUNDLE_NODE;
	is_int(bundle_check(&b, 1), -EINVAL, "an image with packages of node");
	b.flags = BUNDLE_IMAGE;
	b.n = 2;
	b.number[1] = 8;
	is_int(bundle_check(&b, 2), -EINVAL, "two images");
	b = good();
	b.n_links = BUNDLE_LINKS_MAX + 1;
	is_int(bundle_check(&b, 1), -EINVAL, "too many names");
	b = good();
	b.number[0] = 0;
	is_int(bundle_check(&b, 1), -EINVAL, "no number");
}

/* Anything that is no bundle of ours is refused, and nothing of it stays open. */
static int take(int fd)
{
	struct sandbox_spec spec = {.dir_fd = FD_NONE};
	struct bundle_held held;
	struct err e = ERR_INIT;
	int r = bundle_take(fd, &spec, &held, &e);

	bundle_forget(&held, &spec);
	return r;
}

static void what_is_given(void)
{
	struct bundle b = good();
	int pair[2], p[2], two[2];

	ok(pipe2(p, O_CLOEXEC) == 0 &&
		   socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0,
	   "descriptors");
	ok(take(p[0]) < 0, "a pipe");
	ok(take(pair[1]) < 0, "a socket with nothing in it, without waiting");
	two[0] = p[0];
	two[1] = p[1];
	ok(passfd_send(pair[0], &b, sizeof(b) - 1, two, 1) == 0 && take(pair[1]) < 0,
	   "a short one");
	ok(passfd_send(pair[0], &b, sizeof(b), two, 2) == 0 && take(pair[1]) < 0,
	   "one descriptor too many");
	ok(passfd_send(pair[0], &b, sizeof(b), two, 1) == 0 && take(pair[1]) == 0, "one that fits");
	for (int i = 0; i < 2; i++) {
		fd_close(&pair[i]);
		fd_close(&p[i]);
	}
}

static bool is_locked(const char *file)
{
	auto_close int fd = open(file, O_RDWR | O_CLOEXEC);
	struct flock l = {.l_type = F_WRLCK};

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* The lock is in the socket, read or not, and goes with it. */
static void how_long_it_holds(void)
{
	char dir[] = "/tmp/pinfold-bundle.XXXXXX", file[64], layer[64], usr[64];
	struct flock l = {.l_type = F_RDLCK};
	struct err e = ERR_INIT;

	ok(mkdtemp(dir) != NULL, "a directory");
	(void)snprintf(file, sizeof(file), "%s/lock", dir);
	(void)snprintf(layer, sizeof(layer), "%s/7", dir);
	(void)snprintf(usr, sizeof(usr), "%s/7/usr", dir);
	ok(mkdir(layer, 0755) == 0 && mkdir(usr, 0755) == 0, "a layer");
	int lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600), bundle = FD_NONE;
	auto_close int layers = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sandbox_spec spec = {
		.dir_fd = FD_NONE,
		.layers = {.fd = layers, .path = dir, .dev = 1, .ino = 1},
		.deps = {.n = 1, .number = {7}},
	};
	ok(fcntl(lock, F_OFD_SETLK, &l) == 0, "a lock");
	ok(bundle_make(&spec, &lock, &bundle, &e) == 0, "a bundle");
	fd_close(&lock);
	ok(is_locked(file), "who had the lock is gone, it is not");
	is_int(take(bundle), 0, "taken");
	ok(is_locked(file), "and still held");
	fd_close(&bundle);
	ok(!is_locked(file), "until the socket is closed");
	(void)unlink(file);
	(void)rmdir(usr);
	(void)rmdir(layer);
	(void)rmdir(dir);
}

int main(void)
{
	TAP_RUN(what_is_said);
	TAP_RUN(what_is_given);
	TAP_RUN(how_long_it_holds);
	return tap_done();
}
