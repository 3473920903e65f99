// SPDX-License-Identifier: MIT
//
// Tables, the threads' views of them, and abolition.
//
// A thread gets its view of a table with its first call, and with it, under SS
// and FS, the table's current call trie. To abolish is to give up the view and
// to put the current trie out of service, so that this thread never meets an
// old answer again, whatever the others do; they keep the trie they have a view
// of. Who gives up the last view of a trie out of service frees it, and nobody
// else can be reading it then. `space.lock` guards which trie is current and
// the number of views; it is taken once per view.
//
#include "table/space.h"

#include "os/os.h"

#include <string.h>

static const struct bl_design *const designs[] = {
    [BL_TABLE_NS] = &bl_design_ns,
    [BL_TABLE_SS] = &bl_design_ss,
    [BL_TABLE_FS] = &bl_design_fs,
};

// ---- tables

struct bl_table *bl_table_new(struct bl_table_space *space, const char *name,
                              enum bl_table_design design, void *user) {
    if ((unsigned)design >= BL_ARRAY_LEN(designs))
        return NULL;
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
        table->next = bl_load_relaxed(&space->tables);
        // Release: pairs with the acquire of whoever walks the tables.
        bl_store_release(&space->tables, table);
    }
    pthread_mutex_unlock(&space->lock);
    return table;
}

const char *bl_table_name(const struct bl_table *table) { return table->name; }

void *bl_table_user(const struct bl_table *table) { return table->user; }

// ---- shared call tries

// The table's current trie with one more view; NULL without memory.
static struct bl_shared_calls *join_calls(struct bl_table_thread *thread,
                                          struct bl_table *table) {
    pthread_mutex_lock(&table->space->lock);
    struct bl_shared_calls *calls = table->calls;
    if (calls == NULL) {
        calls = bl_memory_alloc(&thread->common, BL_TYPE_CALLS, 0);
        if (calls != NULL) {
            memset(calls, 0, sizeof(*calls));
            bl_node_init_root(&calls->root);
            table->calls = calls;
        }
    }
    if (calls != NULL)
        calls->views++;
    pthread_mutex_unlock(&table->space->lock);
    return calls;
}

static void free_calls(struct bl_memory *memory, struct bl_table *table,
                       struct bl_shared_calls *calls) {
    table->design->free_shared(memory, calls);
    bl_memory_free(memory, BL_TYPE_CALLS, 0, calls);
}

// One view less of `calls`, which may be NULL, and with `abolish` the current
// trie out of service. Frees what nobody can reach any more.
static void leave_calls(struct bl_table_thread *thread, struct bl_table *table,
                        struct bl_shared_calls *calls, bool abolish) {
    struct bl_shared_calls *dead[2] = {NULL, NULL};
    pthread_mutex_lock(&table->space->lock);
    struct bl_shared_calls *const current = table->calls;
    if (calls != NULL) {
        calls->views--;
        if (calls->views == 0 && bl_load_relaxed(&calls->abolished))
            dead[0] = calls;
    }
    if (abolish && current != NULL) {
        // Pairs with the acquire of `bl_table_is_outdated`.
        bl_store_release(&current->abolished, 1);
        table->calls = NULL;
        if (current->views == 0)
            dead[1] = current;
    }
    pthread_mutex_unlock(&table->space->lock);
    for (unsigned i = 0; i < 2; i++)
        if (dead[i] != NULL)
            free_calls(&thread->common, table, dead[i]);
}

void bl_tables_free(struct bl_table_space *space) {
    struct bl_memory *const memory = &space->entries;
    struct bl_table *table = bl_load_relaxed(&space->tables);
    while (table != NULL) {
        struct bl_table *const next = table->next;
        if (table->calls != NULL)
            free_calls(memory, table, table->calls);
        bl_buckets_free(memory, &table->more);
        bl_memory_free(memory, BL_TYPE_TABLE, 0, table);
        table = next;
    }
}

// ---- views

static _Atomic(void *) *view_cell(struct bl_table_thread *thread,
                                  struct bl_table *table, bool make) {
    return bl_bucket_cell(&thread->common, table->cell, BL_BUCKETS_TABLE,
                          &table->more, thread->number, make);
}

struct bl_table_view *bl_view_find(struct bl_table_thread *thread,
                                   struct bl_table *table) {
    _Atomic(void *) *const cell = view_cell(thread, table, false);
    // Relaxed: only this thread uses the cell.
    return cell == NULL ? NULL : bl_load_relaxed(cell);
}

static struct bl_table_view *new_view(struct bl_table_thread *thread,
                                      struct bl_table *table) {
    struct bl_table_view *const view =
        bl_memory_alloc(&thread->own, BL_TYPE_VIEW, 0);
    if (view == NULL)
        return NULL;
    view->table = table;
    view->subgoals = NULL;
    view->calls = NULL;
    bl_node_init_root(&view->root);
    if (table->kind != BL_TABLE_NS) {
        view->calls = join_calls(thread, table);
        if (view->calls == NULL) {
            bl_memory_free(&thread->own, BL_TYPE_VIEW, 0, view);
            return NULL;
        }
    }
    view->next = thread->views;
    thread->views = view;
    return view;
}

static struct bl_table_view *ensure_view(struct bl_table_thread *thread,
                                         struct bl_table *table) {
    _Atomic(void *) *const cell = view_cell(thread, table, true);
    if (cell == NULL)
        return NULL;
    struct bl_table_view *view = bl_load_relaxed(cell);
    if (BL_UNLIKELY(view == NULL)) {
        view = new_view(thread, table);
        bl_store_relaxed(cell, view);
    }
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
    BL_REQUIRE(thread->space == table->space);
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

void bl_views_drop(struct bl_table_thread *thread) {
    const bool pages = thread->space->options.alloc == BL_ALLOC_PAGES;
    struct bl_table_view *view = thread->views;
    while (view != NULL) {
        struct bl_table_view *const next = view->next;
        struct bl_table *const table = view->table;
        // Release: whoever gets this thread's number finds the cell empty.
        bl_store_release(view_cell(thread, table, false), NULL);
        if (pages)
            table->design->unlink_view(thread, view);
        else
            table->design->free_view(thread, view);
        leave_calls(thread, table, view->calls, false);
        if (!pages)
            bl_memory_free(&thread->own, BL_TYPE_VIEW, 0, view);
        view = next;
    }
    thread->views = NULL;
    if (!pages)
        return;
    bl_pools_drop(&thread->pools, BL_TYPE_COUNT);
    bl_memory_init(&thread->own, &thread->pools, NULL, thread->own.one_by_one);
}

// Drops every shared pool but that of the table entries; this is the only
// thread, and has no view.
static void drop_shared_pools(struct bl_table_thread *thread) {
    struct bl_table_space *const space = thread->space;
    for (struct bl_table *t = bl_load_relaxed(&space->tables); t != NULL;
         t = t->next) {
        t->calls = NULL;
        bl_store_relaxed(&t->more, NULL);
    }
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++)
        if (type != BL_TYPE_TABLE)
            bl_pools_drop(&space->pools, (enum bl_table_type)type);
    bl_memory_init(&space->ended, &space->pools, NULL, false);
    bl_memory_init(&thread->common, &space->pools, &thread->retired,
                   thread->common.one_by_one);
}

static void free_table_buckets(struct bl_table_thread *thread) {
    for (struct bl_table *t = bl_load_relaxed(&thread->space->tables);
         t != NULL; t = t->next)
        bl_buckets_free(&thread->common, &t->more);
}

// Where this is the only thread: frees what was retired, and with `all` drops
// what was shared. True where nothing shared is left.
static bool try_drop_shared(struct bl_table_thread *thread, bool all) {
    struct bl_table_space *const space = thread->space;
    const bool pages = space->options.alloc == BL_ALLOC_PAGES;
    pthread_mutex_lock(&space->lock);
    const bool alone = space->thread_count == 1;
    if (alone)
        bl_retired_flush(&thread->retired);
    if (alone && all && pages)
        drop_shared_pools(thread);
    if (alone && all && !pages)
        free_table_buckets(thread);
    pthread_mutex_unlock(&space->lock);
    return alone && all && pages;
}

// Frees the view and what only it has; returns what it shared.
static struct bl_shared_calls *drop_view(struct bl_table_thread *thread,
                                         struct bl_table_view *view) {
    struct bl_table *const table = view->table;
    struct bl_shared_calls *const calls = view->calls;
    table->design->free_view(thread, view);
    bl_store_relaxed(view_cell(thread, table, false), NULL);
    unlist_view(thread, view);
    bl_memory_free(&thread->own, BL_TYPE_VIEW, 0, view);
    return calls;
}

bool bl_table_is_outdated(struct bl_table_thread *thread,
                          struct bl_table *table) {
    const struct bl_table_view *const view = bl_view_find(thread, table);
    return view != NULL && view->calls != NULL &&
           bl_load_acquire(&view->calls->abolished) != 0;
}

void bl_table_renew(struct bl_table_thread *thread, struct bl_table *table) {
    struct bl_table_view *const view = bl_view_find(thread, table);
    BL_REQUIRE(view != NULL);
    leave_calls(thread, table, drop_view(thread, view), false);
}

bool bl_table_abolish(struct bl_table_thread *thread, struct bl_table *table) {
    if (thread->space != table->space)
        bl_fatal("bl_table_abolish: the table is of another space than the "
                 "thread");
    struct bl_table_view *const view = bl_view_find(thread, table);
    if (view != NULL && is_evaluating(view))
        return false;
    leave_calls(thread, table, view != NULL ? drop_view(thread, view) : NULL,
                true);
    try_drop_shared(thread, false);
    return true;
}

bool bl_table_abolish_all(struct bl_table_thread *thread) {
    for (struct bl_table_view *v = thread->views; v != NULL; v = v->next)
        if (is_evaluating(v))
            return false;
    bl_views_drop(thread);
    if (try_drop_shared(thread, true))
        return true;
    // Acquire: pairs with the release in `bl_table_new`.
    for (struct bl_table *t = bl_load_acquire(&thread->space->tables);
         t != NULL; t = t->next)
        leave_calls(thread, t, NULL, true);
    return true;
}
