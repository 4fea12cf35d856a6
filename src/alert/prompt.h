/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For alert/ alone: does a text tell a model what to do? A small list, made to be wrong seldom:
 *
 *	ignore | disregard | forget | override, then within six words
 *	previous | prior | earlier | preceding | above | original | system | your, then "instruction";
 *	or "instruction" with above | you were | you have behind it
 *	<|im_start|>system  <|start_header_id|>system  <|system|>
 */
#ifndef ALERT_PROMPT_H
#define ALERT_PROMPT_H

#include <stddef.h>

enum prompt_verdict { PROMPT_NO, PROMPT_YES, PROMPT_MORE };

/* At index `at` is what find_noted() notes of a prompt. MORE: what is behind the end decides, which
 * is less than OUTPUT_AHEAD bytes. Looks back no more than OUTPUT_BACK. */
enum prompt_verdict prompt_at(const unsigned char *data, size_t at, size_t len,
			      const char **ret_what);

#endif
