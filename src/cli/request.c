// SPDX-License-Identifier: MIT
#include "cli/request.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// A folder by its full path: the program may go to another one, and start
// others there.
static void set_runtime(struct bl_request *request,
                        const struct bl_runtime_option *option,
                        const char *value) {
    char path[PATH_MAX];
    const bool folder =
        option->kind == BL_KIND_FOLDER && realpath(value, path) != NULL;
    bl_request_set(request, option->variable, folder ? path : value);
}

enum bl_step bl_request_take(const struct bl_cursor *c,
                             struct bl_request *request) {
    if (c->runtime) {
        set_runtime(request, c->runtime, c->value);
        return BL_STEP_OPTION;
    }
    if (strcmp(c->option->name, "heap") != 0)
        return BL_STEP_END;
    if (bl_heap_parse(c->value, &request->heap))
        return BL_STEP_OPTION;
    bl_usage(c->command, "wrong value '%s' for --heap: one of %s", c->value,
             c->option->argument);
    return BL_STEP_WRONG;
}

int bl_request_program(const struct bl_cursor *c, struct bl_program *program) {
    if (c->at >= c->argc)
        return bl_usage(c->command, "no program given");
    const char *name = c->argv[c->at];
    char *path;
    const int error = bl_program_find(name, &path);
    if (error) {
        const bool plain = !strchr(name, '/');
        bl_say(c->command, "%s: %s", name,
               error == ENOENT && plain ? "not found on PATH"
                                        : strerror(error));
        free(path);
        return error == ENOENT || error == ENOTDIR ? BL_EXIT_NOT_FOUND
                                                   : BL_EXIT_NOT_EXECUTABLE;
    }
    bl_program_inspect(path, program);
    free(path);
    return 0;
}
