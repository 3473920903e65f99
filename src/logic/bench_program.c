// SPDX-License-Identifier: MIT
//
// The programs of the source's Table I. The graphs of path/2: a binary tree of
// depth 17, a ladder of 1500 rungs (the source's "pyramid 2000" by its
// counts), a cycle of 2000, a grid of 35 by 35.
//
#include "logic/bench_program.h"

#include "logic/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct bl_bench_program bl_bench_programs[] = {
    {"join2", "Large Joins", NULL, false},
    {"mondial", "Large Joins", "synthetic: the data are lost", false},
    {"wordnet-clusters", "WordNet", NULL, false},
    {"wordnet-hypo", "WordNet", NULL, false},
    {"wordnet-holo", "WordNet", NULL, false},
    {"wordnet-hyper", "WordNet", NULL, false},
    {"wordnet-tropo", "WordNet", NULL, true},
    {"wordnet-mero", "WordNet", NULL, false},
    {"iproto", "Model Checking", "our own specification", false},
    {"leader", "Model Checking", "our own specification", true},
    {"sieve", "Model Checking", "our own specification", false},
    {"left-btree", "Path Left", NULL, false},
    {"left-pyramid", "Path Left", NULL, false},
    {"left-cycle", "Path Left", NULL, true},
    {"left-grid", "Path Left", NULL, true},
    {"right-btree", "Path Right", NULL, true},
    {"right-pyramid", "Path Right", NULL, false},
    {"right-cycle", "Path Right", NULL, false},
    {"right-grid", "Path Right", NULL, true},
    {"same-generation", "Newer", "not in the source", false},
    {"points-to", "Newer", "not in the source", false},
    {"parser", "Newer", "not in the source", false},
};
const size_t bl_bench_program_count = BL_ARRAY_LEN(bl_bench_programs);

static void edge(struct bl_out *o, int a, int b) {
    char text[48];
    snprintf(text, sizeof text, "edge(%d,%d).\n", a, b);
    bl_out_str(o, text);
}

static void btree(struct bl_out *o) {
    const int n = (1 << 17) - 1;
    for (int i = 1; i <= n / 2; i++) {
        edge(o, i, 2 * i);
        edge(o, i, 2 * i + 1);
    }
}

static void pyramid(struct bl_out *o) {
    const int n = 3000;
    for (int i = 1; i <= n; i++) {
        if (i % 2 == 1)
            edge(o, i, i + 1);
        if (i + 2 <= n)
            edge(o, i, i + 2);
    }
}

static void cycle(struct bl_out *o) {
    for (int i = 1; i <= 2000; i++)
        edge(o, i, i % 2000 + 1);
}

static void grid(struct bl_out *o) {
    enum { SIDE = 35 };
    static const int step[4][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};
    for (int r = 0; r < SIDE; r++) {
        for (int c = 0; c < SIDE; c++) {
            for (int k = 0; k < 4; k++) {
                const int y = r + step[k][0];
                const int x = c + step[k][1];
                if (y >= 0 && y < SIDE && x >= 0 && x < SIDE)
                    edge(o, r * SIDE + c + 1, y * SIDE + x + 1);
            }
        }
    }
}

static void path(struct bl_out *o, bool left,
                 void (*make_edges)(struct bl_out *o)) {
    bl_out_str(o, ":- table path/2.\n");
    bl_out_str(o, left ? "path(X,Z) :- path(X,Y), edge(Y,Z).\n"
                       : "path(X,Z) :- edge(X,Y), path(Y,Z).\n");
    bl_out_str(o, "path(X,Z) :- edge(X,Z).\n"
                  "run :- path(_,_), fail.\nrun.\n");
    make_edges(o);
}

// The end of a name: left-grid.
static const struct {
    const char *name;
    void (*make_edges)(struct bl_out *o);
} graphs[] = {
    {"btree", btree}, {"pyramid", pyramid}, {"cycle", cycle}, {"grid", grid}};

static bool path_program(const char *name, struct bl_out *out) {
    const bool left = strncmp(name, "left-", 5) == 0;
    if (!left && strncmp(name, "right-", 6) != 0)
        return false;
    for (size_t i = 0; i < BL_ARRAY_LEN(graphs); i++) {
        if (strcmp(strchr(name, '-') + 1, graphs[i].name) == 0) {
            path(out, left, graphs[i].make_edges);
            return true;
        }
    }
    return false;
}

// 19^5 answers of one call; the shape follows from the source's counts.
static void join2(struct bl_out *o) {
    bl_out_str(o, ":- table a/5.\n"
                  "a(A,B,C,D,E) :- p(A), p(B), p(C), p(D), p(E).\n"
                  "run :- a(_,_,_,_,_), fail.\nrun.\n");
    for (int i = 0; i < 19; i++) {
        char text[16];
        snprintf(text, sizeof text, "p(%d).\n", i);
        bl_out_str(o, text);
    }
}

bool bl_bench_program_text(const char *name, const char *folder,
                           struct bl_out *out) {
    if (path_program(name, out))
        return true;
    if (strcmp(name, "join2") == 0) {
        join2(out);
        return true;
    }
    if (folder == NULL)
        return false;
    char file[4096];
    snprintf(file, sizeof file, "%s/%s.pl", folder, name);
    size_t length;
    char *const text = bl_file_contents(file, &length);
    if (text == NULL)
        return false;
    bl_out_bytes(out, text, length);
    free(text);
    return true;
}
