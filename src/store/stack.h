/* SPDX-License-Identifier: Apache-2.0 */
/* The layers that make up the files of one snapshot, and their text in the database. Pure. */
#ifndef STORE_STACK_H
#define STORE_STACK_H

#include <stdbool.h>

#include "base/err.h"
#include "sandbox/spec.h"

#define STACK_MAX 64u
#define STACK_TEXT_SIZE (STACK_MAX * 16u)
#define STACK_IMAGE_PARTS (LAYER_ROOT | LAYER_IMAGE) /* what an image's layer has */

struct stack {
	unsigned n;
	struct sandbox_layer layer[STACK_MAX]; /* the topmost first */
};

int stack_parse(const char *text, struct stack *ret, struct err *e);
void stack_print(const struct stack *stack, char ret[STACK_TEXT_SIZE]);
/* One more on top; a layer without parts changes nothing. */
int stack_push(struct stack *stack, struct sandbox_layer layer, struct err *e);
bool stack_has(const struct stack *stack, uint32_t number);
/* The layer of the image that it stands on, 0: the host's. */
uint32_t stack_image(const struct stack *stack);

#endif
