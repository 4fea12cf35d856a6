/* SPDX-License-Identifier: Apache-2.0 */
#include "store/stack.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_DIGITS 9

/* "NUMBER:PARTS" and what ends it. Digits alone: sscanf would take signs and blanks. */
static const char *parse_layer(const char *text, struct sandbox_layer *ret)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > NUMBER_DIGITS || text[digits] != ':')
		return NULL;
	ret->number = 0;
	for (size_t i = 0; i < digits; i++)
		ret->number = ret->number * 10 + (uint32_t)(text[i] - '0');
	ret->parts = (uint32_t)(unsigned char)text[digits + 1] - '0';
	if (!ret->number || ret->parts == 0 ||
	    (ret->parts > (LAYER_ROOT | LAYER_USR | LAYER_WORK) && ret->parts != STACK_IMAGE_PARTS))
		return NULL;
	return text + digits + 2;
}

int stack_parse(const char *text, struct stack *ret, struct err *e)
{
	struct sandbox_layer layer;

	ret->n = 0;
	while (*text) {
		const char *end = ret->n < STACK_MAX ? parse_layer(text, &layer) : NULL;

		/* A layer is mounted once, an image lies below all others, and a comma has
		 * something behind it. */
		if (!end || stack_has(ret, layer.number) || stack_image(ret) ||
		    (*end && (*end != ',' || !end[1])))
			return err_set(e, ERR_INTERNAL, "store.db: a stack is damaged");
		ret->layer[ret->n++] = layer;
		text = end + (*end == ',');
	}
	return 0;
}

void stack_print(const struct stack *stack, char ret[STACK_TEXT_SIZE])
{
	int n = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < stack->n; i++)
		n += snprintf(ret + n, STACK_TEXT_SIZE - (size_t)n, "%s%u:%u", i ? "," : "",
			      stack->layer[i].number, stack->layer[i].parts);
}

int stack_push(struct stack *stack, struct sandbox_layer layer, struct err *e)
{
	if (!layer.parts)
		return 0;
	if (stack->n == STACK_MAX)
		return err_set(e, ERR_LIMIT, "the workspace has too many layers");
	memmove(&stack->layer[1], &stack->layer[0], stack->n * sizeof(layer));
	stack->layer[0] = layer;
	stack->n++;
	return 0;
}

uint32_t stack_image(const struct stack *stack)
{
	const struct sandbox_layer *lowest = &stack->layer[stack->n ? stack->n - 1 : 0];

	return stack->n && (lowest->parts & LAYER_IMAGE) ? lowest->number : 0;
}

bool stack_has(const struct stack *stack, uint32_t number)
{
	for (unsigned i = 0; i < stack->n; i++)
		if (stack->layer[i].number == number)
			return true;
	return false;
}
