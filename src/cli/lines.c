// SPDX-License-Identifier: MIT
#include "cli/lines.h"

#include "cli/inject.h"
#include "cli/json.h"
#include "os/file.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_AFTER_SECONDS 0.05
#define KEEPER_WAIT_MS 200

static bool read_backing(const char *line, const char *moment,
                         struct bl_backing *out) {
    *out = (struct bl_backing){0};
    bool any = false;
    for (int i = 0; i < BL_REGIONS; i++) {
        struct bl_region_backing *r = &out->region[i];
        char path[64];
        const struct {
            const char *key;
            uint64_t *value;
        } members[] = {{"bytes", &r->bytes},
                       {"huge_bytes", &r->huge},
                       {"hugetlb_bytes", &r->hugetlb},
                       {"pss_bytes", &r->pss}};
        for (size_t k = 0; k < BL_ARRAY_LEN(members); k++) {
            snprintf(path, sizeof path, "%s.%s.%s", moment, bl_region_names[i],
                     members[k].key);
            any |= bl_json_get_u64(line, path, members[k].value);
        }
    }
    return any;
}

// The index of a string member among `count` names; `count`: none of them.
static int name_index(const char *text, const char *key,
                      const char *const *names, int count) {
    char *word = bl_json_get_string(text, key);
    int i = 0;
    while (i < count && (!word || strcmp(word, names[i]) != 0))
        i++;
    free(word);
    return i;
}

static void read_parts(const char *line, struct bl_snapshot *out) {
    const char *array = bl_json_find(line, "parts");
    for (const char *p = NULL; array && (p = bl_json_next(array, p));) {
        const int region = name_index(p, "region", bl_region_names, BL_REGIONS);
        const int cause = name_index(p, "cause", bl_cause_names, BL_CAUSES);
        uint64_t bytes = 0;
        char *object = bl_json_get_string(p, "object");
        if (object && region < BL_REGIONS && cause < BL_CAUSES &&
            bl_json_get_u64(p, "bytes", &bytes))
            bl_snapshot_add_object(out, (enum bl_region)region, object,
                                   (enum bl_cause)cause, bytes);
        free(object);
    }
}

static void add_note(struct bl_result *result, char *object, char *reason) {
    for (size_t i = 0; i < result->note_count; i++) {
        if (strcmp(result->notes[i].object, object) == 0) {
            free(object);
            free(reason);
            return;
        }
    }
    result->notes = bl_xrealloc(result->notes, (result->note_count + 1) *
                                                   sizeof *result->notes);
    result->notes[result->note_count++] =
        (struct bl_image_note){object, reason};
}

static void read_image(const char *line, struct bl_result *result,
                       struct bl_snapshot *peak) {
    const char *array = bl_json_find(line, "image");
    for (const char *p = NULL; array && (p = bl_json_next(array, p));) {
        const int mechanism = name_index(
            p, "mechanism", bl_text_mechanism_names, BL_TEXT_MECHANISMS);
        uint64_t huge = 0;
        char *object = bl_json_get_string(p, "object");
        char *reason = bl_json_get_string(p, "reason");
        if (bl_json_get_u64(p, "huge_bytes", &huge) && huge &&
            mechanism < BL_TEXT_MECHANISMS && mechanism > (int)peak->text)
            peak->text = (enum bl_text_mechanism)mechanism;
        if (object && reason)
            add_note(result, object, reason);
    }
}

static void read_refusals(const char *line, struct bl_result *result) {
    uint64_t pool = 0;
    uint64_t advice = 0;
    uint64_t error = 0;
    bl_json_get_u64(line, "statistics.hugetlb_refused", &pool);
    bl_json_get_u64(line, "statistics.advice_refused", &advice);
    result->pool_refusals += pool;
    result->advice_refusals += advice;
    if (bl_json_get_u64(line, "statistics.last_refusal_errno", &error) &&
        error && error < 4096)
        result->refusal_errno = (int)error;
}

static void read_deferral(const char *line, struct bl_deferral *out) {
    *out = (struct bl_deferral){0};
    bl_json_get_u64(line, "statistics.units_deferred", &out->ever);
    bl_json_get_u64(line, "statistics.units_deferred_now", &out->deferred);
    bl_json_get_u64(line, "statistics.units_bought", &out->bought);
    bl_json_get_u64(line, "statistics.huge_price_us", &out->price_us);
}

// Of processes that never had to wait for huge pages, the price is no news.
static void add_deferral(struct bl_deferral *sum, const struct bl_deferral *d) {
    if (!bl_has_deferral(d))
        return;
    sum->ever += d->ever;
    sum->deferred += d->deferred;
    sum->bought += d->bought;
    if (d->price_us > sum->price_us)
        sum->price_us = d->price_us;
}

// The keeper's word on a program whose calls of memory it was to serve.
static void take_injection(struct bl_result *result, const char *line) {
    char *reason = bl_json_get_string(line, "reason");
    uint64_t cpu_us = 0;
    bl_json_get_u64(line, "cpu_us", &cpu_us);
    bl_json_get_u64(line, "calls", &result->keeper_calls);
    bl_json_get_u64(line, "filtered", &result->keeper_filtered);
    result->keeper = (double)cpu_us / 1e6;
    if (!reason || result->mechanism != BL_MECHANISM_INJECTED) {
        free(reason);
        return;
    }
    free(result->mechanism_why);
    result->mechanism = BL_MECHANISM_NONE;
    result->mechanism_failed = true;
    result->mechanism_why = reason;
}

static void take_line(struct bl_result *result, const char *line) {
    struct bl_process p = {0};
    uint64_t pid = 0;
    uint64_t parent = 0;
    uint64_t disabled = 0;
    char *schema = bl_json_get_string(line, "schema");
    const bool ours = schema && strcmp(schema, "bigleaf.process/1") == 0 &&
                      bl_json_get_u64(line, "pid", &pid);
    if (schema && strcmp(schema, BL_INJECT_SCHEMA) == 0)
        take_injection(result, line);
    free(schema);
    if (!ours)
        return;
    bl_json_get_u64(line, "ppid", &parent);
    p.pid = (int)pid;
    p.parent = (int)parent;
    p.executable = bl_json_get_string(line, "exe");
    p.have_backing = read_backing(line, "end", &p.end);
    bl_snapshot_init(&p.peak);
    p.peak.processes = p.have_backing;
    if (!read_backing(line, "peak", &p.peak.backing))
        p.peak.backing = p.end;
    read_parts(line, &p.peak);
    read_image(line, result, &p.peak);
    read_refusals(line, result);
    read_deferral(line, &p.deferral);
    add_deferral(&result->deferral, &p.deferral);
    p.thp_disabled =
        bl_json_get_u64(line, "thp_disabled", &disabled) && disabled;
    p.line = bl_xstrdup(line);
    result->processes =
        bl_xrealloc(result->processes,
                    (result->process_count + 1) * sizeof *result->processes);
    result->processes[result->process_count++] = p;
}

// Where a limit on the size of files leaves no room, the line is lost; it does
// not end this command.
static void append(const char *file, const char *line) {
    FILE *out = fopen(file, "ae");
    if (!out)
        return;
    void (*const before)(int) = signal(SIGXFSZ, SIG_IGN);
    fputs(line, out);
    fclose(out);
    signal(SIGXFSZ, before);
}

static void prefer_peak(struct bl_result *r, struct bl_process *p) {
    const uint64_t bytes = bl_backing_total(&p->peak.backing).bytes;
    const enum bl_text_mechanism text =
        p->peak.text > r->peak.text ? p->peak.text : r->peak.text;
    if (bytes > bl_backing_total(&r->peak.backing).bytes) {
        bl_snapshot_free(&r->peak);
        r->peak = p->peak;
        r->peak_deferral = p->deferral;
        r->peak_told = true;
        // The process keeps the sums, the result has the objects.
        p->peak.objects = NULL;
        p->peak.object_count = 0;
    }
    r->peak.text = text;
    if (bytes > r->peak_rss)
        r->peak_rss = bytes;
}

// A process knows its own peak and end better than a sampler does; the first
// process outlives its children, so its end is the end.
static void prefer_own_lines(struct bl_result *r) {
    r->peak_deferral = r->deferral;
    for (size_t i = 0; i < r->process_count; i++) {
        struct bl_process *p = &r->processes[i];
        r->thp_disabled |= p->thp_disabled;
        if (!p->have_backing)
            continue;
        prefer_peak(r, p);
        if (p->pid == r->pid) {
            r->end.backing = p->end;
            r->end.processes = 1;
        }
    }
}

// A plan is a hope; this is what was seen. Short programs may end before
// anything is.
static void verify_mechanism(struct bl_result *r) {
    const bool watched = r->peak.processes > 0 && r->wall > SEEN_AFTER_SECONDS;
    if (r->mechanism != BL_MECHANISM_BIGLEAF || r->process_count > 0 ||
        r->peak.backing.territory || !watched)
        return;
    free(r->mechanism_why);
    r->mechanism = BL_MECHANISM_NONE;
    r->mechanism_failed = true;
    r->mechanism_why =
        bl_xstrdup("the runtime was not seen in the program: LD_PRELOAD was "
                   "taken from its environment, or was not heeded");
}

static bool keeper_has_written(const char *file) {
    FILE *in = fopen(file, "re");
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    while (in && !found && getline(&line, &capacity, in) > 0)
        found = strstr(line, "\"" BL_INJECT_SCHEMA "\"") != NULL;
    free(line);
    if (in)
        fclose(in);
    return found;
}

// It learns of the program's end when this command does, and then writes.
static void await_keeper(const char *file) {
    for (unsigned ms = 0; ms < KEEPER_WAIT_MS && !keeper_has_written(file);
         ms++)
        bl_file_sleep_ms(1);
}

void bl_lines_collect(struct bl_result *result, const char *file,
                      const char *onward) {
    if (file && result->mechanism == BL_MECHANISM_INJECTED)
        await_keeper(file);
    FILE *in = file ? fopen(file, "re") : NULL;
    char *line = NULL;
    size_t capacity = 0;
    while (in && getline(&line, &capacity, in) > 0) {
        if (onward && onward[0])
            append(onward, line);
        line[strcspn(line, "\n")] = '\0';
        take_line(result, line);
    }
    free(line);
    if (in)
        fclose(in);
    verify_mechanism(result);
    prefer_own_lines(result);
    if (result->end.processes == 0) {
        result->end.backing = result->peak.backing;
        result->end.processes = result->peak.processes;
    }
}
