// SPDX-License-Identifier: MIT
//
// What came of attaching, as text and as JSON `bigleaf.attach/1`. All figures
// of memory are the kernel's, read before and after.
//
#include "cli/attach.h"

#include "cli/report.h"

#include <math.h>
#include <string.h>

static double ms(uint64_t ns) { return (double)ns / 1e6; }

// In per cent; 0 of nothing.
static double share(struct bl_region_backing r) {
    const double coverage = bl_coverage(&r);
    return isnan(coverage) ? 0 : 100 * coverage;
}

static const char *program(const struct bl_attach *a) {
    return a->target.program[0] ? a->target.program : "?";
}

static void text_change(FILE *out, const char *name,
                        struct bl_region_backing before,
                        struct bl_region_backing after) {
    fprintf(out,
            "  %-12s %.1f %% of %.1f MiB before, %.1f %% of %.1f MiB after\n",
            name, share(before), bl_mib(before.bytes), share(after),
            bl_mib(after.bytes));
}

static const char *const left_names[BL_LEFTS] = {"sparse", "refused", "failed"};

static void text_left(FILE *out, const struct bl_attach *a) {
    static const char *const reasons[BL_LEFTS] = {
        "in units of 2 MiB that are less than half in use, or shared",
        "where the program advised against huge pages",
        "that the kernel did not collapse"};
    for (int i = 0; i < BL_LEFTS; i++) {
        if (a->left[i] < BL_MIB)
            continue;
        fprintf(out, "  left         %.1f MiB %s", bl_mib(a->left[i]),
                reasons[i]);
        if (i == BL_LEFT_FAILED)
            fprintf(out, " (%s)", strerror(a->last_errno));
        fputc('\n', out);
    }
}

void bl_attach_text(FILE *out, const struct bl_attach *a) {
    const struct bl_hold *h = &a->visitor.hold;
    fprintf(out, "bigleaf: process %d, %s\n", a->target.pid, program(a));
    text_change(out, "heap", a->before.region[BL_REGION_HEAP],
                a->after.region[BL_REGION_HEAP]);
    text_change(out, "all memory", bl_backing_total(&a->before),
                bl_backing_total(&a->after));
    fprintf(out, "  marked       %.1f MiB in %u area%s\n", bl_mib(a->marked),
            a->marked_areas, a->marked_areas == 1 ? "" : "s");
    fprintf(out, "  stops        %llu, %.2f ms in all, the longest %.2f ms\n",
            (unsigned long long)h->count, ms(h->total_ns), ms(h->longest_ns));
    if (a->longest_collapse_ns)
        fprintf(out, "  collapsed    by %s, at most %.2f ms for a huge page\n",
                a->outside ? "this command" : "a thread in the program",
                ms(a->longest_collapse_ns));
    fprintf(out, "  cost         %.3f s, %.3f s of it CPU time here\n",
            a->seconds, a->cpu_seconds);
    text_left(out, a);
}

void bl_attach_line(FILE *out, const struct bl_attach *a) {
    fprintf(out, "%8d", a->target.pid);
    if (a->rounds) {
        const struct bl_region_backing after = bl_backing_total(&a->after);
        fprintf(out, " %10.1f MiB  %5.1f %% -> %5.1f %%  stop %.2f ms",
                bl_mib(after.bytes), share(bl_backing_total(&a->before)),
                share(after), ms(a->visitor.hold.longest_ns));
    }
    fprintf(out, "  %s", program(a));
    if (a->ended)
        fputs(": has ended", out);
    else if (a->wrong)
        fprintf(out, ": %s", a->wrong);
    fputc('\n', out);
}

void bl_attach_round_line(FILE *out, const struct bl_attach *a,
                          const struct bl_backing *round_before) {
    const struct bl_region_backing before = bl_backing_total(round_before);
    const struct bl_region_backing after = bl_backing_total(&a->after);
    fprintf(out,
            "%9.1f s  round %u: %.1f MiB, %.1f %% -> %.1f %% huge, "
            "longest stop so far %.2f ms\n",
            a->seconds, a->rounds, bl_mib(after.bytes), share(before),
            share(after), ms(a->visitor.hold.longest_ns));
}

static void json_cost(struct bl_json *j, const struct bl_attach *a) {
    const struct bl_hold *h = &a->visitor.hold;
    bl_json_u64(j, "rounds", a->rounds);
    bl_json_real(j, "seconds", a->seconds, 6);
    bl_json_real(j, "cpu_seconds", a->cpu_seconds, 6);
    bl_json_u64(j, "stops", h->count);
    bl_json_u64(j, "calls", a->visitor.calls);
    bl_json_real(j, "stopped_seconds", (double)h->total_ns / 1e9, 6);
    bl_json_real(j, "longest_stop_seconds", (double)h->longest_ns / 1e9, 6);
    bl_json_bool(j, "from_outside", a->outside);
    bl_json_real(j, "longest_collapse_seconds",
                 (double)a->longest_collapse_ns / 1e9, 6);
}

void bl_attach_json(struct bl_json *j, const struct bl_attach *a) {
    const struct bl_region_backing before = bl_backing_total(&a->before);
    const struct bl_region_backing after = bl_backing_total(&a->after);
    bl_json_open(j, NULL, '{');
    bl_json_i64(j, "pid", a->target.pid);
    bl_json_string(j, "program", a->target.program);
    bl_json_bool(j, "attached", a->rounds > 0);
    if (a->ended || a->wrong)
        bl_json_string(j, "reason", a->ended ? "has ended" : a->wrong);
    else
        bl_json_null(j, "reason");
    json_cost(j, a);
    bl_json_u64(j, "marked_bytes", a->marked);
    bl_json_u64(j, "marked_areas", a->marked_areas);
    bl_json_real(j, "huge_coverage_before", share(before) / 100, 4);
    bl_json_real(j, "huge_coverage_after", share(after) / 100, 4);
    bl_report_regions(j, "before", &a->before);
    bl_report_regions(j, "after", &a->after);
    bl_json_open(j, "left", '{');
    for (int i = 0; i < BL_LEFTS; i++)
        bl_json_u64(j, left_names[i], a->left[i]);
    bl_json_close(j, '}');
    bl_json_close(j, '}');
}
