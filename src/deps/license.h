/* SPDX-License-Identifier: Apache-2.0 */
/* What packages say of their licence, as an expression of SPDX's. Pure. */
#ifndef DEPS_LICENSE_H
#define DEPS_LICENSE_H

#include <stdbool.h>

#define LICENSE_SIZE 200u

/* false: nobody can tell from this text which licence it is; ret is "". *ret_is_one: an identifier,
 * not several joined by OR or AND. */
bool license_expression(const char *text, char ret[LICENSE_SIZE], bool *ret_is_one);

#endif
