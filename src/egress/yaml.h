/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy files. YAML is read by libyaml, which only yaml.c sees, into a tree that knows its lines
 * (egress/doc.h); JSON values become the same tree; one validator (egress/schema.c) makes rules of
 * it. Anchors, aliases, tags, several documents, deep nesting and large files are refused.
 */
#ifndef EGRESS_YAML_H
#define EGRESS_YAML_H

#include <stddef.h>

#include "base/err.h"
#include "base/value.h"
#include "egress/policy.h"

#define POLICY_FILE_MAX (4u << 20)

/* A preset names a tool (pip, npm, apt, git); who calls knows where the tool goes on this host.
 * Adds rules to the policy. NULL: presets are refused. */
struct policy_presets {
	int (*add)(struct policy *p, const char *preset, const char *source, unsigned line,
		   void *arg, struct err *e);
	void *arg;
};

/* Adds the rules of a text to `p`; `source` is the file's name in errors and verdicts. After an
 * error the policy is not to be used. */
int policy_load_yaml(struct policy *p, const char *text, size_t len, const char *source,
		     const struct policy_presets *presets, struct err *e);
int policy_load_value(struct policy *p, const struct value *v, const char *source,
		      const struct policy_presets *presets, struct err *e);

#endif
