// SPDX-License-Identifier: MIT
#include "cli/installed.h"

#include "os/machine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef BL_LIBDIR
#define BL_LIBDIR "/usr/local/lib"
#endif
// The library folder as seen from the folder that holds bin.
#ifndef BL_LIBDIR_NAME
#define BL_LIBDIR_NAME "lib"
#endif

// `name` as seen from so many folders above this command; NULL: not there.
static char *from_command(int up, const char *folder, const char *name) {
    char own[PATH_MAX];
    if (!bl_machine_own_path(own, sizeof own))
        return NULL;
    for (int i = 0; i <= up; i++) {
        char *slash = strrchr(own, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    char *file = bl_xprintf("%s/%s/%s", own, folder, name);
    if (access(file, F_OK) == 0)
        return file;
    free(file);
    return NULL;
}

char *bl_installed_command(const char *name) {
    return from_command(0, ".", name);
}

char *bl_installed_library(const char *name) {
    char *file = from_command(1, "lib", name);
    if (!file)
        file = from_command(1, BL_LIBDIR_NAME, name);
    return file ? file : bl_xprintf("%s/%s", BL_LIBDIR, name);
}

char *bl_installed_headers(void) {
    char *folder = from_command(1, "include", "bigleaf");
    if (folder)
        *strrchr(folder, '/') = '\0';
    return folder;
}
