// SPDX-License-Identifier: MIT
//
// Programs that leave by _exit skip destructors; solvers do so to save the time
// of freeing their memory. The report is written all the same. Of the shared
// library only: in a static program the C library's own _exit stays.
//
#include "os/os.h"
#include "runtime/runtime.h"

#ifndef BL_STATIC_RUNTIME

BL_NORETURN BL_EXPORT void _exit(int status);
BL_NORETURN BL_EXPORT void _Exit(int status);

void _exit(int status) {
    bl_runtime_end();
    bl_os_exit(status);
}

void _Exit(int status) { _exit(status); }

#endif
