// SPDX-License-Identifier: MIT
//
// Subgoal sharing (SS): one call trie for all threads, in shared memory; below
// each of its leaves a frame per thread, with its answers in that thread's
// private memory. Threads meet only where they add calls.
// Source: [AreiasRocha-2012], section II.C.
//
#include "table/space.h"

static struct bl_subgoal *call(struct bl_table_thread *thread,
                               struct bl_table_view *view,
                               const uint64_t *tokens, size_t n, bool make) {
    return bl_entry_call(thread, view, tokens, n, make, false);
}

static void forget(struct bl_table_thread *thread, struct bl_subgoal *sg) {
    bl_answers_free(&thread->own, sg->answers);
}

static void free_shared(struct bl_memory *memory,
                        struct bl_shared_calls *calls) {
    bl_entry_free_shared(memory, calls, false);
}

const struct bl_design bl_design_ss = {.call = call,
                                       .forget = forget,
                                       .free_view = bl_entry_free_view,
                                       .unlink_view = bl_entry_unlink_view,
                                       .free_shared = free_shared,
                                       .call_root = bl_entry_call_root};
