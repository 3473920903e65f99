// SPDX-License-Identifier: MIT
//
// The start of the engine and of its machines.
//
#include "logic/engine.h"

#include "logic/clause.h"
#include "logic/limit.h"
#include "logic/op.h"
#include "logic/profile.h"
#include "logic/stream.h"
#include "logic/tabling.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct bl_engine bl_engine;

bool bl_unknown_is_error(const struct bl_pred *p) {
    (void)p;
    return bl_engine.unknown == BL_UNKNOWN_ERROR;
}

void bl_warn_of_unknown(const struct bl_pred *p) {
    if (bl_engine.unknown == BL_UNKNOWN_WARNING)
        fprintf(stderr, "leaflog: warning: no procedure %s/%u\n",
                bl_atom_text(bl_functor_name(p->functor)), p->arity);
}

// Runaway recursion shall end in an error and not in swapping.
static size_t default_memory(void) {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const size_t half = pages > 0 ? (size_t)pages * BL_BASE_SIZE / 2 : SIZE_MAX;
    return half < BL_DEFAULT_MEMORY ? half : BL_DEFAULT_MEMORY;
}

struct bl_machine *bl_engine_machine(void) {
    struct bl_machine *const m = bl_machine_new();
    if (m == NULL)
        return NULL;
    m->memory_limit =
        bl_engine.memory_limit != 0 ? bl_engine.memory_limit : default_memory();
    m->collect_every = bl_engine.collect_every;
    if (m->collect_every != 0)
        bl_store_release(&m->heap_soft, NULL);
    if (!bl_tabling_open(m, bl_engine.space) || !bl_io_open(m)) {
        bl_tabling_close(m);
        bl_machine_delete(m);
        return NULL;
    }
    return m;
}

void bl_engine_machine_end(struct bl_machine *m) {
    (void)bl_limit_set_deadline(m, 0);
    bl_mutexes_unlock(m);
    bl_findall_drop_all(m);
    bl_globals_drop(m);
    bl_io_close(m);
    bl_tabling_close(m);
    bl_machine_delete(m);
}

bool bl_table_option(struct bl_table_options *t, const char *arg) {
    enum { DESIGN, LOCKS, ALLOC, SPIN, ONE_BY_ONE };
    static const struct {
        const char *arg;
        int field, value;
    } options[] = {
        {"--tables=ns", DESIGN, BL_TABLE_NS},
        {"--tables=ss", DESIGN, BL_TABLE_SS},
        {"--tables=fs", DESIGN, BL_TABLE_FS},
        {"--locks=node", LOCKS, BL_LOCKS_NODE},
        {"--locks=array", LOCKS, BL_LOCKS_ARRAY},
        {"--alloc=pages", ALLOC, BL_ALLOC_PAGES},
        {"--alloc=malloc", ALLOC, BL_ALLOC_MALLOC},
        {"--spin", SPIN, true},
        {"--one-by-one", ONE_BY_ONE, true},
    };
    size_t i = 0;
    while (i < BL_ARRAY_LEN(options) && strcmp(arg, options[i].arg) != 0)
        i++;
    if (i == BL_ARRAY_LEN(options))
        return false;
    if (options[i].field == DESIGN)
        t->design = (enum bl_table_design)options[i].value;
    else if (options[i].field == LOCKS)
        t->locks = (enum bl_table_locks)options[i].value;
    else if (options[i].field == ALLOC)
        t->alloc = (enum bl_table_alloc)options[i].value;
    else if (options[i].field == SPIN)
        t->spin = true;
    else
        t->one_by_one = true;
    return true;
}

bool bl_engine_start(const struct bl_table_options *options) {
    bl_atoms_init();
    bl_ops_init();
    bl_engine.table_options = *options;
    bl_engine.space = bl_table_space_new(options);
    if (bl_engine.space == NULL)
        return false;
    bl_builtins_init();
    struct bl_machine *const m = bl_engine_machine();
    if (m == NULL)
        return false;
    int errors = bl_consult_text(m, "library", bl_library_text,
                                 strlen(bl_library_text), true);
    errors += bl_consult_text(m, "library_data", bl_library_data_text,
                              strlen(bl_library_data_text), true);
    BL_CHECK_EQ(errors, 0);
    bl_engine_machine_end(m);
    return true;
}
