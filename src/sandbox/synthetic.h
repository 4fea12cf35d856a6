/* SPDX-License-Identifier: Apache-2.0 */
/* Files that tell a program where it is: made up, and true inside. */
#ifndef SANDBOX_SYNTHETIC_H
#define SANDBOX_SYNTHETIC_H

#include <stdint.h>

#define SYNTHETIC_PASSWD                                                                           \
	"root:x:0:0:root:/root:/bin/bash\n"                                                        \
	"user:x:1000:1000:user:/home/user:/bin/bash\n"                                             \
	"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
#define SYNTHETIC_GROUP "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"
#define SYNTHETIC_NSSWITCH                                                                         \
	"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"          \
	"protocols: files\nservices: files\n"
#define SYNTHETIC_RESOLV "options timeout:1 attempts:1\n"
/* Any address would do: all lead to the gate. */
#define SYNTHETIC_RESOLV_GATE "nameserver 127.0.0.53\noptions timeout:3 attempts:2\n"
#define SYNTHETIC_HOSTS "127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n"

/* Processors to show for a rate of `cpus_milli`: at least one, at most the host's. */
unsigned synthetic_cpus(uint64_t cpus_milli);
/* /proc/cpuinfo with that many processors; the caller frees it. NULL: out of memory. */
char *synthetic_cpuinfo(uint64_t cpus_milli);
/* /proc/meminfo of a machine with `bytes` of memory and no swap. */
char *synthetic_meminfo(uint64_t bytes);
/* /proc/stat of a machine that booted then and was idle since. */
char *synthetic_stat(uint64_t cpus_milli, int64_t start_s);
/* /proc/loadavg of a machine that has nothing else to do. */
#define SYNTHETIC_LOADAVG "0.00 0.00 0.00 1/2 2\n"
#define SYNTHETIC_UPTIME "0.00 0.00\n"
#define SYNTHETIC_SWAPS "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

#endif
