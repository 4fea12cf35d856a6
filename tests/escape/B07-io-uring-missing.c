/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring and the older asynchronous I/O: neither exists. */
#include "B-doors.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>

int main(void)
{
	struct io_uring_params params = {0};
	aio_context_t context = 0;

	missing("uring-setup", syscall(SYS_io_uring_setup, 4, &params));
	missing("uring-enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
	missing("uring-register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
	missing("aio-setup", syscall(SYS_io_setup, 4, &context));
	missing("aio-submit", syscall(SYS_io_submit, context, 0, NULL));
	missing("aio-getevents", syscall(SYS_io_getevents, context, 0, 0, NULL, NULL));
	missing("aio-cancel", syscall(SYS_io_cancel, context, BAD_POINTER, NULL));
	missing("aio-destroy", syscall(SYS_io_destroy, context));
	return 0;
}
