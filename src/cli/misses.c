// SPDX-License-Identifier: MIT
#include "cli/misses.h"

#include "tlb/profile.h"

#include <stdlib.h>
#include <string.h>

// Places in the lists of functions and of lines, plus 1; 0: not known yet.
struct slot {
    size_t function;
    size_t line;
};

// One profile on its way into the sums.
struct reading {
    struct bl_misses *misses;
    struct bl_profile profile;
    struct bl_place *places; // by site; `object` is NULL where not looked up
    struct slot *slots;      // by site; where its figures go
    double scale;
};

static const struct bl_place *place_of(struct reading *r, uint32_t index) {
    const struct bl_profile_site *site =
        bl_profile_record(&r->profile, BL_PROFILE_SITES, index);
    if (!site)
        return NULL;
    struct bl_place *place = &r->places[index];
    if (!place->object) {
        const struct bl_profile_object *object =
            bl_profile_record(&r->profile, BL_PROFILE_OBJECTS, site->object);
        bl_symbols_place(r->misses->symbols, object ? object->path : "",
                         site->offset, place);
    }
    return place;
}

static void add_cost(struct bl_cost *to, const struct bl_cost *from) {
    for (int i = 0; i < BL_TLB_POLICIES; i++) {
        to[i].first += from[i].first;
        to[i].walks += from[i].walks;
        to[i].cycles += from[i].cycles;
    }
}

static uint64_t scaled(const _Atomic(uint64_t) *x, double scale) {
    return (uint64_t)((double)bl_load_relaxed(x) * scale + 0.5);
}

// Names are one each, so pointers tell them apart.
static size_t find_function(struct bl_misses *m, const struct bl_place *p) {
    for (size_t i = 0; i < m->function_count; i++) {
        if (m->functions[i].name == p->function &&
            m->functions[i].object == p->object)
            return i;
    }
    m->functions = bl_xrealloc(m->functions,
                               (m->function_count + 1) * sizeof *m->functions);
    m->functions[m->function_count] =
        (struct bl_function_misses){.name = p->function, .object = p->object};
    return m->function_count++;
}

static size_t find_line(struct bl_function_misses *f,
                        const struct bl_place *p) {
    for (size_t i = 0; i < f->line_count; i++) {
        if (f->lines[i].file == p->file && f->lines[i].line == p->line)
            return i;
    }
    f->lines = bl_xrealloc(f->lines, (f->line_count + 1) * sizeof *f->lines);
    f->lines[f->line_count] =
        (struct bl_line_misses){.file = p->file, .line = p->line};
    return f->line_count++;
}

static void add_to_function(struct reading *r, uint32_t site,
                            const struct bl_place *place,
                            const struct bl_cost *cost) {
    struct bl_misses *m = r->misses;
    struct slot *slot = &r->slots[site];
    if (slot->function == 0) {
        slot->function = find_function(m, place) + 1;
        slot->line = find_line(&m->functions[slot->function - 1], place) + 1;
    }
    struct bl_function_misses *f = &m->functions[slot->function - 1];
    add_cost(f->cost, cost);
    add_cost(f->lines[slot->line - 1].cost, cost);
}

// The child of that name, behind a search among names in order.
static struct bl_call_node *child_of(struct bl_call_node *n, const char *name) {
    size_t low = 0;
    size_t high = n->child_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(n->children[middle]->name, name);
        if (order == 0)
            return n->children[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    n->children =
        bl_xrealloc(n->children, (n->child_count + 1) * sizeof(void *));
    for (size_t i = n->child_count; i > low; i--)
        n->children[i] = n->children[i - 1];
    struct bl_call_node *child = bl_xrealloc(NULL, sizeof *child);
    *child = (struct bl_call_node){.name = name};
    n->children[low] = child;
    n->child_count++;
    return child;
}

static struct bl_call_node *step(struct bl_call_node *n, const char *name,
                                 const struct bl_cost *cost) {
    n = child_of(n, name);
    for (int i = 0; i < BL_TLB_POLICIES; i++)
        n->walks[i] += cost[i].walks;
    return n;
}

// A function that calls itself stays one frame.
static struct bl_call_node *step_place(struct bl_call_node *n,
                                       const struct bl_place *p,
                                       const struct bl_cost *cost) {
    if (n->name != p->function)
        n = step(n, p->function, cost);
    for (size_t i = 0; i < p->inlined_count; i++)
        n = step(n, p->inlined[i], cost);
    return n;
}

static void step_line(struct bl_misses *m, struct bl_call_node *n,
                      const struct bl_place *p, const struct bl_cost *cost) {
    if (!p->file)
        return;
    char *line = bl_xprintf("%s:%d", p->file, p->line);
    step(n, bl_symbols_name(m->symbols, line), cost);
    free(line);
}

// Walks down the chain of calls, then into the instruction's own function.
static void add_to_tree(struct reading *r, const struct bl_profile_miss *miss,
                        const struct bl_place *place,
                        const struct bl_cost *cost) {
    enum { DEEPEST = 256 };
    uint32_t chain[DEEPEST];
    size_t depth = 0;
    const struct bl_profile_call *call;
    for (uint32_t at = miss->call;
         at != 0 && depth < DEEPEST &&
         (call = bl_profile_record(&r->profile, BL_PROFILE_CALLS, at)) &&
         call->caller < at;
         at = call->caller)
        chain[depth++] = call->site;
    struct bl_call_node *n = &r->misses->root;
    for (int i = 0; i < BL_TLB_POLICIES; i++)
        n->walks[i] += cost[i].walks;
    const char *program = strrchr(r->profile.head->program, '/');
    n = step(
        n,
        bl_symbols_name(r->misses->symbols, program ? program + 1 : "program"),
        cost);
    while (depth > 0) {
        const struct bl_place *caller = place_of(r, chain[--depth]);
        if (caller)
            n = step_place(n, caller, cost);
    }
    step_line(r->misses, step_place(n, place, cost), place, cost);
}

static void add_miss(struct reading *r, const struct bl_profile_miss *miss,
                     struct bl_process_misses *process) {
    struct bl_cost cost[BL_TLB_POLICIES];
    for (int i = 0; i < BL_TLB_POLICIES; i++)
        cost[i] = (struct bl_cost){scaled(&miss->cost[i].first, r->scale),
                                   scaled(&miss->cost[i].walks, r->scale),
                                   scaled(&miss->cost[i].cycles, r->scale)};
    const struct bl_place *place = place_of(r, miss->site);
    if (!place || miss->side >= BL_TLB_SIDES)
        return;
    add_cost(process->cost[miss->side], cost);
    add_to_function(r, miss->site, place, cost);
    add_to_tree(r, miss, place, cost);
}

static void add_threads(struct reading *r, struct bl_process_misses *p) {
    const uint32_t n = r->profile.record_count[BL_PROFILE_THREADS];
    p->threads = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct bl_profile_thread *t =
            bl_profile_record(&r->profile, BL_PROFILE_THREADS, i);
        p->instructions += t->instructions;
        p->counted_instructions += t->counted_instructions;
        p->accesses += t->counted_accesses;
    }
    // All are counted, but for the last few, where nothing is sampled.
    if (p->counted_instructions && p->counted_instructions < p->instructions)
        r->scale = (double)p->instructions / (double)p->counted_instructions;
    p->accesses = (uint64_t)((double)p->accesses * r->scale + 0.5);
}

static char *read_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "re");
    char *bytes = NULL;
    size_t capacity = 0;
    *size = 0;
    while (in && !feof(in) && !ferror(in)) {
        capacity = 2 * capacity + 65536;
        bytes = bl_xrealloc(bytes, capacity);
        *size += fread(bytes + *size, 1, capacity - *size, in);
    }
    if (in)
        fclose(in);
    return bytes;
}

static void add_to_total(struct bl_process_misses *t,
                         const struct bl_process_misses *p) {
    t->threads += p->threads;
    t->instructions += p->instructions;
    t->counted_instructions += p->counted_instructions;
    t->accesses += p->accesses;
    t->lost += p->lost;
    for (int side = 0; side < BL_TLB_SIDES; side++)
        add_cost(t->cost[side], p->cost[side]);
}

bool bl_misses_add(struct bl_misses *m, const char *path) {
    struct reading r = {.misses = m, .scale = 1};
    size_t size;
    char *bytes = read_file(path, &size);
    if (!bytes || !bl_profile_open(&r.profile, bytes, size))
        return false;
    if (!m->symbols)
        m->symbols = bl_symbols_new();
    const uint32_t sites = r.profile.record_count[BL_PROFILE_SITES];
    r.places = bl_xrealloc(NULL, (sites + 1) * sizeof *r.places);
    memset(r.places, 0, (sites + 1) * sizeof *r.places);
    r.slots = bl_xrealloc(NULL, (sites + 1) * sizeof *r.slots);
    memset(r.slots, 0, (sites + 1) * sizeof *r.slots);
    m->processes = bl_xrealloc(m->processes,
                               (m->process_count + 1) * sizeof *m->processes);
    struct bl_process_misses *p = &m->processes[m->process_count++];
    *p = (struct bl_process_misses){
        .pid = r.profile.head->pid,
        .parent = r.profile.head->parent,
        .program = bl_xstrdup(r.profile.head->program),
        .start_us = r.profile.head->start_us,
        .lost = bl_load_relaxed(&r.profile.head->lost)};
    add_threads(&r, p);
    for (uint32_t i = 0; i < r.profile.record_count[BL_PROFILE_MISSES]; i++)
        add_miss(&r, bl_profile_record(&r.profile, BL_PROFILE_MISSES, i), p);
    add_to_total(&m->total, p);
    free(r.places);
    free(r.slots);
    bl_profile_close(&r.profile);
    return true;
}

void bl_misses_add_samples(struct bl_misses *m, const char *program,
                           const char *path, uint64_t offset,
                           enum bl_tlb_policy policy, uint64_t count) {
    struct bl_place place;
    struct bl_cost cost[BL_TLB_POLICIES] = {0};
    if (!m->symbols)
        m->symbols = bl_symbols_new();
    bl_symbols_place(m->symbols, path, offset, &place);
    cost[policy].walks = count;
    const size_t function = find_function(m, &place);
    struct bl_function_misses *f = &m->functions[function];
    const size_t line = find_line(f, &place);
    add_cost(f->cost, cost);
    add_cost(f->lines[line].cost, cost);
    add_cost(m->total.cost[BL_TLB_DATA], cost);
    m->root.walks[policy] += count;
    struct bl_call_node *n =
        step(&m->root, bl_symbols_name(m->symbols, program), cost);
    step_line(m, step_place(n, &place, cost), &place, cost);
}

// What qsort goes by; the command has one thread.
static enum bl_tlb_policy order_policy;

static int by_start(const void *a, const void *b) {
    const struct bl_process_misses *x = a;
    const struct bl_process_misses *y = b;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_cost(const struct bl_cost *x, const struct bl_cost *y) {
    const struct bl_cost *a = &x[order_policy];
    const struct bl_cost *b = &y[order_policy];
    if (a->walks != b->walks)
        return a->walks > b->walks ? -1 : 1;
    return (a->first < b->first) - (a->first > b->first);
}

static int function_order(const void *a, const void *b) {
    return by_cost(((const struct bl_function_misses *)a)->cost,
                   ((const struct bl_function_misses *)b)->cost);
}

static int line_order(const void *a, const void *b) {
    return by_cost(((const struct bl_line_misses *)a)->cost,
                   ((const struct bl_line_misses *)b)->cost);
}

void bl_misses_finish(struct bl_misses *m, enum bl_tlb_policy policy) {
    order_policy = policy;
    if (m->process_count)
        qsort(m->processes, m->process_count, sizeof *m->processes, by_start);
    if (m->function_count)
        qsort(m->functions, m->function_count, sizeof *m->functions,
              function_order);
    for (size_t i = 0; i < m->function_count; i++)
        qsort(m->functions[i].lines, m->functions[i].line_count,
              sizeof *m->functions[i].lines, line_order);
}

static void free_tree(struct bl_call_node *n) {
    for (size_t i = 0; i < n->child_count; i++) {
        free_tree(n->children[i]);
        free(n->children[i]);
    }
    free(n->children);
}

void bl_misses_free(struct bl_misses *m) {
    for (size_t i = 0; i < m->process_count; i++)
        free(m->processes[i].program);
    for (size_t i = 0; i < m->function_count; i++)
        free(m->functions[i].lines);
    free(m->processes);
    free(m->functions);
    free_tree(&m->root);
    if (m->symbols)
        bl_symbols_free(m->symbols);
}
