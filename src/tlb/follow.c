// SPDX-License-Identifier: MIT
#include "tlb/follow.h"

#include "os/os.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

// The emulated program's list of strings as one of ours; NULL: it is broken,
// which execve will say.
static char **copy_list(uint64_t guest_base, uint64_t list) {
    enum { MOST = 1 << 20 };
    char **words = NULL;
    for (size_t i = 0; list && i < MOST; i++) {
        uint64_t at;
        const uint64_t from = list + guest_base + i * sizeof at;
        char byte;
        if (bl_os_copy_own(&at, (const void *)(uintptr_t)from, sizeof at) != 0)
            break;
        char *word = at ? (char *)(uintptr_t)(at + guest_base) : NULL;
        char **grown = realloc(words, (i + 1) * sizeof *words);
        if (!grown || (word && bl_os_copy_own(&byte, word, 1) != 0)) {
            words = grown ? grown : words;
            break;
        }
        words = grown;
        words[i] = word;
        if (!word)
            return words;
    }
    free(words);
    return NULL;
}

void bl_follow_exec(const struct bl_emulator *e, uint64_t guest_base,
                    uint64_t path, uint64_t argv, uint64_t envp) {
    char own[PATH_MAX];
    char byte;
    const char *file = (const char *)(uintptr_t)(path + guest_base);
    // What cannot be found ends in the program's own execve, and its error.
    if (bl_os_copy_own(&byte, file, 1) != 0 || !realpath(file, own))
        return;
    char **list = copy_list(guest_base, argv);
    char **environment = copy_list(guest_base, envp);
    char **words = list && list[0] ? bl_emulator_words(e, file, list) : NULL;
    if (words)
        execve(e->file, words, environment ? environment : (char *[]){NULL});
    free(words);
    free(environment);
    free(list);
}
