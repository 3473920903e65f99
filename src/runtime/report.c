// SPDX-License-Identifier: MIT
//
// Everything is put together in static memory, of one thread at a time:
// readings may come from any, and a stack may be small. Pages of it that no
// report needs are never touched.
//
// Who ends the process waits for the thread that has it: a reading on another
// thread ends soon, and the end of the process would cut its line off. Where it
// is the same thread, a signal's handler ends the process over a reading that
// never goes on: then it has it.
//
#include "runtime/report.h"

#include "base/base.h"
#include "image/image.h"
#include "os/backing.h"
#include "os/file.h"
#include "os/os.h"

#define PARTS 32
#define PART_NAME 256
// As many parts and records of the image as there may be, and six characters
// for each of their names'.
#define LINE_CAPACITY (128 * BL_KIB)
#define PART_WORTH (64 * BL_KIB) // smaller ones are summed up
// The line may go where somebody must take it, or to a machine that is slow.
#define MOST_WAIT_MS 10000

// Bytes of one object that are not huge, for one cause.
struct part {
    enum bl_region region;
    enum bl_cause cause;
    uint64_t bytes;
    char object[PART_NAME];
};

struct reading {
    struct bl_backing backing;
    struct part parts[PARTS];
    size_t part_count;
    uint64_t rest[BL_REGIONS]; // of parts that found no room, or are small
};

static struct {
    _Atomic(int) holder; // the thread that has all that follows; 0: none
    int reported;        // the process that has reported its end
    int pid;             // whose peak is kept; 0: none yet
    unsigned peak;       // which of the readings that is
    struct reading readings[2];
    char program[PART_NAME];
    char line[LINE_CAPACITY];
} report;

// Pairs with the release of `unlock_report`.
static bool try_lock_report(int *holder) {
    *holder = 0;
    return bl_cas_strong_acq_rel(&report.holder, holder, bl_os_thread_id());
}

static void unlock_report(void) { bl_store_release(&report.holder, 0); }

static bool lock_report(void) {
    int holder;
    for (int waited = 0; !try_lock_report(&holder); waited++) {
        if (holder == bl_os_thread_id())
            return true;
        if (waited == MOST_WAIT_MS)
            return false;
        bl_file_sleep_ms(1);
    }
    return true;
}

void bl_report_after_fork_in_child(void) { unlock_report(); }

static void copy_name(char *to, const char *from) {
    struct bl_text t;
    bl_text_init(&t, to, PART_NAME);
    bl_text_str(&t, from);
}

static struct part *find_part(struct reading *r, const struct bl_mapping *m,
                              enum bl_cause cause) {
    for (size_t i = r->part_count; i-- > 0;) {
        struct part *p = &r->parts[i];
        if (p->region == m->region && p->cause == cause &&
            bl_str_eq(p->object, m->object))
            return p;
    }
    return NULL;
}

static void take_mapping(const struct bl_mapping *m, void *context) {
    struct reading *r = context;
    uint64_t plain;
    const enum bl_cause cause = bl_mapping_cause(m, &plain);
    // Where the link of /proc says nothing, the first file mapped with code.
    if (report.program[0] == '\0' && m->executable && m->path[0] == '/')
        copy_name(report.program, m->path);
    if (plain == 0)
        return;
    struct part *p = find_part(r, m, cause);
    if (p) {
        p->bytes += plain;
    } else if (plain >= PART_WORTH && r->part_count < PARTS) {
        p = &r->parts[r->part_count++];
        *p = (struct part){.region = m->region, .cause = cause, .bytes = plain};
        copy_name(p->object, m->object);
    } else {
        r->rest[m->region] += plain;
    }
}

// 0 or -errno.
static int read_now(struct reading *r) {
    r->part_count = 0;
    for (int i = 0; i < BL_REGIONS; i++)
        r->rest[i] = 0;
    // Its text may be mapped from a shadow.
    bl_file_program_path(report.program, sizeof report.program);
    return bl_backing_read(0, &r->backing, take_mapping, r);
}

static bool is_more(const struct reading *a, const struct reading *b) {
    return bl_backing_total(&a->backing).bytes >
           bl_backing_total(&b->backing).bytes;
}

void bl_report_peak(void) {
    const int pid = bl_os_pid();
    int holder;
    if (!try_lock_report(&holder))
        return;
    struct reading *const now = &report.readings[!report.peak];
    if (read_now(now) == 0 &&
        (report.pid != pid || is_more(now, &report.readings[report.peak]))) {
        report.peak = !report.peak;
        report.pid = pid;
    }
    unlock_report();
}

static void put_key(struct bl_text *t, const char *key) {
    bl_text_json(t, key);
    bl_text_char(t, ':');
}

static void put_number(struct bl_text *t, const char *key, uint64_t value) {
    bl_text_char(t, ',');
    put_key(t, key);
    bl_text_u64(t, value);
}

static void put_string(struct bl_text *t, const char *key, const char *value) {
    bl_text_char(t, ',');
    put_key(t, key);
    bl_text_json(t, value);
}

static void put_backing(struct bl_text *t, const char *key,
                        const struct bl_backing *b) {
    bl_text_char(t, ',');
    put_key(t, key);
    for (int i = 0; i < BL_REGIONS; i++) {
        const struct bl_region_backing *r = &b->region[i];
        bl_text_char(t, i ? ',' : '{');
        put_key(t, bl_region_names[i]);
        bl_text_str(t, "{\"bytes\":");
        bl_text_u64(t, r->bytes);
        put_number(t, "huge_bytes", r->huge);
        put_number(t, "hugetlb_bytes", r->hugetlb);
        put_number(t, "pss_bytes", r->pss);
        bl_text_char(t, '}');
    }
    bl_text_char(t, '}');
}

static void put_part(struct bl_text *t, enum bl_region region,
                     const char *object, enum bl_cause cause, uint64_t bytes) {
    if (t->data[t->len - 1] == '}')
        bl_text_char(t, ',');
    bl_text_str(t, "{\"region\":");
    bl_text_json(t, bl_region_names[region]);
    put_string(t, "object", object);
    put_string(t, "cause", bl_cause_names[cause]);
    put_number(t, "bytes", bytes);
    bl_text_char(t, '}');
}

static void put_parts(struct bl_text *t, const struct reading *r) {
    bl_text_str(t, ",\"parts\":[");
    for (size_t i = 0; i < r->part_count; i++)
        put_part(t, r->parts[i].region, r->parts[i].object, r->parts[i].cause,
                 r->parts[i].bytes);
    for (int i = 0; i < BL_REGIONS; i++) {
        if (r->rest[i])
            put_part(t, (enum bl_region)i, "smaller objects", BL_CAUSE_SMALL,
                     r->rest[i]);
    }
    bl_text_char(t, ']');
}

static void put_image(struct bl_text *t) {
    const struct bl_image_record *records;
    const uint32_t count = bl_image_records(&records);
    bl_text_str(t, ",\"image\":[");
    for (uint32_t i = 0; i < count; i++) {
        const struct bl_image_record *r = &records[i];
        bl_text_str(t, i ? ",{\"object\":" : "{\"object\":");
        bl_text_json(t, r->path);
        put_string(t, "mechanism", bl_image_mechanism_names[r->mechanism]);
        put_string(t, "reason", r->reason ? r->reason : "");
        put_number(t, "unit_bytes", r->unit_bytes);
        put_number(t, "huge_bytes", r->huge_bytes);
        bl_text_char(t, '}');
    }
    bl_text_char(t, ']');
}

static void put_statistics(struct bl_text *t) {
    const char *comma = "";
    bl_text_str(t, ",\"statistics\":{");
#define BL_STAT(name, help)                                                    \
    bl_text_str(t, comma);                                                     \
    put_key(t, #name);                                                         \
    bl_text_u64(t, bl_load_relaxed(&bl_stats.name));                           \
    comma = ",";
#define BL_LEVEL BL_STAT
#include "base/stats.def"
#undef BL_STAT
#undef BL_LEVEL
    bl_text_char(t, '}');
}

static void put_process(struct bl_text *t, int pid) {
    struct reading *const now = &report.readings[!report.peak];
    const struct reading *const peak = &report.readings[report.peak];
    const int error = read_now(now);
    bl_text_str(t, "{\"schema\":\"bigleaf.process/1\"");
    put_number(t, "pid", (uint64_t)pid);
    put_number(t, "ppid", (uint64_t)bl_os_parent_pid());
    put_string(t, "exe", report.program);
    put_number(t, "thp_disabled", (uint64_t)(bl_os_thp_disabled() > 0));
    if (error == 0) {
        const bool kept = report.pid == pid && is_more(peak, now);
        const struct reading *most = kept ? peak : now;
        put_backing(t, "peak", &most->backing);
        put_backing(t, "end", &now->backing);
        put_parts(t, most);
    } else {
        put_number(t, "backing_unknown_errno", (uint64_t)-error);
    }
    put_image(t);
    put_statistics(t);
    bl_text_str(t, "}\n");
}

// The kernel ends a program that writes beyond its limit on files.
static bool has_room(int fd, size_t bytes) {
    const uint64_t limit = bl_file_size_limit();
    struct bl_file_facts facts;
    return limit == UINT64_MAX || bl_file_facts(fd, &facts) != 0 ||
           !facts.regular || (bytes <= limit && facts.size <= limit - bytes);
}

static void append(const char *path, const struct bl_text *line) {
    const int fd = bl_os_open_append(path);
    if (fd < 0)
        return;
    // One write, so that lines of several processes do not mix; what is not
    // written whole cannot be mended.
    if (has_room(fd, line->len))
        (void)bl_os_write(fd, line->data, line->len);
    bl_os_close(fd);
}

static void report_end(const char *path, int pid) {
    struct bl_text t;
    bl_text_init(&t, report.line, sizeof report.line);
    put_process(&t, pid);
    report.reported = pid;
    if (!t.cut)
        append(path, &t);
}

void bl_report_exit(const char *path) {
    const int pid = bl_os_pid();
    if (!lock_report())
        return;
    if (report.reported != pid)
        report_end(path, pid);
    unlock_report();
}
