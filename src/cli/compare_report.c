// SPDX-License-Identifier: MIT
//
// What came of a comparison: for people a table beside base for each variant,
// for programs one object.
//
#include "cli/compare.h"

#include "cli/statistics.h"

#include <math.h>
#include <stdlib.h>

// What the table and the ratios show of a run.
static const struct measure {
    const char *name; // in JSON
    const char *head;
    int decimals;
    bool ratio;
} measures[] = {{"wall", "wall s", 3, true},
                {"cpu", "cpu s", 3, true},
                {"user", "user s", 3, true},
                {"system", "system s", 3, true},
                {"peak_rss", "memory MiB", 1, true},
                {"minor_faults", "faults", 0, true},
                {"huge_coverage", "huge %", 1, false},
                {"heap_coverage", "heap huge %", 1, false}};

static double percent(const struct bl_region_backing *r) {
    return r->bytes ? 100 * bl_coverage(r) : 0;
}

static double value_of(const struct bl_result *r, size_t measure) {
    const struct bl_region_backing total = bl_backing_total(&r->peak.backing);
    switch (measure) {
    case 0:
        return r->wall;
    case 1:
        return r->user + r->system + r->keeper;
    case 2:
        return r->user;
    case 3:
        return r->system;
    case 4:
        return (double)r->peak_rss / (double)BL_MIB;
    case 5:
        return (double)r->minor_faults;
    case 6:
        return percent(&total);
    default:
        return percent(&r->peak.backing.region[BL_REGION_HEAP]);
    }
}

// The measured values of one variant, round by round; to be freed.
static double *values(const struct bl_comparison *c, size_t variant,
                      size_t measure, size_t *count) {
    double *x = bl_xrealloc(NULL, (c->runs + 1) * sizeof *x);
    *count = 0;
    for (size_t i = 0; i < c->sample_count; i++) {
        if (c->samples[i].variant == variant)
            x[(*count)++] = value_of(&c->samples[i].result, measure);
    }
    return x;
}

static double median_of(const struct bl_comparison *c, size_t variant,
                        size_t measure) {
    size_t n;
    double *x = values(c, variant, measure, &n);
    const double median = bl_median(x, n);
    free(x);
    return median;
}

static struct bl_interval ratio_of(const struct bl_comparison *c,
                                   size_t variant, size_t measure) {
    size_t n;
    double *a = values(c, variant, measure, &n);
    double *b = values(c, BL_VARIANT_BASE, measure, &n);
    const struct bl_interval ratio = bl_ratio(a, b, n);
    free(a);
    free(b);
    return ratio;
}

// A single round has a ratio and no interval.
static void text_ratio(FILE *out, const struct bl_comparison *c, size_t variant,
                       size_t measure) {
    const struct bl_interval r = ratio_of(c, variant, measure);
    if (isnan(r.median))
        fputs("       -", out);
    else if (c->runs == 1)
        fprintf(out, "   %5.3f", r.median);
    else
        fprintf(out, "   %5.3f   %.3f to %.3f", r.median, r.low, r.high);
}

// One variant beside base: medians, and the ratio where one makes sense.
static void text_beside(FILE *out, const struct bl_comparison *c,
                        size_t variant) {
    fprintf(out, "\n%-12s %12s %12s   ratio%s\n", "median",
            c->variants[BL_VARIANT_BASE].name, c->variants[variant].name,
            c->runs == 1 ? "" : "   95 % interval");
    for (size_t k = 0; k < BL_ARRAY_LEN(measures); k++) {
        const struct measure *m = &measures[k];
        fprintf(out, "%-12s %12.*f %12.*f", m->head, m->decimals,
                median_of(c, BL_VARIANT_BASE, k), m->decimals,
                median_of(c, variant, k));
        if (m->ratio)
            text_ratio(out, c, variant, k);
        fputc('\n', out);
    }
}

// Why a variant's heap is less on huge pages than it could be.
static void text_deferral(FILE *out, const struct bl_comparison *c,
                          size_t variant) {
    const struct bl_result *dearest = NULL;
    for (size_t i = 0; i < c->sample_count; i++) {
        const struct bl_result *r = &c->samples[i].result;
        if (c->samples[i].variant == variant && bl_has_deferral(&r->deferral) &&
            (!dearest || r->deferral.price_us > dearest->deferral.price_us))
            dearest = r;
    }
    if (!dearest)
        return;
    fprintf(out, "%s bought huge pages as it earned them: ",
            c->variants[variant].name);
    if (dearest->deferral.price_us > 0)
        fprintf(out, "a fresh one takes %.1f ms here; ",
                (double)dearest->deferral.price_us / 1e3);
    fputs("--pages=thp has them at once\n", out);
}

void bl_comparison_text(const struct bl_comparison *c, FILE *out) {
    for (char **word = c->argv; *word; word++)
        fprintf(out, "%s%s", word == c->argv ? "" : " ", *word);
    fprintf(out, "\n%zu round%s, one more to warm up\n", c->runs,
            c->runs == 1 ? "" : "s");
    for (size_t v = 1; v < c->variant_count; v++)
        text_beside(out, c, v);
    fprintf(out, "\noutput: %s\n", bl_sameness_names[c->sameness]);
    if (c->sameness > BL_SAME_TEXT && c->where)
        fprintf(out, "  %s\n", c->where);
    if (c->same_exit)
        fprintf(out, "exit status: the same, %d\n", c->reference_exit);
    else
        fputs("exit status: differs\n", out);
    if (c->variants[BL_VARIANT_BASE].plan.switches_off)
        fprintf(out, "%s has the runtime %s switched off (BIGLEAF=off)\n",
                c->variants[BL_VARIANT_BASE].name,
                bl_program_has_runtime(&c->program) ? "in the program"
                                                    : "that LD_PRELOAD names");
    for (size_t v = 0; v < c->variant_count; v++) {
        if (c->variants[v].plan.failed)
            fprintf(out, "%s has its heap by %s: %s\n", c->variants[v].name,
                    bl_mechanism_names[c->variants[v].plan.mechanism],
                    c->variants[v].plan.why);
        text_deferral(out, c, v);
    }
}

static void json_ratios(struct bl_json *j, const struct bl_comparison *c,
                        const char *key, size_t variant) {
    bl_json_open(j, key, '{');
    for (size_t k = 0; k < BL_ARRAY_LEN(measures); k++) {
        if (!measures[k].ratio)
            continue;
        const struct bl_interval r = ratio_of(c, variant, k);
        bl_json_open(j, measures[k].name, '{');
        bl_json_real(j, "median", r.median, 4);
        bl_json_real(j, "low", r.low, 4);
        bl_json_real(j, "high", r.high, 4);
        bl_json_close(j, '}');
    }
    bl_json_close(j, '}');
}

static void json_medians(struct bl_json *j, const struct bl_comparison *c) {
    bl_json_open(j, "medians", '{');
    for (size_t v = 0; v < c->variant_count; v++) {
        bl_json_open(j, c->variants[v].name, '{');
        for (size_t k = 0; k < BL_ARRAY_LEN(measures); k++)
            bl_json_real(j, measures[k].name, median_of(c, v, k), 6);
        bl_json_close(j, '}');
    }
    bl_json_close(j, '}');
}

void bl_comparison_json(const struct bl_comparison *c, FILE *out) {
    struct bl_json j = {.out = out};
    bl_json_open(&j, NULL, '{');
    bl_json_string(&j, "schema", "bigleaf.compare/1");
    bl_json_open(&j, "command", '[');
    for (char **word = c->argv; *word; word++)
        bl_json_string(&j, NULL, *word);
    bl_json_close(&j, ']');
    bl_json_open(&j, "runs", '[');
    for (size_t i = 0; i < c->sample_count; i++) {
        bl_json_open(&j, NULL, '{');
        bl_json_string(&j, "variant", c->variants[c->samples[i].variant].name);
        bl_report_members(&j, &c->samples[i].result);
        bl_json_close(&j, '}');
    }
    bl_json_close(&j, ']');
    json_ratios(&j, c, "ratio", BL_VARIANT_OURS);
    bl_json_open(&j, "ratios", '{');
    for (size_t v = 1; v < c->variant_count; v++)
        json_ratios(&j, c, c->variants[v].name, v);
    bl_json_close(&j, '}');
    json_medians(&j, c);
    bl_json_bool(&j, "same_output", c->sameness <= BL_SAME_TEXT);
    bl_json_string(&j, "output", bl_sameness_names[c->sameness]);
    bl_json_string(&j, "difference", c->where ? c->where : "");
    bl_json_bool(&j, "same_exit", c->same_exit);
    bl_json_close(&j, '}');
    fputc('\n', out);
}
