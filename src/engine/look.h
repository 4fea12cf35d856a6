/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that looks at what commands in the background print (wire/look.h), for alerts. It has
 * no rights, no files and four system calls: whoever finds an error in the rules of alert/ with his
 * output can make it say what it likes, and nothing else.
 */
#ifndef ENGINE_LOOK_H
#define ENGINE_LOOK_H

/* Until the other end is closed; does not return. The caller has given up what rights he had. */
__attribute__((noreturn)) void look_run(int sock);

#endif
