// SPDX-License-Identifier: MIT
//
// Reads smaps as a stream: lines out of a small buffer, mappings out of lines,
// regions out of the order of mappings. A region depends on the neighbours:
// the loader maps an object as headers (r--), text (r-x), read-only data
// (r--), relocated constants (r--, written), data (rw-), and .bss (rw-,
// anonymous), each where the one before it ends. The headers come before
// anything shows that an object begins, so a read-only file mapping is *held*
// until the next one is known.
//
#include "os/backing.h"

#include "os/file.h"
#include "os/os.h"
#include "os/territory.h"

#define PATH_CAPACITY 256
#define LINE_CAPACITY 384 // 73 columns before the path
#define BUFFER_SIZE 1024  // of the stack of a program that calls free
// A mapping without access this small in front of another is a guard.
#define GUARD_LIMIT (64 * BL_KIB)
// Anonymous memory right behind the data of a library may be its .bss, or a
// block that the kernel happened to place there: this much may be .bss. Nothing
// is placed behind the program itself, which comes first, or, with an unlimited
// stack, last.
#define LIBRARY_BSS_LIMIT BL_MIB

const char *const bl_region_names[BL_REGIONS] = {"heap", "text", "data",
                                                 "stack", "other"};

const char *const bl_cause_names[BL_CAUSES] = {"none", "small",    "refused",
                                               "tail", "shortage", "unadvised"};

struct record {
    struct bl_mapping m;
    bool readable;
    bool shared;
    bool own; // memory of the runtime's
    char path[PATH_CAPACITY];
};

struct reader {
    struct bl_backing *out;
    bl_mapping_fn *each;
    void *context;
    struct record now;
    struct record held;
    bool have_now;
    bool left_out; // the lines that come belong to no mapping that counts
    bool have_held;
    uint64_t object_end;   // end of the last mapping of an object; 0: none
    uint64_t object_inode; // and its file
    bool behind_data;      // and it was data
    uint64_t first_inode;  // the first object's, as a rule the program's
    uint64_t program;      // what the kernel says the program's is; 0: nothing
    uint64_t guard_end;    // end of the last guard; 0: none
    struct bl_territories territories;
    size_t line_len;
    char line[LINE_CAPACITY];
    char last_file[PATH_CAPACITY]; // whose .bss may follow
};

static bool is_object_file(const struct record *r) {
    return r->m.inode != 0 && r->path[0] == '/' && !r->shared;
}

static bool is_anonymous(const struct record *r) {
    return !r->shared &&
           (r->path[0] == '\0' || bl_str_starts(r->path, "[anon:") ||
            bl_str_starts(r->path, "/anon_hugepage"));
}

static void copy_path(char *to, const char *from) {
    size_t n = 0;
    for (; from[n] && n + 1 < PATH_CAPACITY; n++)
        to[n] = from[n];
    to[n] = '\0';
}

static const char *object_of(struct reader *s, const struct record *r) {
    if (r->own)
        return BL_OWN_HEAP;
    if (r->m.region == BL_REGION_DATA && !r->path[0] && s->last_file[0])
        return s->last_file;
    if (r->m.region == BL_REGION_STACK)
        return r->path[0] == '[' ? "[stack]" : "thread stacks";
    return r->path[0] ? r->path : "anonymous memory";
}

static void emit(struct reader *s, struct record *r, enum bl_region region) {
    struct bl_region_backing *sum = &s->out->region[region];
    r->m.region = region;
    r->m.path = r->path;
    r->m.object = object_of(s, r);
    if (r->path[0] == '/')
        copy_path(s->last_file, r->path);
    sum->bytes += r->m.rss + r->m.hugetlb;
    sum->huge += r->m.huge + r->m.hugetlb;
    sum->hugetlb += r->m.hugetlb;
    sum->pss += r->m.pss;
    s->out->mappings++;
    if (s->each)
        s->each(&r->m, s->context);
}

static enum bl_region region_by_name(const struct record *r) {
    if (bl_str_starts(r->path, "[stack") ||
        bl_str_starts(r->path, "[anon: glibc: pthread stack") ||
        bl_str_starts(r->path, "[anon:stack"))
        return BL_REGION_STACK;
    if (bl_str_eq(r->path, "[heap]") ||
        bl_str_starts(r->path, "[anon: glibc: malloc"))
        return BL_REGION_HEAP;
    return BL_REGIONS;
}

// A copy that `image/` made of whole units in the middle of an object.
static bool is_copy_in_object(const struct reader *s, const struct record *r) {
    return s->object_end == r->m.start && r->readable &&
           r->m.start % BL_HUGE_SIZE == 0 && r->m.end % BL_HUGE_SIZE == 0;
}

// A file system may have two inodes for a file (overlayfs).
static bool is_program(const struct reader *s) {
    return s->object_inode == s->first_inode || s->object_inode == s->program;
}

static enum bl_region region_of_anonymous(struct reader *s,
                                          const struct record *r) {
    if (r->m.executable && !r->m.writable)
        return BL_REGION_TEXT;
    if (is_copy_in_object(s, r))
        return r->m.writable || s->behind_data ? BL_REGION_DATA
                                               : BL_REGION_TEXT;
    if (s->behind_data && r->m.start == s->object_end && r->m.writable &&
        (is_program(s) || r->m.end - r->m.start <= LIBRARY_BSS_LIMIT))
        return BL_REGION_DATA;
    if (s->guard_end == r->m.start && r->m.writable)
        return BL_REGION_STACK;
    return s->out->territory ? BL_REGION_OTHER : BL_REGION_HEAP;
}

static bool is_own(struct reader *s, const struct record *r) {
    const bool plain = r->readable && r->m.writable && !r->m.executable;
    const bool own =
        is_anonymous(r) &&
        bl_territories_take(&s->territories, r->m.start, r->m.end, plain);
    s->out->territory = bl_territories_any(&s->territories);
    return own;
}

// The region of a mapping that needs no look ahead; BL_REGIONS: hold it.
static enum bl_region region_of(struct reader *s, const struct record *r) {
    const bool adjacent = s->object_end == r->m.start;
    if (r->own)
        return BL_REGION_HEAP;
    const enum bl_region named = region_by_name(r);
    if (named != BL_REGIONS)
        return named;
    if (is_anonymous(r))
        return region_of_anonymous(s, r);
    if (r->m.executable && r->path[0] != '[')
        return BL_REGION_TEXT;
    if (!is_object_file(r))
        return BL_REGION_OTHER;
    if (r->m.writable)
        return adjacent ? BL_REGION_DATA : BL_REGION_OTHER;
    if (adjacent && (!s->behind_data || s->object_inode == r->m.inode))
        return r->m.anonymous ? BL_REGION_DATA : BL_REGION_TEXT;
    return BL_REGIONS;
}

static void note_neighbours(struct reader *s, const struct record *r,
                            enum bl_region region) {
    const bool no_access = !r->readable && !r->m.writable && !r->m.executable;
    const bool in_object = region == BL_REGION_TEXT ||
                           region == BL_REGION_DATA ||
                           (no_access && s->object_end == r->m.start);
    if (in_object) {
        s->behind_data = region == BL_REGION_DATA;
        s->object_end = r->m.end;
        if (is_object_file(r))
            s->object_inode = r->m.inode;
        if (s->first_inode == 0)
            s->first_inode = s->object_inode;
    } else {
        s->behind_data = false;
        s->object_end = 0;
    }
    const bool guard =
        no_access && is_anonymous(r) && r->m.end - r->m.start <= GUARD_LIMIT;
    s->guard_end = guard ? r->m.end : 0;
}

// Decides on the held mapping, now that `next` (or the end) is known.
static void settle_held(struct reader *s, const struct record *next) {
    if (!s->have_held)
        return;
    const bool object = next && next->m.start == s->held.m.end &&
                        is_object_file(next) &&
                        (next->m.executable || next->m.writable ||
                         next->m.inode == s->held.m.inode);
    const enum bl_region region = object ? BL_REGION_TEXT : BL_REGION_OTHER;
    s->have_held = false;
    emit(s, &s->held, region);
    note_neighbours(s, &s->held, region);
}

static void finish_mapping(struct reader *s) {
    if (!s->have_now)
        return;
    s->have_now = false;
    settle_held(s, &s->now);
    s->now.own = is_own(s, &s->now);
    const enum bl_region region = region_of(s, &s->now);
    if (region == BL_REGIONS) {
        s->held = s->now;
        s->have_held = true;
        return;
    }
    emit(s, &s->now, region);
    note_neighbours(s, &s->now, region);
}

static const char *skip_spaces(const char *p) {
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

static const char *skip_word(const char *p) {
    while (*p && *p != ' ' && *p != '\t')
        p++;
    return skip_spaces(p);
}

// "start-end perms offset device inode   path". The kernel goes on by address
// from one read to the next: a mapping that has met its neighbour meanwhile
// comes once more, whole, and one that was parted once more in part. Of two
// that overlap the larger one counts.
static void begin_mapping(struct reader *s, const char *line) {
    struct record *r = &s->now;
    const char *p = line;
    uint64_t start;
    uint64_t end;
    if (!bl_read_hex(&p, &start) || *p++ != '-' || !bl_read_hex(&p, &end))
        return;
    const bool again = s->have_now && start < r->m.end;
    s->left_out = again && end - start <= r->m.end - r->m.start;
    if (s->left_out)
        return;
    if (!again)
        finish_mapping(s);
    *r = (struct record){.m = {.start = start, .end = end}};
    p = skip_spaces(p);
    for (; *p && *p != ' '; p++) {
        r->readable |= *p == 'r';
        r->m.writable |= *p == 'w';
        r->m.executable |= *p == 'x';
        r->shared |= *p == 's';
    }
    p = skip_spaces(p);
    bl_read_hex(&p, &r->m.offset);
    p = skip_word(skip_spaces(p));
    bl_read_u64(&p, &r->m.inode);
    copy_path(r->path, skip_spaces(p));
    s->have_now = true;
}

static void read_flags(struct bl_mapping *m, const char *p) {
    for (p = skip_spaces(p); p[0] && p[1]; p = skip_word(p)) {
        m->advised |= p[0] == 'h' && p[1] == 'g';
        m->refused |= p[0] == 'n' && p[1] == 'h';
    }
}

static const struct {
    const char *name;
    size_t at;
} fields[] = {
    {"Rss:", offsetof(struct bl_mapping, rss)},
    {"Pss:", offsetof(struct bl_mapping, pss)},
    {"Anonymous:", offsetof(struct bl_mapping, anonymous)},
    {"AnonHugePages:", offsetof(struct bl_mapping, huge)},
    {"ShmemPmdMapped:", offsetof(struct bl_mapping, huge)},
    {"FilePmdMapped:", offsetof(struct bl_mapping, huge)},
    {"Shared_Hugetlb:", offsetof(struct bl_mapping, hugetlb)},
    {"Private_Hugetlb:", offsetof(struct bl_mapping, hugetlb)},
};

static void read_field(struct bl_mapping *m, const char *line) {
    const char *value = skip_word(line);
    uint64_t x = 0;
    if (bl_str_starts(line, "VmFlags:")) {
        read_flags(m, value);
        return;
    }
    if (!bl_read_u64(&value, &x))
        return;
    if (bl_str_starts(line, "THPeligible:")) {
        m->eligible = x != 0;
        m->told = true;
    }
    for (size_t i = 0; i < BL_ARRAY_LEN(fields); i++) {
        if (bl_str_starts(line, fields[i].name))
            *(uint64_t *)(void *)((char *)m + fields[i].at) += x * BL_KIB;
    }
}

static void take_line(struct reader *s) {
    const char c = s->line[0];
    s->line[s->line_len] = '\0';
    s->line_len = 0;
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))
        begin_mapping(s, s->line);
    else if (s->have_now && !s->left_out)
        read_field(&s->now.m, s->line);
}

static void take_bytes(struct reader *s, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n')
            take_line(s);
        else if (s->line_len + 1 < LINE_CAPACITY)
            s->line[s->line_len++] = bytes[i];
    }
}

int bl_backing_read_from(int fd, uint64_t program, struct bl_backing *out,
                         bl_mapping_fn *each, void *context) {
    struct reader s = {
        .out = out, .each = each, .context = context, .program = program};
    char buffer[BUFFER_SIZE];
    *out = (struct bl_backing){0};
    long n;
    while ((n = bl_os_read(fd, buffer, sizeof buffer)) > 0)
        take_bytes(&s, buffer, (size_t)n);
    finish_mapping(&s);
    settle_held(&s, NULL);
    if (n < 0 || out->mappings == 0) {
        *out = (struct bl_backing){0};
        return n < 0 ? (int)n : -3; // the process is gone: ESRCH
    }
    return 0;
}

int bl_backing_read(int pid, struct bl_backing *out, bl_mapping_fn *each,
                    void *context) {
    char path[BL_PROC_PATH];
    *out = (struct bl_backing){0};
    const int fd = bl_os_open_read(bl_os_proc_path(path, pid, 0, "/smaps"));
    if (fd < 0)
        return fd;
    const uint64_t program =
        bl_file_inode(bl_os_proc_path(path, pid, 0, "/exe"));
    const int result = bl_backing_read_from(fd, program, out, each, context);
    bl_os_close(fd);
    return result;
}

enum bl_cause bl_mapping_cause(const struct bl_mapping *m, uint64_t *plain) {
    *plain = m->rss > m->huge ? m->rss - m->huge : 0;
    if (*plain == 0)
        return BL_CAUSE_NONE;
    if (m->refused)
        return BL_CAUSE_REFUSED;
    if (bl_align_up(m->start, BL_HUGE_SIZE) + BL_HUGE_SIZE > m->end)
        return BL_CAUSE_SMALL;
    if (m->told ? !m->eligible : !m->advised)
        return BL_CAUSE_UNADVISED;
    return *plain < BL_HUGE_SIZE ? BL_CAUSE_TAIL : BL_CAUSE_SHORTAGE;
}

struct bl_region_backing bl_backing_total(const struct bl_backing *backing) {
    struct bl_region_backing total = {0};
    for (int i = 0; i < BL_REGIONS; i++) {
        total.bytes += backing->region[i].bytes;
        total.huge += backing->region[i].huge;
        total.hugetlb += backing->region[i].hugetlb;
        total.pss += backing->region[i].pss;
    }
    return total;
}
