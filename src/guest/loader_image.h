/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_LOADER_IMAGE_H
#define GUEST_LOADER_IMAGE_H

extern const unsigned char loader_image[], loader_image_end[];

#endif
