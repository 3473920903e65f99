// SPDX-License-Identifier: MIT
//
// Printing what the table space holds: per predicate the figures of Table I,
// per type of block the memory, and the locks.
//
#include "logic/statistics.h"

#include "logic/engine.h"
#include "logic/stream.h"
#include "logic/tabling.h"

static void line(struct bl_machine *m, const char *text) {
    struct bl_out o = {0};
    bl_out_str(&o, text);
    bl_out_char(&o, '\n');
    if (m->ball == NULL) // of the line before
        (void)bl_stream_write(m, bl_current_output(m), o.text, o.bytes);
    bl_out_fini(&o);
}

static double average(struct bl_depths d, uint64_t n) {
    return n == 0 ? 0 : (double)d.sum / (double)n;
}

static void print_counts(struct bl_machine *m, const char *name,
                         const struct bl_table_counts *c) {
    char text[256];
    snprintf(
        text, sizeof text,
        "%-24s %10llu %10llu %3llu/%.0f/%llu %12llu %12llu %12llu "
        "%3llu/%.0f/%llu",
        name, (unsigned long long)c->calls, (unsigned long long)c->call_nodes,
        (unsigned long long)c->call_depth.min, average(c->call_depth, c->calls),
        (unsigned long long)c->call_depth.max, (unsigned long long)c->unique,
        (unsigned long long)c->repeated, (unsigned long long)c->answer_nodes,
        (unsigned long long)c->answer_depth.min,
        average(c->answer_depth, c->unique),
        (unsigned long long)c->answer_depth.max);
    line(m, text);
}

static void print_tables(struct bl_machine *m, const struct bl_pred *only) {
    struct bl_table_counts c;
    char text[256];
    snprintf(text, sizeof text, "%-24s %10s %10s %8s %12s %12s %12s %8s",
             "table", "calls", "nodes", "depth", "unique", "repeated", "nodes",
             "depth");
    line(m, text);
    for (struct bl_pred *p = bl_pred_first(); p != NULL; p = p->next) {
        struct bl_table *const table = bl_pred_table(p);
        if (table == NULL || (only != NULL && only != p))
            continue;
        bl_table_count(m->tabler->thread, table, &c);
        print_counts(m, bl_table_name(table), &c);
    }
    if (only != NULL)
        return;
    bl_table_count(m->tabler->thread, NULL, &c);
    print_counts(m, "all", &c);
}

static void print_memory(struct bl_machine *m) {
    char text[256];
    snprintf(text, sizeof text, "%-24s %12s %14s %10s %14s", "type", "blocks",
             "bytes", "pages", "mapped bytes");
    line(m, text);
    struct bl_table_memory_stats sum = {.name = "all"};
    for (int i = 0; i <= BL_TYPE_COUNT; i++) {
        struct bl_table_memory_stats s = sum;
        if (i < BL_TYPE_COUNT) {
            bl_table_read_memory(bl_engine.space, (enum bl_table_type)i, &s);
            sum.blocks += s.blocks;
            sum.block_bytes += s.block_bytes;
            sum.pages += s.pages;
            sum.mapped_bytes += s.mapped_bytes;
        }
        snprintf(text, sizeof text, "%-24s %12llu %14llu %10llu %14llu", s.name,
                 (unsigned long long)s.blocks,
                 (unsigned long long)s.block_bytes, (unsigned long long)s.pages,
                 (unsigned long long)s.mapped_bytes);
        line(m, text);
    }
}

static void print_work(struct bl_machine *m) {
    char text[256];
    struct bl_table_lock_stats locks;
    bl_table_read_locks(bl_engine.space, &locks);
    snprintf(text, sizeof text,
             "locks taken %llu, try-locks failed %llu; goals suspended %llu, "
             "resumed %llu",
             (unsigned long long)locks.taken, (unsigned long long)locks.failed,
             (unsigned long long)m->tabler->suspensions,
             (unsigned long long)m->tabler->resumptions);
    line(m, text);
}

void bl_statistics_print(struct bl_machine *m, const struct bl_pred *p) {
    print_tables(m, p);
    if (p != NULL)
        return;
    print_memory(m);
    print_work(m);
}

static void json_counts(FILE *out, const char *name,
                        const struct bl_table_counts *c) {
    char buffer[512];
    struct bl_text t;
    bl_text_init(&t, buffer, sizeof buffer);
    bl_text_json(&t, name);
    fprintf(
        out,
        "{\"name\":%s,\"calls\":%llu,\"call_nodes\":%llu,"
        "\"unique\":%llu,\"repeated\":%llu,\"answer_nodes\":%llu,"
        "\"call_depth\":[%llu,%.2f,%llu],"
        "\"answer_depth\":[%llu,%.2f,%llu]}",
        t.data, (unsigned long long)c->calls, (unsigned long long)c->call_nodes,
        (unsigned long long)c->unique, (unsigned long long)c->repeated,
        (unsigned long long)c->answer_nodes,
        (unsigned long long)c->call_depth.min, average(c->call_depth, c->calls),
        (unsigned long long)c->call_depth.max,
        (unsigned long long)c->answer_depth.min,
        average(c->answer_depth, c->unique),
        (unsigned long long)c->answer_depth.max);
}

void bl_statistics_json(struct bl_machine *m, FILE *out) {
    struct bl_table_counts c;
    fputs("{\"schema\":\"leaflog.tables/1\",\"tables\":[", out);
    bool first = true;
    for (struct bl_pred *p = bl_pred_first(); p != NULL; p = p->next) {
        struct bl_table *const table = bl_pred_table(p);
        if (table == NULL)
            continue;
        if (!first)
            fputc(',', out);
        first = false;
        bl_table_count(m->tabler->thread, table, &c);
        json_counts(out, bl_table_name(table), &c);
    }
    fputs("],\"total\":", out);
    bl_table_count(m->tabler->thread, NULL, &c);
    json_counts(out, "all", &c);
    fputs(",\"memory\":[", out);
    for (int i = 0; i < BL_TYPE_COUNT; i++) {
        struct bl_table_memory_stats s;
        bl_table_read_memory(bl_engine.space, (enum bl_table_type)i, &s);
        fprintf(out,
                "%s{\"type\":\"%s\",\"blocks\":%llu,\"bytes\":%llu,"
                "\"pages\":%llu,\"mapped_bytes\":%llu}",
                i > 0 ? "," : "", s.name, (unsigned long long)s.blocks,
                (unsigned long long)s.block_bytes, (unsigned long long)s.pages,
                (unsigned long long)s.mapped_bytes);
    }
    struct bl_table_lock_stats locks;
    bl_table_read_locks(bl_engine.space, &locks);
    fprintf(out,
            "],\"locks_taken\":%llu,\"trylocks_failed\":%llu,"
            "\"suspensions\":%llu,\"resumptions\":%llu}\n",
            (unsigned long long)locks.taken, (unsigned long long)locks.failed,
            (unsigned long long)m->tabler->suspensions,
            (unsigned long long)m->tabler->resumptions);
}
