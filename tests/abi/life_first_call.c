// SPDX-License-Identifier: MIT
//
// The first calls a process makes: in .preinit_array, in a constructor of the
// highest priority, in a late one, and in main. All blocks must live side by
// side and be freed in main. (For IFUNC resolvers see life_resolver.c.)
//
#include "bl_test.h"
#include "sizes.h"

#include <stdlib.h>

enum moment { PREINIT, EARLY, LATE, MOMENTS };

static void *block[MOMENTS];

static void allocate_at(enum moment m, size_t size) {
    block[m] = malloc(size);
    if (block[m] != NULL)
        fill_pattern(block[m], size, (unsigned)m);
    void *const passing = calloc(3, size);
    block[m] = realloc(block[m], size + 100);
    free(passing);
}

static void at_preinit(int argc, char **argv, char **env) {
    (void)argc;
    (void)argv;
    (void)env;
    allocate_at(PREINIT, 1000);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const preinit_entry)(int, char **,
                                                         char **) = at_preinit;

__attribute__((constructor(101))) static void early(void) {
    allocate_at(EARLY, 100000);
}

__attribute__((constructor(65535))) static void late(void) {
    allocate_at(LATE, 3 * MIB);
}

TEST(blocks_of_all_moments_hold) {
    static const size_t size[] = {1000, 100000, 3 * MIB};
    for (int m = PREINIT; m < MOMENTS; m++) {
        assert_ptr_ne(block[m], NULL);
        expect_size_eq(first_wrong(block[m], size[m] - 1, size[m], (unsigned)m),
                       size[m] - 1);
        free(block[m]);
    }
    for (size_t size_now = 1; size_now < 10 * MIB; size_now *= 3)
        free(malloc(size_now));
}
