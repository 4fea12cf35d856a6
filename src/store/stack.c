/* SPDX-License-Identifier: Apache-2.0 */
#include "store/stack.h"

#include <stdio.h>
#include <string.h>

int stack_parse(const char *text, struct stack *ret, struct err *e)
{
	ret->n = 0;
	while (*text) {
		struct sandbox_layer layer;
		int used = 0;

		if (ret->n == STACK_MAX ||
		    sscanf(text, "%9u:%1u%n", &layer.number, &layer.parts, &used) != 2 ||
		    !layer.number || (text[used] && text[used] != ','))
			return err_set(e, ERR_INTERNAL, "store.db: a stack is damaged");
		ret->layer[ret->n++] = layer;
		text += used + (text[used] == ',');
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

bool stack_has(const struct stack *stack, uint32_t number)
{
	for (unsigned i = 0; i < stack->n; i++)
		if (stack->layer[i].number == number)
			return true;
	return false;
}
