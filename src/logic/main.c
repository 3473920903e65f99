// SPDX-License-Identifier: MIT
#include "logic/engine.h"
#include "logic/reader.h"
#include "logic/tabling.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *goal = NULL;
    const char *file = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-g") == 0)
            goal = argv[++i];
        else
            file = argv[i];
    }
    struct bl_table_options o = {0};
    if (!bl_engine_start(&o))
        return 3;
    struct bl_machine *m = bl_engine_machine();
    if (file && bl_consult(m, file) > 0)
        return 2;
    if (!goal)
        return 0;
    char *text = malloc(strlen(goal) + 3);
    sprintf(text, "%s .", goal);
    struct bl_source s;
    bl_source_init(&s, "goal", text, strlen(text));
    struct bl_read_result r;
    if (bl_read_term(m, &s, &r) != BL_READ_TERM) {
        fprintf(stderr, "%s\n", r.error.message);
        return 2;
    }
    struct bl_query q;
    int st = bl_query_open(m, &q, r.term);
    if (st == BL_RUN_ERROR)
        bl_print_ball(m, NULL);
    struct bl_table_counts c;
    bl_table_count(m->tabler->thread, NULL, &c);
    printf("calls %lu nodes %lu unique %lu repeated %lu ansnodes %lu\n",
           c.calls, c.call_nodes, c.unique, c.repeated, c.answer_nodes);
    return st == BL_RUN_TRUE ? 0 : st == BL_RUN_FAIL ? 1 : 2;
}
