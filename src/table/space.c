// SPDX-License-Identifier: MIT
//
// The space, its threads and tables, and abolition.
//
// Private memory goes as a whole when its thread detaches or abolishes all;
// shared memory when the one thread attached abolishes all, or with the space.
// With malloc the same moments free block by block. `space.lock` keeps threads
// from attaching while shared tables go; one thread alone needs no more.
//
#include "table/space.h"

#include <stdlib.h>
#include <string.h>

static const struct bl_design *const designs[] = {
    [BL_TABLE_NS] = &bl_design_ns,
    [BL_TABLE_SS] = &bl_design_ss,
    [BL_TABLE_FS] = &bl_design_fs,
};

// ---- space

struct bl_table_space *
bl_table_space_new(const struct bl_table_options *options) {
    struct bl_table_space *const space =
        aligned_alloc(64, bl_align_up(sizeof(*space), 64));
    if (space == NULL)
        return NULL;
    memset(space, 0, sizeof(*space));
    if (options != NULL)
        space->options = *options;
    if (space->options.locks == BL_LOCKS_ARRAY) {
        const size_t bytes = BL_LOCK_COUNT * sizeof(*space->locks);
        space->locks = aligned_alloc(BL_LINE_BYTES, bytes);
        if (space->locks == NULL) {
            free(space);
            return NULL;
        }
        memset(space->locks, 0, bytes);
    }
    BL_CHECK(pthread_mutex_init(&space->lock, NULL) == 0);
    bl_pools_init(&space->pools, space->options.alloc, BL_POOL_SHARED);
    bl_memory_init(&space->ended, &space->pools, NULL, false);
    bl_memory_init(&space->entries, &space->pools, NULL, false);
    bl_store_relaxed(&space->epochs.now, 1);
    return space;
}

// Frees block by block what the pools would drop as a whole.
static void free_shared_tables(struct bl_memory *memory,
                               struct bl_table_space *space) {
    for (struct bl_table *t = bl_load_relaxed(&space->tables); t != NULL;
         t = t->next) {
        t->design->free_shared(memory, t);
        bl_buckets_free(memory, &t->more);
    }
}

void bl_table_space_delete(struct bl_table_space *space) {
    if (space == NULL)
        return;
    BL_CHECK(space->thread_count == 0);
    if (space->options.alloc == BL_ALLOC_MALLOC) {
        free_shared_tables(&space->entries, space);
        struct bl_table *table = bl_load_relaxed(&space->tables);
        while (table != NULL) {
            struct bl_table *const next = table->next;
            bl_memory_free(&space->entries, BL_TYPE_TABLE, 0, table);
            table = next;
        }
    }
    bl_pools_drop(&space->pools, BL_TYPE_COUNT);
    bl_retired_fini(&space->orphans);
    pthread_mutex_destroy(&space->lock);
    pthread_mutex_destroy(&space->pools.making);
    free(space->locks);
    free(space);
}

// ---- threads

static bool take_number(struct bl_table_space *space, unsigned *number) {
    for (unsigned i = 0; i < BL_ARRAY_LEN(space->numbers); i++) {
        if (space->numbers[i] == UINT64_MAX)
            continue;
        const unsigned bit = bl_lowest_bit(~space->numbers[i]);
        space->numbers[i] |= (uint64_t)1 << bit;
        *number = i * 64 + bit;
        return true;
    }
    return false;
}

static void leave_number(struct bl_table_space *space, unsigned number) {
    space->numbers[number / 64] &= ~((uint64_t)1 << number % 64);
}

static void init_thread(struct bl_table_thread *thread,
                        struct bl_table_space *space) {
    const bool one_by_one = space->options.one_by_one;
    memset(thread, 0, sizeof(*thread));
    thread->head.own = &thread->own;
    thread->head.common = &thread->common;
    thread->space = space;
    thread->retired.thread = thread;
    bl_pools_init(&thread->pools, space->options.alloc, BL_POOL_PRIVATE);
    bl_memory_init(&thread->own, &thread->pools, NULL, one_by_one);
    bl_memory_init(&thread->common, &space->pools, &thread->retired,
                   one_by_one);
}

struct bl_table_thread *bl_table_attach(struct bl_table_space *space) {
    struct bl_table_thread *const thread =
        aligned_alloc(64, bl_align_up(sizeof(*thread), 64));
    if (thread == NULL)
        return NULL;
    init_thread(thread, space);
    pthread_mutex_lock(&space->lock);
    const bool ok = take_number(space, &thread->number);
    if (ok) {
        // Relaxed: under the lock that whoever looks at it holds.
        bl_store_relaxed(&thread->retired.seen,
                         bl_load_acquire(&space->epochs.now));
        thread->next = space->threads;
        space->threads = thread;
        space->thread_count++;
    }
    pthread_mutex_unlock(&space->lock);
    if (ok)
        return thread;
    pthread_mutex_destroy(&thread->pools.making);
    free(thread);
    return NULL;
}

static _Atomic(void *) *view_cell(struct bl_table_thread *thread,
                                  struct bl_table *table, bool make) {
    return bl_bucket_cell(&thread->common, table->cell, BL_BUCKETS_TABLE,
                          &table->more, thread->number, make);
}

// Frees all that is the thread's own. Takes no lock: the cells it empties are
// this thread's.
static void drop_private(struct bl_table_thread *thread) {
    const bool pages = thread->space->options.alloc == BL_ALLOC_PAGES;
    struct bl_table_view *view = thread->views;
    while (view != NULL) {
        struct bl_table_view *const next = view->next;
        bl_store_release(view_cell(thread, view->table, false), NULL);
        if (pages) {
            view->table->design->unlink_view(thread, view);
        } else {
            view->table->design->free_view(thread, view);
            bl_memory_free(&thread->own, BL_TYPE_VIEW, 0, view);
        }
        view = next;
    }
    thread->views = NULL;
    if (!pages)
        return;
    bl_pools_drop(&thread->pools, BL_TYPE_COUNT);
    bl_memory_init(&thread->own, &thread->pools, NULL, thread->own.one_by_one);
}

static void unlist_thread(struct bl_table_thread *thread) {
    struct bl_table_thread **link = &thread->space->threads;
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    thread->space->thread_count--;
}

void bl_table_detach(struct bl_table_thread *thread) {
    struct bl_table_space *const space = thread->space;
    drop_private(thread);
    pthread_mutex_lock(&space->lock);
    unlist_thread(thread);
    leave_number(space, thread->number);
    if (space->thread_count == 0) {
        bl_retired_hand_over(&space->orphans, &thread->retired);
        bl_retired_flush(&thread->retired);
    } else {
        bl_retired_hand_over(&thread->retired, &space->orphans);
    }
    bl_memory_merge(&space->ended, &thread->common);
    space->ended_locks.taken += bl_load_relaxed(&thread->locks_taken);
    space->ended_locks.failed += bl_load_relaxed(&thread->locks_failed);
    pthread_mutex_unlock(&space->lock);
    bl_retired_fini(&thread->retired);
    pthread_mutex_destroy(&thread->pools.making);
    free(thread);
}

// ---- tables

struct bl_table *bl_table_new(struct bl_table_space *space, const char *name,
                              enum bl_table_design design, void *user) {
    pthread_mutex_lock(&space->lock);
    struct bl_table *const table =
        bl_memory_alloc(&space->entries, BL_TYPE_TABLE, 0);
    if (table != NULL) {
        memset(table, 0, sizeof(*table));
        table->space = space;
        table->design = designs[design];
        table->kind = design;
        table->user = user;
        strncpy(table->name, name, sizeof(table->name) - 1);
        bl_node_init_root(&table->root);
        table->next = bl_load_relaxed(&space->tables);
        // Release: pairs with the acquire of whoever walks the tables.
        bl_store_release(&space->tables, table);
    }
    pthread_mutex_unlock(&space->lock);
    return table;
}

const char *bl_table_name(const struct bl_table *table) { return table->name; }

void *bl_table_user(const struct bl_table *table) { return table->user; }

struct bl_table_view *bl_view_find(struct bl_table_thread *thread,
                                   struct bl_table *table) {
    _Atomic(void *) *const cell = view_cell(thread, table, false);
    // Relaxed: only this thread uses the cell.
    return cell == NULL ? NULL : bl_load_relaxed(cell);
}

static struct bl_table_view *ensure_view(struct bl_table_thread *thread,
                                         struct bl_table *table) {
    _Atomic(void *) *const cell = view_cell(thread, table, true);
    if (cell == NULL)
        return NULL;
    struct bl_table_view *view = bl_load_relaxed(cell);
    if (BL_LIKELY(view != NULL))
        return view;
    view = bl_memory_alloc(&thread->own, BL_TYPE_VIEW, 0);
    if (view == NULL)
        return NULL;
    view->table = table;
    view->subgoals = NULL;
    bl_node_init_root(&view->root);
    view->next = thread->views;
    thread->views = view;
    bl_store_relaxed(cell, view);
    return view;
}

struct bl_subgoal *bl_table_call(struct bl_table_thread *thread,
                                 struct bl_table *table, const uint64_t *tokens,
                                 size_t n) {
    BL_REQUIRE(thread->space == table->space);
    struct bl_table_view *const view = ensure_view(thread, table);
    return view == NULL ? NULL
                        : table->design->call(thread, view, tokens, n, true);
}

struct bl_subgoal *bl_table_find_call(struct bl_table_thread *thread,
                                      struct bl_table *table,
                                      const uint64_t *tokens, size_t n) {
    struct bl_table_view *const view = bl_view_find(thread, table);
    return view == NULL ? NULL
                        : table->design->call(thread, view, tokens, n, false);
}

// ---- abolition

static bool is_evaluating(const struct bl_table_view *view) {
    for (const struct bl_subgoal *sg = view->subgoals; sg != NULL;
         sg = sg->next)
        if (sg->state == BL_EVALUATING)
            return true;
    return false;
}

static void unlist_view(struct bl_table_thread *thread,
                        struct bl_table_view *view) {
    struct bl_table_view **link = &thread->views;
    while (*link != view)
        link = &(*link)->next;
    *link = view->next;
}

bool bl_table_abolish(struct bl_table_thread *thread, struct bl_table *table) {
    struct bl_table_view *const view = bl_view_find(thread, table);
    if (view != NULL && is_evaluating(view))
        return false;
    if (view != NULL) {
        table->design->free_view(thread, view);
        bl_store_relaxed(view_cell(thread, table, false), NULL);
        unlist_view(thread, view);
        bl_memory_free(&thread->own, BL_TYPE_VIEW, 0, view);
    }
    struct bl_table_space *const space = thread->space;
    pthread_mutex_lock(&space->lock);
    if (space->thread_count == 1) {
        bl_retired_hand_over(&space->orphans, &thread->retired);
        bl_retired_flush(&thread->retired);
        table->design->free_shared(&thread->common, table);
    }
    pthread_mutex_unlock(&space->lock);
    return true;
}

// Drops every shared pool but that of the table entries.
static void drop_shared_pools(struct bl_table_thread *thread) {
    struct bl_table_space *const space = thread->space;
    for (struct bl_table *t = bl_load_relaxed(&space->tables); t != NULL;
         t = t->next) {
        bl_node_init_root(&t->root);
        bl_store_relaxed(&t->entries, NULL);
        bl_store_relaxed(&t->more, NULL);
    }
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++)
        if (type != BL_TYPE_TABLE)
            bl_pools_drop(&space->pools, (enum bl_table_type)type);
    bl_memory_init(&space->ended, &space->pools, NULL, false);
    bl_memory_init(&thread->common, &space->pools, &thread->retired,
                   thread->common.one_by_one);
}

bool bl_table_abolish_all(struct bl_table_thread *thread) {
    for (struct bl_table_view *v = thread->views; v != NULL; v = v->next)
        if (is_evaluating(v))
            return false;
    drop_private(thread);
    struct bl_table_space *const space = thread->space;
    pthread_mutex_lock(&space->lock);
    if (space->thread_count == 1) {
        bl_retired_hand_over(&space->orphans, &thread->retired);
        bl_retired_flush(&thread->retired);
        if (space->options.alloc == BL_ALLOC_PAGES)
            drop_shared_pools(thread);
        else
            free_shared_tables(&thread->common, space);
    }
    pthread_mutex_unlock(&space->lock);
    return true;
}
