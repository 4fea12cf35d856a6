/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of every command, by the contract. */
#ifndef SANDBOX_ENVIRON_H
#define SANDBOX_ENVIRON_H

#define ENVIRON_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* HOME and USER differ for the sandbox's root. */
#define ENVIRON_COMMON                                                                             \
	"PATH=" ENVIRON_PATH, "LANG=C.UTF-8", "XDG_CACHE_HOME=/tmp/.cache",                        \
		"PIP_CACHE_DIR=/tmp/.cache/pip", "npm_config_cache=/tmp/.cache/npm"
#define ENVIRON_USER "HOME=/home/user", "USER=user"
#define ENVIRON_ROOT "HOME=/root", "USER=root"

#endif
