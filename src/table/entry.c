// SPDX-License-Identifier: MIT
//
// Subgoal entries: what SS and FS have in common. An entry hangs below the
// last node of a shared call trie and has a cell per thread for that thread's
// frame. Entries are added under no lock (an exchange decides who was first)
// and removed with the whole trie, when no thread has a view of it.
//
#include "table/space.h"
#include "table/trie_parts.h"

static struct bl_trie_node *find_call(struct bl_table_thread *thread,
                                      struct bl_shared_calls *calls,
                                      const uint64_t *tokens, size_t n,
                                      bool make) {
    bl_retired_enter(&thread->retired, &thread->space->epochs);
    struct bl_trie_node *node = &calls->root;
    for (size_t i = 0; i < n && node != NULL; i++)
        node = make ? bl_shared_step(thread, BL_TYPE_CALL_NODE, node, tokens[i])
                    : bl_kids_find(bl_load_acquire(&node->kids), tokens[i]);
    return node;
}

static void push_entry(struct bl_shared_calls *calls,
                       struct bl_subgoal_entry *entry) {
    // Relaxed: the exchange checks it.
    entry->next = bl_load_relaxed(&calls->entries);
    // Pairs with the acquire of whoever walks the list.
    while (!bl_cas_weak_release(&calls->entries, &entry->next, entry)) {
    }
}

static struct bl_subgoal_entry *new_entry(struct bl_memory *memory,
                                          struct bl_trie_node *call,
                                          bool with_answers) {
    struct bl_subgoal_entry *const entry = bl_memory_alloc(
        memory, with_answers ? BL_TYPE_SHARED_ENTRY : BL_TYPE_ENTRY, 0);
    if (entry == NULL)
        return NULL;
    entry->call = call;
    bl_store_relaxed(&entry->complete, 0);
    bl_store_relaxed(&entry->more, NULL);
    for (unsigned i = 0; i < BL_BUCKETS_ENTRY; i++)
        bl_store_relaxed(&entry->cell[i], NULL);
    if (with_answers)
        bl_answers_init(entry->answers, true);
    return entry;
}

// The entry of a call's last node, made if there is none; NULL without memory.
static struct bl_subgoal_entry *ensure_entry(struct bl_memory *memory,
                                             struct bl_shared_calls *calls,
                                             struct bl_trie_node *call,
                                             bool with_answers) {
    struct bl_subgoal_entry *const entry =
        new_entry(memory, call, with_answers);
    if (entry == NULL)
        return NULL;
    void *there = NULL;
    // Pairs with the acquire loads of `data` in this file.
    if (bl_cas_strong_acq_rel(&call->data, &there, entry)) {
        push_entry(calls, entry);
        return entry;
    }
    bl_memory_free(memory, with_answers ? BL_TYPE_SHARED_ENTRY : BL_TYPE_ENTRY,
                   0, entry);
    return there;
}

struct bl_subgoal *bl_entry_call(struct bl_table_thread *thread,
                                 struct bl_table_view *view,
                                 const uint64_t *tokens, size_t n, bool make,
                                 bool with_answers) {
    struct bl_shared_calls *const calls = view->calls;
    struct bl_memory *const memory = &thread->common;
    struct bl_trie_node *const node = find_call(thread, calls, tokens, n, make);
    if (node == NULL)
        return NULL;
    struct bl_subgoal_entry *entry = bl_load_acquire(&node->data);
    if (entry == NULL && make)
        entry = ensure_entry(memory, calls, node, with_answers);
    if (entry == NULL)
        return NULL;
    _Atomic(void *) *const cell =
        bl_bucket_cell(memory, entry->cell, BL_BUCKETS_ENTRY, &entry->more,
                       thread->number, make);
    if (cell == NULL)
        return NULL;
    // Relaxed: only this thread uses the cell.
    struct bl_subgoal *sg = bl_load_relaxed(cell);
    if (sg == NULL && make) {
        sg = bl_subgoal_new(thread, view, node, entry);
        bl_store_relaxed(cell, sg);
    }
    return sg;
}

void bl_entry_unlink_view(struct bl_table_thread *thread,
                          struct bl_table_view *view) {
    for (struct bl_subgoal *sg = view->subgoals; sg != NULL; sg = sg->next) {
        _Atomic(void *) *const cell =
            bl_bucket_cell(&thread->common, sg->entry->cell, BL_BUCKETS_ENTRY,
                           &sg->entry->more, thread->number, false);
        BL_ASSERT(cell != NULL && bl_load_relaxed(cell) == sg);
        // Release: whoever gets this thread's number finds the cell empty; it
        // is handed on under space.lock.
        bl_store_release(cell, NULL);
    }
}

void bl_entry_free_view(struct bl_table_thread *thread,
                        struct bl_table_view *view) {
    bl_entry_unlink_view(thread, view);
    bl_subgoals_free(thread, view);
}

void bl_entry_free_shared(struct bl_memory *memory,
                          struct bl_shared_calls *calls, bool with_answers) {
    struct bl_subgoal_entry *entry = bl_load_acquire(&calls->entries);
    while (entry != NULL) {
        struct bl_subgoal_entry *const next = entry->next;
        if (with_answers)
            bl_answers_free(memory, entry->answers);
        bl_buckets_free(memory, &entry->more);
        bl_memory_free(memory,
                       with_answers ? BL_TYPE_SHARED_ENTRY : BL_TYPE_ENTRY, 0,
                       entry);
        entry = next;
    }
    bl_trie_free(memory, BL_TYPE_CALL_NODE, &calls->root, false);
}

struct bl_trie_node *bl_entry_call_root(struct bl_table_view *view) {
    return &view->calls->root;
}

// ---- buckets

static struct bl_buckets *ensure_block(struct bl_memory *memory,
                                       _Atomic(struct bl_buckets *) *link) {
    struct bl_buckets *const block =
        bl_memory_alloc(memory, BL_TYPE_BUCKETS, 0);
    if (block == NULL)
        return NULL;
    bl_store_relaxed(&block->next, NULL);
    for (unsigned i = 0; i < BL_BUCKETS_BLOCK; i++)
        bl_store_relaxed(&block->cell[i], NULL);
    struct bl_buckets *there = NULL;
    // Pairs with the acquire in `bl_bucket_cell`.
    if (bl_cas_strong_acq_rel(link, &there, block))
        return block;
    bl_memory_free(memory, BL_TYPE_BUCKETS, 0, block);
    return there;
}

_Atomic(void *) *bl_bucket_cell(struct bl_memory *memory,
                                _Atomic(void *) *direct, unsigned direct_count,
                                _Atomic(struct bl_buckets *) *more,
                                unsigned number, bool make) {
    if (number < direct_count)
        return &direct[number];
    number -= direct_count;
    for (;; number -= BL_BUCKETS_BLOCK) {
        // Acquire: pairs with the exchange in `ensure_block`.
        struct bl_buckets *block = bl_load_acquire(more);
        if (block == NULL && make)
            block = ensure_block(memory, more);
        if (block == NULL)
            return NULL;
        if (number < BL_BUCKETS_BLOCK)
            return &block->cell[number];
        more = &block->next;
    }
}

void bl_buckets_free(struct bl_memory *memory,
                     _Atomic(struct bl_buckets *) *more) {
    struct bl_buckets *block = bl_load_acquire(more);
    while (block != NULL) {
        struct bl_buckets *const next = bl_load_relaxed(&block->next);
        bl_memory_free(memory, BL_TYPE_BUCKETS, 0, block);
        block = next;
    }
    bl_store_relaxed(more, NULL);
}
