// SPDX-License-Identifier: MIT
#include "cli/json.h"
#include "cli/tlb.h"

#include <stdlib.h>
#include <string.h>

// Digits in groups of three.
static char *grouped(uint64_t x) {
    char digits[32];
    char text[48];
    const int n =
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)x);
    size_t k = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            text[k++] = ' ';
        text[k++] = digits[i];
    }
    text[k] = '\0';
    return bl_xstrdup(text);
}

static void put_row(FILE *out, const char *head,
                    const uint64_t values[BL_TLB_POLICIES]) {
    fprintf(out, "%-28s", head);
    for (int i = 0; i < BL_TLB_POLICIES; i++) {
        char *text = grouped(values[i]);
        fprintf(out, " %16s", text);
        free(text);
    }
    fputc('\n', out);
}

// One figure of all policies.
enum figure { FIRST, WALKS, CYCLES };

static uint64_t figure_of(const struct bl_cost *c, enum figure figure) {
    switch (figure) {
    case FIRST:
        return c->first;
    case WALKS:
        return c->walks;
    case CYCLES:
        return c->cycles;
    }
    BL_UNREACHABLE();
}

static void put_figure(FILE *out, const char *head,
                       const struct bl_cost cost[BL_TLB_POLICIES],
                       enum figure figure) {
    uint64_t values[BL_TLB_POLICIES];
    for (int i = 0; i < BL_TLB_POLICIES; i++)
        values[i] = figure_of(&cost[i], figure);
    put_row(out, head, values);
}

static void sum_sides(const struct bl_process_misses *p,
                      struct bl_cost out[BL_TLB_POLICIES]) {
    for (int i = 0; i < BL_TLB_POLICIES; i++) {
        const struct bl_cost *d = &p->cost[BL_TLB_DATA][i];
        const struct bl_cost *c = &p->cost[BL_TLB_CODE][i];
        out[i] = (struct bl_cost){d->first + c->first, d->walks + c->walks,
                                  d->cycles + c->cycles};
    }
}

static void put_totals(FILE *out, const struct bl_process_misses *t) {
    struct bl_cost both[BL_TLB_POLICIES];
    sum_sides(t, both);
    fprintf(out, "%-28s %16s %16s %16s\n", "memory on pages", "base", "huge",
            "as backed");
    put_figure(out, "data: not in level 1", t->cost[BL_TLB_DATA], FIRST);
    put_figure(out, "data: walks", t->cost[BL_TLB_DATA], WALKS);
    put_figure(out, "code: not in level 1", t->cost[BL_TLB_CODE], FIRST);
    put_figure(out, "code: walks", t->cost[BL_TLB_CODE], WALKS);
    put_figure(out, "cycles spent, estimated", both, CYCLES);
    fprintf(out, "%-28s", "walks per 1000 instructions");
    for (int i = 0; i < BL_TLB_POLICIES; i++)
        fprintf(out, " %16.4f",
                t->instructions
                    ? 1000.0 * (double)both[i].walks / (double)t->instructions
                    : 0.0);
    fputc('\n', out);
}

static double share(uint64_t part, uint64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

// A counted run knows two policies.
static int columns(const struct bl_tlb_report *r) {
    return r->counts ? 2 : BL_TLB_POLICIES;
}

static void put_costs(const struct bl_tlb_report *r, const struct bl_cost *cost,
                      const struct bl_cost *whole, const char *indent) {
    FILE *out = r->request->text;
    const enum bl_tlb_policy policy = r->request->policy;
    fprintf(out, "%s%5.1f %%%s", indent,
            share(cost[policy].walks, whole[policy].walks),
            *indent ? "" : "  ");
    for (int i = 0; i < columns(r); i++) {
        char *text = grouped(cost[i].walks);
        fprintf(out, " %13s", text);
        free(text);
    }
}

// Lines with a hundredth of the walks, at most eight of a function.
static void put_lines(const struct bl_tlb_report *r,
                      const struct bl_function_misses *f,
                      const struct bl_cost *whole) {
    enum { MOST = 8 };
    const enum bl_tlb_policy policy = r->request->policy;
    for (size_t i = 0; i < f->line_count && i < MOST; i++) {
        const struct bl_line_misses *l = &f->lines[i];
        if (!l->file || share(l->cost[policy].walks, whole[policy].walks) < 1)
            continue;
        put_costs(r, l->cost, whole, "  ");
        fprintf(r->request->text, "    %s:%d\n", l->file, l->line);
    }
}

// A function without a symbol is called by its object already.
static void put_name(FILE *out, const struct bl_function_misses *f) {
    const size_t length = strlen(f->object);
    const bool by_object =
        strncmp(f->name, f->object, length) == 0 && f->name[length] == '+';
    if (by_object)
        fprintf(out, "  %s\n", f->name);
    else
        fprintf(out, "  %s  (%s)\n", f->name, f->object);
}

static void put_functions(const struct bl_tlb_report *r) {
    FILE *out = r->request->text;
    const enum bl_tlb_policy policy = r->request->policy;
    struct bl_cost whole[BL_TLB_POLICIES];
    sum_sides(&r->misses->total, whole);
    if (r->counts)
        fprintf(out, "\n%7s   %13s %13s  function, line\n", "share",
                "samples: base", "bigleaf");
    else
        fprintf(out, "\n%7s   %13s %13s %13s  function, line\n", "share",
                "walks: base", "huge", "as backed");
    for (size_t i = 0;
         i < r->misses->function_count && i < r->request->functions; i++) {
        const struct bl_function_misses *f = &r->misses->functions[i];
        if (f->cost[policy].walks == 0)
            break;
        put_costs(r, f->cost, whole, "");
        put_name(out, f);
        put_lines(r, f, whole);
    }
}

static void put_counts(const struct bl_tlb_report *r) {
    FILE *out = r->request->text;
    const struct bl_tlb_counts *c = r->counts;
    fprintf(out, "counted by the processor (%s): %.2f s as it is, ",
            c->processor, c->wall[0]);
    if (c->stopped)
        fprintf(out, "stopped by signal %d before the end on huge pages\n",
                c->stopped);
    else
        fprintf(out, "%.2f s on huge pages\n", c->wall[1]);
    if (c->note)
        fprintf(out, "the second run's heap is not Bigleaf's: %s\n", c->note);
    fprintf(out, "\n%-40s %16s %16s\n", "event", "base", "bigleaf");
    for (size_t i = 0; i < c->event_count; i++) {
        fprintf(out, "%-40s", c->events[i].name);
        for (int k = 0; k < 2; k++) {
            char *text = c->counts[k][i] == UINT64_MAX
                             ? bl_xstrdup("-")
                             : grouped(c->counts[k][i]);
            fprintf(out, " %16s", text);
            free(text);
        }
        fputc('\n', out);
    }
}

static void put_emulated(const struct bl_tlb_report *r) {
    FILE *out = r->request->text;
    const struct bl_process_misses *t = &r->misses->total;
    char *accesses = grouped(t->accesses);
    char *instructions = grouped(t->instructions);
    if (r->request->no_counters)
        fprintf(out, "emulated: %s\n", r->request->no_counters);
    fprintf(out, "emulated with the TLBs of %s, %.1f s\n", r->request->geometry,
            r->result->wall);
    fprintf(out,
            "%zu process%s, %llu thread%s, %s instructions, %s data "
            "accesses\n",
            r->misses->process_count, r->misses->process_count == 1 ? "" : "es",
            (unsigned long long)t->threads, t->threads == 1 ? "" : "s",
            instructions, accesses);
    if (r->request->every > 1)
        fprintf(out, "sampled: %.1f %% of the instructions were measured\n",
                share(t->counted_instructions, t->instructions));
    if (t->lost)
        fprintf(out,
                "%llu misses could not be recorded (no room for files of this "
                "run)\n",
                (unsigned long long)t->lost);
    fputc('\n', out);
    put_totals(out, t);
    free(accesses);
    free(instructions);
}

void bl_tlb_report_text(const struct bl_tlb_report *r) {
    FILE *out = r->request->text;
    fputs("bigleaf tlb:", out);
    for (char **word = r->request->argv; *word; word++)
        fprintf(out, " %s", *word);
    fputc('\n', out);
    if (r->counts)
        put_counts(r);
    else
        put_emulated(r);
    put_functions(r);
}

// What a counted run knows of a function: samples.
static void json_samples(struct bl_json *j,
                         const struct bl_cost cost[BL_TLB_POLICIES]) {
    bl_json_open(j, "samples", '{');
    bl_json_u64(j, "base", cost[BL_TLB_ALL_BASE].walks);
    bl_json_u64(j, "bigleaf", cost[BL_TLB_ALL_HUGE].walks);
    bl_json_close(j, '}');
}

static void json_costs(struct bl_json *j, const char *key,
                       const struct bl_cost cost[BL_TLB_POLICIES]) {
    bl_json_open(j, key, '{');
    for (int i = 0; i < BL_TLB_POLICIES; i++) {
        bl_json_open(j, bl_tlb_policy_names[i], '{');
        bl_json_u64(j, "first_level_misses", cost[i].first);
        bl_json_u64(j, "walks", cost[i].walks);
        bl_json_u64(j, "cycles", cost[i].cycles);
        bl_json_close(j, '}');
    }
    bl_json_close(j, '}');
}

static void json_counts(struct bl_json *j, const struct bl_process_misses *p) {
    bl_json_u64(j, "threads", p->threads);
    bl_json_u64(j, "instructions", p->instructions);
    bl_json_u64(j, "measured_instructions", p->counted_instructions);
    bl_json_u64(j, "data_accesses", p->accesses);
    bl_json_u64(j, "lost", p->lost);
    json_costs(j, "data", p->cost[BL_TLB_DATA]);
    json_costs(j, "code", p->cost[BL_TLB_CODE]);
}

static void json_processes(struct bl_json *j, const struct bl_misses *m) {
    bl_json_open(j, "processes", '[');
    for (size_t i = 0; i < m->process_count; i++) {
        const struct bl_process_misses *p = &m->processes[i];
        bl_json_open(j, NULL, '{');
        bl_json_i64(j, "pid", p->pid);
        bl_json_i64(j, "parent", p->parent);
        bl_json_string(j, "program", p->program);
        json_counts(j, p);
        bl_json_close(j, '}');
    }
    bl_json_close(j, ']');
}

static void json_misses(struct bl_json *j, const struct bl_tlb_report *r,
                        const struct bl_cost cost[BL_TLB_POLICIES]) {
    if (r->counts)
        json_samples(j, cost);
    else
        json_costs(j, "misses", cost);
}

static void json_function(struct bl_json *j, const struct bl_tlb_report *r,
                          const struct bl_function_misses *f) {
    bl_json_open(j, NULL, '{');
    bl_json_string(j, "function", f->name);
    bl_json_string(j, "object", f->object);
    json_misses(j, r, f->cost);
    bl_json_open(j, "lines", '[');
    for (size_t i = 0; i < f->line_count; i++) {
        const struct bl_line_misses *l = &f->lines[i];
        bl_json_open(j, NULL, '{');
        if (l->file)
            bl_json_string(j, "file", l->file);
        else
            bl_json_null(j, "file");
        bl_json_i64(j, "line", l->line);
        json_misses(j, r, l->cost);
        bl_json_close(j, '}');
    }
    bl_json_close(j, ']');
    bl_json_close(j, '}');
}

static void json_geometry(struct bl_json *j, const struct bl_tlb_report *r) {
    const struct bl_tlb_geometry *g = r->geometry;
    bl_json_open(j, "geometry", '{');
    bl_json_string(j, "name", r->request->geometry);
    bl_json_open(j, "tables", '[');
    for (uint32_t i = 0; i < g->table_count; i++) {
        const struct bl_tlb_table *t = &g->tables[i];
        bl_json_open(j, NULL, '{');
        bl_json_u64(j, "level", t->level);
        bl_json_bool(j, "data", t->sides[BL_TLB_DATA]);
        bl_json_bool(j, "code", t->sides[BL_TLB_CODE]);
        bl_json_bool(j, "base", t->sizes[BL_TLB_BASE]);
        bl_json_bool(j, "huge", t->sizes[BL_TLB_HUGE]);
        bl_json_u64(j, "entries", t->entries);
        bl_json_u64(j, "ways", t->ways);
        bl_json_close(j, '}');
    }
    bl_json_close(j, ']');
    bl_json_close(j, '}');
}

static void json_emulated(struct bl_json *j, const struct bl_tlb_report *r) {
    json_geometry(j, r);
    bl_json_u64(j, "sample", r->request->every);
    bl_json_open(j, "total", '{');
    json_counts(j, &r->misses->total);
    bl_json_close(j, '}');
    json_processes(j, r->misses);
}

static void json_counted(struct bl_json *j, const struct bl_tlb_counts *c) {
    static const char *const names[] = {"base", "bigleaf"};
    bl_json_string(j, "processor", c->processor);
    bl_json_open(j, "events", '[');
    for (size_t i = 0; i < c->event_count; i++) {
        bl_json_open(j, NULL, '{');
        bl_json_string(j, "name", c->events[i].name);
        for (int k = 0; k < 2; k++) {
            if (c->counts[k][i] == UINT64_MAX)
                bl_json_null(j, names[k]);
            else
                bl_json_u64(j, names[k], c->counts[k][i]);
        }
        bl_json_close(j, '}');
    }
    bl_json_close(j, ']');
    bl_json_open(j, "runs", '[');
    for (int k = 0; k < 2; k++) {
        bl_json_open(j, NULL, '{');
        bl_json_string(j, "variant", names[k]);
        if (k == 1 && c->stopped) {
            bl_json_null(j, "wall_seconds");
            bl_json_null(j, "lost_samples");
        } else {
            bl_json_real(j, "wall_seconds", c->wall[k], 6);
            bl_json_u64(j, "lost_samples", c->lost[k]);
        }
        bl_json_close(j, '}');
    }
    bl_json_close(j, ']');
}

void bl_tlb_report_json(const struct bl_tlb_report *r, FILE *out) {
    struct bl_json j = {.out = out};
    bl_json_open(&j, NULL, '{');
    bl_json_string(&j, "schema", "bigleaf.tlb/1");
    bl_json_open(&j, "command", '[');
    for (char **word = r->request->argv; *word; word++)
        bl_json_string(&j, NULL, *word);
    bl_json_close(&j, ']');
    bl_json_string(&j, "by", r->counts ? "counters" : "emulator");
    bl_json_i64(&j, "exit_status", r->result->exit_status);
    bl_json_real(&j, "wall_seconds", r->result->wall, 6);
    if (r->counts)
        json_counted(&j, r->counts);
    else
        json_emulated(&j, r);
    bl_json_open(&j, "functions", '[');
    for (size_t i = 0; i < r->misses->function_count; i++)
        json_function(&j, r, &r->misses->functions[i]);
    bl_json_close(&j, ']');
    bl_json_close(&j, '}');
    fputc('\n', out);
}
