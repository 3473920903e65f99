// SPDX-License-Identifier: MIT
//
// Coroutines with stacks of a few KiB that allocate and free, also where a
// report is wanted: then a free that is about to shrink the heap reads what
// backs it.
//
#include "bl_test.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK (64 * 1024)
#define LARGE 150 // of 3 MiB: more than is kept warm
#define SMALL 200
#define MARK 0xa5

static ucontext_t outside, inside;
static unsigned char stack[STACK];
static void *block[SMALL];

static void work(void) {
    for (int i = 0; i < LARGE; i++)
        block[i] = malloc((size_t)3 << 20);
    for (int i = 0; i < LARGE; i++)
        free(block[i]);
    for (int i = 0; i < SMALL; i++)
        block[i] = realloc(malloc((size_t)i * 1000), (size_t)1 << 20);
    for (int i = 0; i < SMALL; i++)
        free(block[i]);
}

static size_t stack_used(void (*function)(void)) {
    memset(stack, MARK, sizeof stack);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, function, 0);
    swapcontext(&outside, &inside);
    size_t unused = 0;
    while (unused < sizeof stack && stack[unused] == MARK)
        unused++;
    return sizeof stack - unused;
}

static void nothing(void) {}

TEST(four_kib_of_stack_will_do) {
    free(malloc(1)); // names are looked up, on this stack
    expect_size_le(stack_used(work) - stack_used(nothing), 4096);
}
