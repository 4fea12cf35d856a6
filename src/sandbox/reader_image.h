/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_READER_IMAGE_H
#define SANDBOX_READER_IMAGE_H

/* A static program for execveat(); its words are in reader/main.c. */
extern const unsigned char reader_image[], reader_image_end[];

#endif
