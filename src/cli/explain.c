// SPDX-License-Identifier: MIT
//
// Objects with little outside huge pages are summed up as one per region, so
// that forty small libraries do not hide the one that matters.
//
#include "cli/explain.h"

#include "os/machine.h"

#include <stdlib.h>
#include <string.h>

#define WORTH_NAMING (256 * BL_KIB)

void bl_fallbacks_free(struct bl_fallbacks *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->at[i].object);
        free(f->at[i].reason);
    }
    free(f->at);
    *f = (struct bl_fallbacks){0};
}

static void add(struct bl_fallbacks *f, enum bl_region region,
                const char *object, uint64_t bytes, const char *reason) {
    for (size_t i = 0; i < f->count; i++) {
        struct bl_fallback *b = &f->at[i];
        if (b->region == region && strcmp(b->object, object) == 0 &&
            strcmp(b->reason, reason) == 0) {
            b->bytes += bytes;
            return;
        }
    }
    f->at = bl_xrealloc(f->at, (f->count + 1) * sizeof *f->at);
    f->at[f->count++] = (struct bl_fallback){region, bl_xstrdup(object), bytes,
                                             bl_xstrdup(reason)};
}

// What keeps the whole program off huge pages; NULL: nothing.
static const char *general_reason(const struct bl_result *r,
                                  enum bl_thp_mode mode) {
    if (r->thp_disabled)
        return "huge pages are switched off for this process "
               "(PR_SET_THP_DISABLE)";
    if (mode == BL_THP_NEVER)
        return "the machine's THP mode is never";
    if (mode == BL_THP_ABSENT)
        return "the kernel is built without THP";
    return NULL;
}

static bool asked_for_base(const struct bl_result *r) {
    return r->pages && strcmp(r->pages, "base") == 0;
}

// Why the kernel had no huge page where it would have given one. Read once,
// after the run: a guess where the machine has changed since, and worded so.
static const char *shortage_reason(const struct bl_result *r) {
    static char text[160];
    struct bl_machine m;
    if (text[0])
        return text;
    bl_machine_read(&m, "");
    if (m.cgroup_limit != BL_NO_LIMIT &&
        r->peak_rss + 2 * BL_HUGE_SIZE > m.cgroup_limit)
        snprintf(text, sizeof text,
                 "the kernel had no huge page: the memory cgroup's limit of "
                 "%llu MiB was near",
                 (unsigned long long)m.cgroup_limit >> 20);
    else if (m.free_huge_blocks == 0)
        snprintf(text, sizeof text,
                 "the kernel had no huge page: memory is fragmented (echo 1 | "
                 "sudo tee " BL_MACHINE_COMPACT " mends it for a while)");
    else
        snprintf(text, sizeof text,
                 "the kernel had no huge page at the first touch, or was asked "
                 "after it");
    return text;
}

static const char *advice_reason(const struct bl_result *r) {
    static char text[160];
    if (r->advice_refusals == 0)
        return "the kernel gives no huge pages for this part of the heap";
    snprintf(text, sizeof text,
             "the kernel refused MADV_HUGEPAGE (%s): a seccomp filter, or no "
             "THP",
             strerror(r->refusal_errno));
    return text;
}

// Where units were deferred, what is advised base pages is theirs but for a
// little. Those that were bought since had been plain at the peak, or may have
// been.
static const char *deferral_reason(const struct bl_result *r) {
    static char text[240];
    char price[64] = "is dear";
    if (r->peak_deferral.price_us)
        snprintf(price, sizeof price, "takes %.1f ms",
                 (double)r->peak_deferral.price_us / 1e3);
    snprintf(text, sizeof text,
             "not earned yet: a fresh huge page %s here, and such pages may "
             "take %u %% of the CPU time (BIGLEAF_HUGE_PERCENT); --pages=thp "
             "has them at once",
             price, (unsigned)r->huge_percent);
    return text;
}

// A process that was killed does not say what it deferred.
static bool may_have_deferred(const struct bl_result *r) {
    struct bl_machine m;
    if (r->peak_told || r->mechanism != BL_MECHANISM_BIGLEAF ||
        r->huge_percent >= BL_NO_HUGE_LIMIT)
        return false;
    bl_machine_read(&m, "");
    return m.page_reporting == 1;
}

static const char *refused_reason(const struct bl_result *r) {
    if (bl_has_deferral(&r->peak_deferral))
        return deferral_reason(r);
    return may_have_deferred(r)
               ? "not earned yet, as far as one can tell of a program that was "
                 "killed: fresh huge pages are dear here; --pages=thp has them "
                 "at once"
               : "the runtime keeps tails of large objects, and its own small "
                 "tables, on base pages to save memory";
}

static const char *own_heap_reason(const struct bl_result *r,
                                   enum bl_cause cause) {
    switch (cause) {
    case BL_CAUSE_REFUSED:
        return refused_reason(r);
    case BL_CAUSE_SMALL:
        return "pieces without a whole aligned 2 MiB";
    case BL_CAUSE_TAIL:
        return "huge pages only partly in use yet";
    case BL_CAUSE_SHORTAGE:
        return shortage_reason(r);
    case BL_CAUSE_UNADVISED:
        return advice_reason(r);
    case BL_CAUSE_NONE:
    case BL_CAUSES:
        break;
    }
    return "";
}

static const char *unadvised_heap_reason(const struct bl_result *r) {
    if (r->mechanism == BL_MECHANISM_TUNABLE)
        return "an arena of threads, which the tunable does not reach; "
               "--heap=injected does";
    return r->keeper_filtered
               ? "asked for under a seccomp filter of the program's own"
               : "nobody advised huge pages here";
}

static const char *unadvised_reason(const struct bl_result *r,
                                    enum bl_region region) {
    switch (region) {
    case BL_REGION_TEXT:
        return "the page cache holds this file in base pages; --image=on moves "
               "text to huge ones";
    case BL_REGION_DATA:
        return "static data stays where the loader put it";
    case BL_REGION_STACK:
        return "stacks are left alone";
    case BL_REGION_OTHER:
        return "the program maps this for itself, past malloc";
    case BL_REGION_HEAP:
        return unadvised_heap_reason(r);
    case BL_REGIONS:
        break;
    }
    return "";
}

static const char *mapping_reason(const struct bl_result *r,
                                  enum bl_region region, enum bl_cause cause) {
    switch (cause) {
    case BL_CAUSE_REFUSED:
        return "the program advised against huge pages (MADV_NOHUGEPAGE)";
    case BL_CAUSE_SMALL:
        return "mappings without a whole aligned 2 MiB";
    case BL_CAUSE_TAIL:
        return "huge pages only partly in use";
    case BL_CAUSE_SHORTAGE:
        return shortage_reason(r);
    case BL_CAUSE_UNADVISED:
        return unadvised_reason(r, region);
    case BL_CAUSE_NONE:
    case BL_CAUSES:
        break;
    }
    return "";
}

// What the runtime says of this object's text; NULL: nothing.
static const char *image_reason(const struct bl_result *r, const char *object) {
    for (size_t i = 0; i < r->note_count; i++) {
        if (strcmp(r->notes[i].object, object) == 0 && r->notes[i].reason[0])
            return r->notes[i].reason;
    }
    return NULL;
}

static const char *reason_of(const struct bl_result *r, enum bl_region region,
                             const char *object, enum bl_cause cause,
                             const char *general) {
    const char *image =
        region == BL_REGION_TEXT ? image_reason(r, object) : NULL;
    if (region == BL_REGION_HEAP && asked_for_base(r))
        return "asked for by --pages=base or BIGLEAF_PAGES";
    const bool own = strcmp(object, BL_OWN_HEAP) == 0;
    if (general && (own || cause != BL_CAUSE_SMALL))
        return general;
    if (own)
        return own_heap_reason(r, cause);
    if (region == BL_REGION_HEAP && r->mechanism == BL_MECHANISM_NONE)
        return r->mechanism_why;
    return image ? image : mapping_reason(r, region, cause);
}

static void explain_objects(const struct bl_result *r, const char *general,
                            struct bl_fallbacks *out) {
    uint64_t rest[BL_REGIONS] = {0};
    for (size_t i = 0; i < r->peak.object_count; i++) {
        const struct bl_object *o = &r->peak.objects[i];
        for (int cause = 0; cause < BL_CAUSES; cause++) {
            const uint64_t plain = o->plain[cause];
            if (plain >= WORTH_NAMING)
                add(out, o->region, o->name, plain,
                    reason_of(r, o->region, o->name, (enum bl_cause)cause,
                              general));
            else
                rest[o->region] += plain;
        }
    }
    for (int i = 0; i < BL_REGIONS; i++) {
        if (rest[i])
            add(out, (enum bl_region)i, "smaller objects", rest[i],
                "less than 256 KiB each");
    }
}

static int by_region_and_size(const void *a, const void *b) {
    const struct bl_fallback *x = a;
    const struct bl_fallback *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

void bl_explain(const struct bl_result *r, struct bl_fallbacks *out) {
    *out = (struct bl_fallbacks){0};
    const char *general = general_reason(r, bl_machine_thp_mode());
    if (r->mechanism_failed)
        add(out, BL_REGION_HEAP, r->argv[0], 0, r->mechanism_why);
    if (r->keeper_filtered)
        add(out, BL_REGION_HEAP, r->argv[0], 0,
            "served up to where it, or what it started, set a seccomp filter, "
            "which might end it for a call of ours");
    if (r->pages && strcmp(r->pages, "hugetlb") == 0 && r->pool_refusals)
        add(out, BL_REGION_HEAP, "hugetlb pool", 0,
            "it had too few free pages; THP served instead");
    if (r->peak.processes == 0) {
        add(out, BL_REGION_OTHER, r->argv[0], 0,
            "the kernel did not say what backs the program: no /proc, or it "
            "ended before it could be read");
        return;
    }
    explain_objects(r, general, out);
    if (out->count)
        qsort(out->at, out->count, sizeof *out->at, by_region_and_size);
}
