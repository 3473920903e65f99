// SPDX-License-Identifier: MIT
#include "cli/report.h"

#include "cli/explain.h"

#include <math.h>
#include <string.h>

double bl_coverage(const struct bl_region_backing *r) {
    return r->bytes ? (double)r->huge / (double)r->bytes : NAN;
}

static void text_share(FILE *out, const struct bl_region_backing *r) {
    fprintf(out, " %10.1f %10.1f", bl_mib(r->bytes), bl_mib(r->huge));
    if (r->bytes)
        fprintf(out, " %5.1f %%", 100 * bl_coverage(r));
    else
        fputs("       -", out);
}

static void text_regions(FILE *out, const struct bl_result *r) {
    fputs("\n                at the peak, MiB               at the end, MiB\n"
          "  region    resident       huge   share    resident       huge   "
          "share\n",
          out);
    for (int i = 0; i < BL_REGIONS; i++) {
        fprintf(out, "  %-7s", bl_region_names[i]);
        text_share(out, &r->peak.backing.region[i]);
        fputc(' ', out);
        text_share(out, &r->end.backing.region[i]);
        fputc('\n', out);
    }
    const struct bl_region_backing peak = bl_backing_total(&r->peak.backing);
    const struct bl_region_backing end = bl_backing_total(&r->end.backing);
    fputs("  all    ", out);
    text_share(out, &peak);
    fputc(' ', out);
    text_share(out, &end);
    fputc('\n', out);
}

// What is less than this is left to the JSON.
#define WORTH_A_LINE (64 * BL_KIB)

static void text_fallbacks(FILE *out, const struct bl_result *r) {
    struct bl_fallbacks f;
    bool any = false;
    bl_explain(r, &f);
    for (size_t i = 0; i < f.count; i++) {
        const struct bl_fallback *b = &f.at[i];
        if (b->bytes && b->bytes < WORTH_A_LINE)
            continue;
        if (!any)
            fputs("\n  not on huge pages, and why:\n", out);
        any = true;
        fprintf(out, "  %-5s", bl_region_names[b->region]);
        if (b->bytes)
            fprintf(out, " %10.1f MiB", bl_mib(b->bytes));
        fprintf(out, "  %s: %s\n", b->object, b->reason);
    }
    bl_fallbacks_free(&f);
}

static void text_processes(FILE *out, const struct bl_result *r) {
    if (r->process_count < 2)
        return;
    enum { MOST = 20 };
    fputs("\n  processes that ended under the runtime:\n"
          "       pid    peak MiB   heap huge  program\n",
          out);
    for (size_t i = 0; i < r->process_count && i < MOST; i++) {
        const struct bl_process *p = &r->processes[i];
        const struct bl_region_backing total =
            bl_backing_total(&p->peak.backing);
        const double heap =
            bl_coverage(&p->peak.backing.region[BL_REGION_HEAP]);
        fprintf(out, "  %8d  %10.1f  %8.1f %%  %s\n", p->pid,
                bl_mib(total.bytes), isnan(heap) ? 0.0 : 100 * heap,
                p->executable ? p->executable : "?");
    }
    if (r->process_count > MOST)
        fprintf(out, "  and %zu more\n", r->process_count - MOST);
}

static void text_deferral(FILE *out, const struct bl_deferral *d) {
    if (bl_has_deferral(d))
        fprintf(out,
                "  bought       %llu huge pages, as they were earned; %llu "
                "units on base pages at the end\n",
                (unsigned long long)d->bought, (unsigned long long)d->deferred);
}

void bl_report_text(FILE *out, const struct bl_result *r) {
    const struct bl_region_backing total = bl_backing_total(&r->peak.backing);
    fputs("bigleaf:", out);
    for (char **word = r->argv; *word; word++)
        fprintf(out, " %s", *word);
    fprintf(out, "\n  exit status  %d", r->exit_status);
    if (r->signal)
        fprintf(out, " (signal %d, %s)", r->signal, strsignal(r->signal));
    fprintf(out, "\n  time         %.3f s wall, %.3f s user, %.3f s system\n",
            r->wall, r->user, r->system);
    fprintf(out, "  peak memory  %.1f MiB", bl_mib(r->peak_rss));
    if (total.hugetlb)
        fprintf(out, ", %.1f MiB of it from the hugetlb pool",
                bl_mib(total.hugetlb));
    fprintf(out, "\n  page faults  %llu minor, %llu major\n",
            (unsigned long long)r->minor_faults,
            (unsigned long long)r->major_faults);
    if (r->mechanism == BL_MECHANISM_INJECTED)
        fprintf(out, "  keeper       %.3f s for %llu calls of memory\n",
                r->keeper, (unsigned long long)r->keeper_calls);
    fprintf(out, "  heap by      %s: %s\n", bl_mechanism_names[r->mechanism],
            r->mechanism_why);
    if (total.bytes)
        fprintf(out, "  huge pages   %.1f %% of memory at the peak\n",
                100 * bl_coverage(&total));
    text_deferral(out, &r->deferral);
    if (r->peak.processes)
        text_regions(out, r);
    text_processes(out, r);
    text_fallbacks(out, r);
    fflush(out);
}

void bl_report_regions(struct bl_json *j, const char *key,
                       const struct bl_backing *backing) {
    bl_json_open(j, key, '{');
    for (int i = 0; i < BL_REGIONS; i++) {
        const struct bl_region_backing *r = &backing->region[i];
        bl_json_open(j, bl_region_names[i], '{');
        bl_json_u64(j, "bytes", r->bytes);
        bl_json_u64(j, "huge_bytes", r->huge);
        bl_json_u64(j, "hugetlb_bytes", r->hugetlb);
        bl_json_u64(j, "pss_bytes", r->pss);
        bl_json_close(j, '}');
    }
    bl_json_close(j, '}');
}

static void json_fallbacks(struct bl_json *j, const struct bl_result *r) {
    struct bl_fallbacks f;
    bl_explain(r, &f);
    bl_json_open(j, "fallbacks", '[');
    for (size_t i = 0; i < f.count; i++) {
        bl_json_open(j, NULL, '{');
        bl_json_string(j, "region", bl_region_names[f.at[i].region]);
        bl_json_string(j, "object", f.at[i].object);
        bl_json_u64(j, "bytes", f.at[i].bytes);
        bl_json_string(j, "reason", f.at[i].reason);
        bl_json_close(j, '}');
    }
    bl_json_close(j, ']');
    bl_fallbacks_free(&f);
}

static void json_deferral(struct bl_json *j, const struct bl_deferral *d) {
    bl_json_open(j, "deferral", '{');
    bl_json_u64(j, "units_deferred", d->deferred);
    bl_json_u64(j, "units_bought", d->bought);
    bl_json_real(j, "huge_page_seconds", (double)d->price_us / 1e6, 6);
    bl_json_close(j, '}');
}

static void json_processes(struct bl_json *j, const struct bl_result *r) {
    bl_json_open(j, "processes", '[');
    for (size_t i = 0; i < r->process_count; i++) {
        const struct bl_process *p = &r->processes[i];
        bl_json_open(j, NULL, '{');
        bl_json_i64(j, "pid", p->pid);
        bl_json_i64(j, "ppid", p->parent);
        bl_json_string(j, "exe", p->executable ? p->executable : "");
        if (p->have_backing) {
            bl_report_regions(j, "peak", &p->peak.backing);
            bl_report_regions(j, "end", &p->end);
        }
        if (bl_has_deferral(&p->deferral))
            json_deferral(j, &p->deferral);
        bl_json_close(j, '}');
    }
    bl_json_close(j, ']');
}

void bl_report_members(struct bl_json *j, const struct bl_result *r) {
    const struct bl_region_backing total = bl_backing_total(&r->peak.backing);
    bl_json_string(j, "schema", "bigleaf.run/1");
    bl_json_open(j, "command", '[');
    for (char **word = r->argv; *word; word++)
        bl_json_string(j, NULL, *word);
    bl_json_close(j, ']');
    bl_json_i64(j, "exit_status", r->exit_status);
    if (r->signal)
        bl_json_i64(j, "signal", r->signal);
    bl_json_real(j, "wall_seconds", r->wall, 6);
    bl_json_real(j, "user_seconds", r->user, 6);
    bl_json_real(j, "system_seconds", r->system, 6);
    bl_json_real(j, "keeper_seconds", r->keeper, 6);
    bl_json_u64(j, "peak_rss_kib", r->peak_rss / BL_KIB);
    bl_json_u64(j, "peak_hugetlb_kib", total.hugetlb / BL_KIB);
    bl_json_u64(j, "minor_faults", r->minor_faults);
    bl_json_u64(j, "major_faults", r->major_faults);
    bl_json_real(j, "huge_coverage", total.bytes ? bl_coverage(&total) : 0, 4);
    bl_report_regions(j, "regions", &r->peak.backing);
    bl_report_regions(j, "regions_at_end", &r->end.backing);
    bl_json_open(j, "mechanisms", '{');
    bl_json_string(j, "heap", bl_mechanism_names[r->mechanism]);
    bl_json_string(j, "heap_reason", r->mechanism_why);
    bl_json_string(j, "text", bl_text_mechanism_names[r->peak.text]);
    bl_json_close(j, '}');
    if (bl_has_deferral(&r->deferral))
        json_deferral(j, &r->deferral);
    json_fallbacks(j, r);
    json_processes(j, r);
}

void bl_report_json(FILE *out, const struct bl_result *r) {
    struct bl_json j = {.out = out};
    bl_json_open(&j, NULL, '{');
    bl_report_members(&j, r);
    bl_json_close(&j, '}');
    fputc('\n', out);
    fflush(out);
}
