/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a connection comes from the program that ends TLS: one message on a SOCK_SEQPACKET socket
 * that nobody else has, with our end of a pair of stream sockets. What goes through that pair is
 * what the client said; who he is, his token says.
 */
#ifndef API_DOOR_H
#define API_DOOR_H

/* How callers come: on a Unix socket, where uids say who they are; on TCP, where tokens do; through
 * the door, which is like TCP. */
enum api_way { API_UNIX, API_TCP, API_DOOR };

#define FROM_SIZE 64

struct door_message {
	char from[FROM_SIZE]; /* "203.0.113.7:41234", with its NUL */
};

#endif
