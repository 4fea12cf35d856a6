# SPDX-License-Identifier: Apache-2.0
# An R that waits in a sandbox of its own until somebody's program comes: started, used once. R reads
# this file, which is gone by then, as its program; loading descriptor 101 (loader.c) waits for the
# claim and has R's main loop go on with the program's text.
local({ unlink("/run/code", recursive = TRUE); loader <- "/proc/self/fd/101"; invisible(dyn.load(loader)); dyn.unload(loader) })
