/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of every command, by the contract. */
#ifndef WIRE_ENVIRON_H
#define WIRE_ENVIRON_H

#define ENVIRON_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* HOME and USER differ for the sandbox's root. */
#define ENVIRON_COMMON                                                                             \
	"PATH=" ENVIRON_PATH, "LANG=C.UTF-8", "XDG_CACHE_HOME=/tmp/.cache",                        \
		"PIP_CACHE_DIR=/tmp/.cache/pip", "npm_config_cache=/tmp/.cache/npm"
/* With a policy, for programs that look for one; those that do not get the same. */
#define ENVIRON_PROXY_URL "http://127.0.0.1:3128" /* GATE_PROXY_PORT */
#define ENVIRON_PROXY_NOT "localhost,127.0.0.1,::1"
#define ENVIRON_PROXY                                                                              \
	"HTTP_PROXY=" ENVIRON_PROXY_URL, "HTTPS_PROXY=" ENVIRON_PROXY_URL,                         \
		"ALL_PROXY=" ENVIRON_PROXY_URL, "NO_PROXY=" ENVIRON_PROXY_NOT,                     \
		"http_proxy=" ENVIRON_PROXY_URL, "https_proxy=" ENVIRON_PROXY_URL,                 \
		"all_proxy=" ENVIRON_PROXY_URL, "no_proxy=" ENVIRON_PROXY_NOT
/* Where connections are inspected: the authority of the sandbox, alone and behind the host's. */
#define ENVIRON_CA "pinfold-ca.pem"
#define ENVIRON_CERTS "pinfold-certs.pem"
#define ENVIRON_JAVA "pinfold-certs.jks"
#define ENVIRON_TLS                                                                                \
	"SSL_CERT_FILE=/etc/" ENVIRON_CERTS, "REQUESTS_CA_BUNDLE=/etc/" ENVIRON_CERTS,             \
		"CURL_CA_BUNDLE=/etc/" ENVIRON_CERTS, "GIT_SSL_CAINFO=/etc/" ENVIRON_CERTS,        \
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=/etc/" ENVIRON_CA,                               \
		"NODE_EXTRA_CA_CERTS=/etc/" ENVIRON_CA
#define ENVIRON_USER "HOME=/home/user", "USER=user"
#define ENVIRON_ROOT "HOME=/root", "USER=root"

#endif
