// SPDX-License-Identifier: MIT
//
// Sizes of the structs that the fast paths touch, and where in them the hot
// fields lie. check_goldens.py compares the print-out.
//
#include "heap/heap.h"
#include "page/page.h"
#include "reservoir/reservoir.h"

#include <stdio.h>

#define SIZE(type) printf("sizeof %s %zu\n", #type, sizeof(struct type))
#define OFFSET(type, field)                                                    \
    printf("offset %s.%s %zu\n", #type, #field, offsetof(struct type, field))

int main(void) {
    SIZE(bl_page);
    OFFSET(bl_page, free);
    OFFSET(bl_page, owner);
    OFFSET(bl_page, used);
    OFFSET(bl_page, back);
    OFFSET(bl_page, block_bytes);
    OFFSET(bl_page, reciprocal);
    OFFSET(bl_page, remote);
    SIZE(bl_block);
    SIZE(bl_entry);
    SIZE(bl_local);
    SIZE(bl_pool);
    SIZE(bl_run);
    printf("classes %u, largest %zu\n", (unsigned)BL_CLASSES,
           (size_t)BL_CLASS_MAX);
    return 0;
}
