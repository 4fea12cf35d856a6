/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEPS_SCANNERS_H
#define DEPS_SCANNERS_H

/* Each prints one JSON document; scan.py says which. */
extern const char scan_python[], scan_node[], scan_r[];

#endif
