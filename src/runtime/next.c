// SPDX-License-Identifier: MIT
#include "runtime/next.h"

#include "os/os.h"

#include <dlfcn.h>

uintptr_t bl_next(_Atomic(uintptr_t) *known, const char *name) {
    uintptr_t found = bl_load_relaxed(known);
    if (found == 0) {
        found = (uintptr_t)dlvsym(RTLD_NEXT, name, BL_NEXT_VERSION);
        if (found == 0)
            bl_fatal("a function of the C library is not to be found behind "
                     "ours");
        bl_store_relaxed(known, found);
    }
    return found;
}
