// SPDX-License-Identifier: MIT
//
// The counts of `--profile`, and their table.
//
#include "logic/profile.h"

#include <stdlib.h>

bool bl_profiling;

void bl_profile_call(struct bl_pred *p) {
    // a count only; nothing is published with it
    bl_add_relaxed(&p->calls, 1);
}

static int by_calls(const void *a, const void *b) {
    const struct bl_pred *const p = *(struct bl_pred *const *)a;
    const struct bl_pred *const q = *(struct bl_pred *const *)b;
    return (p->calls < q->calls) - (p->calls > q->calls);
}

void bl_profile_print(FILE *out) {
    size_t n = 0;
    for (struct bl_pred *p = bl_pred_first(); p != NULL; p = p->next)
        n += p->calls > 0;
    struct bl_pred **const list = malloc((n + 1) * sizeof *list);
    if (list == NULL)
        return;
    size_t i = 0;
    for (struct bl_pred *p = bl_pred_first(); p != NULL && i < n; p = p->next)
        if (p->calls > 0)
            list[i++] = p;
    qsort(list, i, sizeof list[0], by_calls);
    fprintf(out, "%14s  predicate\n", "calls");
    for (size_t k = 0; k < i; k++)
        fprintf(out, "%14llu  %s/%u\n", (unsigned long long)list[k]->calls,
                bl_atom_text(bl_functor_name(list[k]->functor)),
                list[k]->arity);
    free(list);
}
