// SPDX-License-Identifier: MIT
//
// Negation of goals that are still being evaluated.
//
// A negation waits at its goal like a consumer. When a component's consumers
// have read everything there is, a goal is *settled*, that is, it has all its
// answers, if it can have no further one: it has an answer and no variables,
// or whatever it waits for is settled. So the dependencies among the goals
// that are left are split into strongly connected parts; a part that depends
// on no other, and not on itself through a negation, is settled, and with it
// those that depend on settled ones only. Of a settled goal without answers
// the negations hold and go on; where there is an answer they fail. When
// nothing can be settled, some goal depends on itself through a negation, and
// that is an error. This is completion with exact components, without the
// delaying that would be next.
// Source: [ChenWarren-1996].
//
#include "logic/tabling.h"

#include "logic/error.h"

#include <stdlib.h>

struct node {
    struct bl_goal *goal;
    const struct bl_consumer *edge; // next to be followed
    bool negative;                  // which of the goal's two lists that is in
    bool open;                      // its part is not known yet
    uint32_t index, low;            // 0: not visited
    uint32_t part;
};

// Dependencies are followed from a goal to those that wait for it, so that a
// part gets its number after all parts that depend on it.
struct graph {
    struct node *node;
    uint32_t *order; // nodes by part
    uint32_t *open;  // stack of nodes without part
    uint32_t *path;  // stack of nodes being visited
    bool *blocked;   // by part: cannot be settled now
    uint32_t nodes, ordered, opened, depth, parts, visits;
};

static void graph_fini(struct graph *g) {
    free(g->node);
    free(g->order);
    free(g->open);
    free(g->path);
    free(g->blocked);
}

static bool graph_init(struct bl_machine *m, struct graph *g,
                       struct bl_goal *leader) {
    *g = (struct graph){0};
    size_t n = 1;
    for (struct bl_goal *i = m->tabler->top; i != leader; i = i->below)
        n++;
    g->node = calloc(n, sizeof *g->node);
    g->order = calloc(n, sizeof *g->order);
    g->open = calloc(n, sizeof *g->open);
    g->path = calloc(n, sizeof *g->path);
    g->blocked = calloc(n, sizeof *g->blocked);
    if (g->node == NULL || g->order == NULL || g->open == NULL ||
        g->path == NULL || g->blocked == NULL) {
        graph_fini(g);
        bl_throw_resource(m, "memory");
        return false;
    }
    struct bl_goal *goal = m->tabler->top;
    for (size_t i = 0; i < n; i++, goal = goal->below) {
        if (goal->settled)
            continue;
        goal->node = g->nodes;
        g->node[g->nodes++].goal = goal;
    }
    return true;
}

// ---- strongly connected parts, after Tarjan

static void enter(struct graph *g, uint32_t i) {
    struct node *const n = &g->node[i];
    n->index = n->low = ++g->visits;
    n->edge = n->goal->consumers;
    n->open = true;
    g->open[g->opened++] = i;
    g->path[g->depth++] = i;
}

static void leave(struct graph *g, uint32_t i) {
    const struct node *const n = &g->node[i];
    g->depth--;
    if (g->depth > 0) {
        struct node *const up = &g->node[g->path[g->depth - 1]];
        up->low = n->low < up->low ? n->low : up->low;
    }
    if (n->low != n->index)
        return;
    for (bool last = false; !last;) {
        const uint32_t of_part = g->open[--g->opened];
        g->node[of_part].open = false;
        g->node[of_part].part = g->parts;
        g->order[g->ordered++] = of_part;
        last = of_part == i;
    }
    g->parts++;
}

// The next one that waits for the node's goal; NULL after the last.
static const struct bl_consumer *next_edge(struct node *n) {
    if (n->edge == NULL && !n->negative) {
        n->negative = true;
        n->edge = n->goal->waiters;
    }
    const struct bl_consumer *const c = n->edge;
    if (c != NULL)
        n->edge = c->next;
    return c;
}

static void find_parts_from(struct graph *g, uint32_t root) {
    enter(g, root);
    while (g->depth > 0) {
        const uint32_t i = g->path[g->depth - 1];
        struct node *const n = &g->node[i];
        const struct bl_consumer *const c = next_edge(n);
        if (c == NULL) {
            leave(g, i);
        } else if (!c->producer->settled) {
            const struct node *const to = &g->node[c->producer->node];
            if (to->index == 0)
                enter(g, c->producer->node);
            else if (to->open && to->index < n->low)
                n->low = to->index;
        }
    }
}

// ---- settling

static uint32_t part_of(const struct graph *g, const struct bl_goal *goal) {
    return g->node[goal->node].part;
}

static void block_producers(struct graph *g, const struct bl_consumer *c) {
    for (; c != NULL; c = c->next) {
        if (!c->producer->settled)
            g->blocked[part_of(g, c->producer)] = true;
    }
}

// Goals that wait for their own absence.
static void block_negative_cycles(struct graph *g) {
    for (uint32_t i = 0; i < g->nodes; i++) {
        const struct bl_goal *const goal = g->node[i].goal;
        for (const struct bl_consumer *c = goal->waiters; c != NULL;
             c = c->next) {
            if (!c->producer->settled &&
                part_of(g, c->producer) == g->node[i].part)
                g->blocked[g->node[i].part] = true;
        }
    }
}

// The negations of a settled goal without answers hold.
static void release(struct bl_tabler *t, struct bl_goal *goal) {
    while (goal->waiters != NULL) {
        struct bl_consumer *const c = goal->waiters;
        goal->waiters = c->next;
        c->next = t->ready;
        t->ready = c;
        t->waiting--;
    }
}

static void settle_parts(struct bl_tabler *t, struct graph *g) {
    block_negative_cycles(g);
    for (uint32_t i = g->ordered; i-- > 0;) {
        const struct node *const n = &g->node[g->order[i]];
        struct bl_goal *const goal = n->goal;
        if (g->blocked[n->part]) {
            block_producers(g, goal->consumers);
            block_producers(g, goal->waiters);
        } else {
            goal->settled = true;
            // what goes on there may find answers for those
            block_producers(g, goal->waiters);
            release(t, goal);
        }
    }
}

// The negations of goals with answers fail. True if there was any.
static bool drop_failed(struct bl_tabler *t, const struct bl_goal *leader) {
    const uint64_t before = t->waiting;
    struct bl_goal *goal = t->top;
    for (bool last = false; !last; goal = goal->below) {
        last = goal == leader;
        if (bl_answer_count(goal->sg) == 0)
            continue;
        t->waiting -= bl_consumers_free(goal->waiters);
        goal->waiters = NULL;
        goal->settled = goal->settled || goal->vars == 0;
    }
    return t->waiting != before;
}

static bool refuse(struct bl_machine *m, const struct bl_goal *leader) {
    const struct bl_goal *oldest = leader;
    for (const struct bl_goal *g = m->tabler->top; g != leader; g = g->below) {
        if (g->waiters != NULL)
            oldest = g;
    }
    if (leader->waiters != NULL)
        oldest = leader;
    return bl_not_stratified(m, oldest, "a negation");
}

bool bl_absence_settle(struct bl_machine *m, struct bl_goal *leader) {
    struct bl_tabler *const t = m->tabler;
    struct graph g;
    if (drop_failed(t, leader) && t->waiting == leader->waiting_mark)
        return true;
    if (!graph_init(m, &g, leader))
        return false;
    for (uint32_t i = 0; i < g.nodes; i++) {
        if (g.node[i].index == 0)
            find_parts_from(&g, i);
    }
    settle_parts(t, &g);
    graph_fini(&g);
    return t->ready != leader->ready_mark || refuse(m, leader);
}
