// SPDX-License-Identifier: MIT
//
// malloc in an IFUNC resolver: the dynamic linker calls it while it still
// relocates, before any constructor of any library, the runtime's included.
// The program is linked with -z now and calls malloc through the global
// offset table, whose slot is bound before the IRELATIVE relocation, which
// the linker processes last.
//
#include "bl_test.h"

#include <stdlib.h>
#include <string.h>

static char *early_block;

static int resolved_answer(void) { return 42; }

static int (*resolve_answer(void))(void) {
    early_block = malloc(500);
    if (early_block != NULL)
        memset(early_block, 'r', 500);
    free(malloc(30));
    return resolved_answer;
}

int answer(void) __attribute__((ifunc("resolve_answer")));

TEST(block_of_the_resolver_holds) {
    expect_int_eq(answer(), 42);
    assert_ptr_ne(early_block, NULL);
    for (int i = 0; i < 500; i++)
        assert_int_eq(early_block[i], 'r');
    early_block = realloc(early_block, 100000);
    assert_ptr_ne(early_block, NULL);
    expect_int_eq(early_block[499], 'r');
    free(early_block);
}
