/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARDEN_CONTROL_H
#define WARDEN_CONTROL_H

#include <stdbool.h>

#include "base/err.h"
#include "wire/msg.h"

struct control_event {
	struct msg_guest msg;
	char name[MSG_NAME_MAX + 1]; /* msg.len bytes and a NUL */
	int fd;			     /* FD_NONE when the message had none */
};

/* Take one message from the guest, checked. 0; -EAGAIN when there is none and the socket does not
 * block; -EPIPE when the guest is gone. A descriptor that the kind does not have is closed. */
int control_receive(int control, struct control_event *ret, struct err *e);
/* Never blocks: a guest that does not listen is killed by other means. */
void control_send(int control, uint32_t kind, int arg);

#endif
