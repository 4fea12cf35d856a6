/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of ours that know a package manager; they run in a sandbox (engine/deps_box.h). */
#ifndef DEPS_DRIVERS_H
#define DEPS_DRIVERS_H

extern const char deps_driver_python[], deps_driver_node[], deps_driver_r[], deps_driver_apt[];
/* What a directory says that it needs: engine/deps_kind.h says how. */
extern const char deps_manifest_python[], deps_manifest_node[], deps_manifest_r[];

#endif
