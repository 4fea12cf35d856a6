/* SPDX-License-Identifier: Apache-2.0 */
/* A lock as a bill of materials, for other tools. Pure. */
#ifndef DEPS_SBOM_H
#define DEPS_SBOM_H

#include <stdint.h>

#include "base/value.h"

/* "cyclonedx" (1.5) or "spdx" (2.3), as JSON; `lock` has been checked. NULL: no such format. */
struct value *sbom_of(const struct value *lock, const char *format, uint64_t now_ms);

#endif
