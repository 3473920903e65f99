// SPDX-License-Identifier: MIT
//
// Full sharing (FS): one call trie, and for each call one subgoal entry with
// one answer trie, in shared memory. A thread's frame holds only its own state
// of evaluation. Each thread evaluates by itself and never waits for another
// to complete; what one has found all others find in the trie and on the list.
// Source: [AreiasRocha-2012], section II.D.
//
#include "table/space.h"

static struct bl_subgoal *call(struct bl_table_thread *thread,
                               struct bl_table_view *view,
                               const uint64_t *tokens, size_t n, bool make) {
    struct bl_subgoal *const sg =
        bl_entry_call(thread, view, tokens, n, make, true);
    // Acquire: pairs with the release of the thread that has completed it.
    if (sg != NULL && sg->state == BL_FRESH &&
        bl_load_acquire(&sg->entry->complete))
        sg->state = BL_COMPLETE;
    return sg;
}

// Each answer found so far is true, and others may be reading them.
static void forget(struct bl_table_thread *thread, struct bl_subgoal *sg) {
    (void)thread;
    (void)sg;
}

static void free_shared(struct bl_memory *memory,
                        struct bl_shared_calls *calls) {
    bl_entry_free_shared(memory, calls, true);
}

const struct bl_design bl_design_fs = {.call = call,
                                       .forget = forget,
                                       .free_view = bl_entry_free_view,
                                       .unlink_view = bl_entry_unlink_view,
                                       .free_shared = free_shared,
                                       .call_root = bl_entry_call_root};
