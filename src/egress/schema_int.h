/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy's document may say: the one validator, for YAML and for JSON. */
#ifndef EGRESS_SCHEMA_INT_H
#define EGRESS_SCHEMA_INT_H

#include "egress/doc.h"
#include "egress/yaml.h"

int schema_load(struct policy *p, const struct doc *d, const char *source,
		const struct policy_presets *presets, struct err *e);

#endif
