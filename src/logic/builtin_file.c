// SPDX-License-Identifier: MIT
//
// Files and folders by their names. The working directory belongs to the
// process: all threads share it.
//
#include "logic/builtin.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int exists(struct bl_machine *m, bl_word path, bool folder) {
    bl_word name;
    struct stat info;
    if (bl_take_atom(m, path, &name) != BL_TRUE)
        return BL_THROW;
    if (stat(bl_atom_text(name), &info) != 0)
        return BL_FAIL;
    return S_ISDIR(info.st_mode) == folder ? BL_TRUE : BL_FAIL;
}

static int exists_file_1(struct bl_machine *m, bl_word *a) {
    return exists(m, a[0], false);
}

static int exists_directory_1(struct bl_machine *m, bl_word *a) {
    return exists(m, a[0], true);
}

static int delete_file_1(struct bl_machine *m, bl_word *a) {
    bl_word name;
    if (bl_take_atom(m, a[0], &name) != BL_TRUE)
        return BL_THROW;
    if (unlink(bl_atom_text(name)) == 0)
        return BL_TRUE;
    return bl_throw_existence(m, BL_ATOM_source_sink, name);
}

enum { NO_ACCESS = -1 };

static int take_access(struct bl_machine *m, bl_word a, int *access) {
    static const struct {
        const char *name;
        int access;
    } modes[] = {
        {"read", R_OK},    {"write", W_OK}, {"append", W_OK},
        {"execute", X_OK}, {"exist", F_OK}, {"none", NO_ACCESS},
    };
    bl_word mode;
    if (bl_take_atom(m, a, &mode) != BL_TRUE)
        return BL_THROW;
    for (size_t i = 0; i < BL_ARRAY_LEN(modes); i++) {
        if (strcmp(bl_atom_text(mode), modes[i].name) == 0) {
            *access = modes[i].access;
            return BL_TRUE;
        }
    }
    return bl_throw_domain(m, "io_mode", mode);
}

// Whether there is no such file yet, in a folder that takes one.
static bool may_be_made(const char *path) {
    const char *const slash = strrchr(path, '/');
    if (access(path, F_OK) == 0)
        return false;
    if (slash == NULL || slash == path)
        return access(slash == NULL ? "." : "/", W_OK) == 0;
    char *const folder = strndup(path, (size_t)(slash - path));
    const bool may = folder != NULL && access(folder, W_OK) == 0;
    free(folder);
    return may;
}

static int access_file_2(struct bl_machine *m, bl_word *a) {
    bl_word name;
    int wanted = NO_ACCESS;
    if (bl_take_atom(m, a[0], &name) != BL_TRUE ||
        take_access(m, a[1], &wanted) != BL_TRUE)
        return BL_THROW;
    const char *const path = bl_atom_text(name);
    const bool may = wanted == NO_ACCESS || access(path, wanted) == 0 ||
                     (wanted == W_OK && may_be_made(path));
    return may ? BL_TRUE : BL_FAIL;
}

// What the kernel refused.
static int throw_of_folder(struct bl_machine *m, bl_word name) {
    return errno == EACCES
               ? bl_throw_permission(m, BL_ATOM_access, BL_ATOM_directory, name)
               : bl_throw_existence(m, BL_ATOM_directory, name);
}

// '$directory_files'(Folder, Names): in the order the kernel has.
static int directory_files_2(struct bl_machine *m, bl_word *a) {
    bl_word name;
    bl_word list = BL_ATOM(nil);
    if (bl_take_atom(m, a[0], &name) != BL_TRUE)
        return BL_THROW;
    DIR *const folder = opendir(bl_atom_text(name));
    if (folder == NULL)
        return throw_of_folder(m, name);
    bool room = true;
    const struct dirent *e;
    while (room && (e = readdir(folder)) != NULL) {
        room = bl_heap_ensure(m, 2);
        if (room)
            list = bl_list_cell(m, bl_atom_str(e->d_name), list);
    }
    closedir(folder);
    return room ? bl_answer(m, a[1], list) : BL_THROW;
}

// With a slash at its end, as folders of names.
static bool current_folder(char *path, size_t size) {
    if (getcwd(path, size - 1) == NULL)
        return false;
    if (strcmp(path, "/") != 0)
        strcat(path, "/");
    return true;
}

static int working_directory_2(struct bl_machine *m, bl_word *a) {
    char path[PATH_MAX];
    bl_word new;
    if (!current_folder(path, sizeof path))
        return throw_of_folder(m, bl_atom_str("."));
    const bl_word old = bl_atom_str(path);
    const int r = bl_answer(m, a[0], old);
    if (r != BL_TRUE || bl_deref(a[1]) == old)
        return r;
    if (bl_take_atom(m, a[1], &new) != BL_TRUE)
        return BL_THROW;
    return chdir(bl_atom_text(new)) == 0 ? BL_TRUE : throw_of_folder(m, new);
}

void bl_builtins_file(void) {
    static const struct bl_builtin_row rows[] = {
        {"exists_file", 1, exists_file_1},
        {"exists_directory", 1, exists_directory_1},
        {"delete_file", 1, delete_file_1},
        {"access_file", 2, access_file_2},
        {"$directory_files", 2, directory_files_2},
        {"working_directory", 2, working_directory_2},
    };
    BL_DEFINE(rows);
}
