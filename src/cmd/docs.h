/* SPDX-License-Identifier: Apache-2.0 */
/* The man page and the completions, printed to stdio from the tables of verbs and options. */
#ifndef CMD_DOCS_H
#define CMD_DOCS_H

void docs_man(void);
void docs_bash(void);
void docs_zsh(void);
void docs_fish(void);

#endif
