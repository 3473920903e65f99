// SPDX-License-Identifier: MIT
//
// The kernel's rings hold records of samples and of mappings made for
// execution. The drain thread copies them out as they come; they are read when
// the program has ended, in the order of their times, so that a sample finds
// the mapping that was there then.
//
#include "os/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RING_PAGES = 128, SAMPLES_PER_SECOND = 2000, MOST_SAMPLES = 4000000 };

const char *const bl_counter_kind_names[BL_COUNTER_KINDS] = {"raw", "cache",
                                                             "software"};

struct mapping {
    uint32_t pid;
    uint64_t time, start, end, offset;
    char *path;
};

struct sample {
    uint32_t pid;
    uint64_t time, address;
};

struct ring {
    int fd;
    struct perf_event_mmap_page *head;
};

struct bl_counters {
    size_t count;
    int fds[BL_COUNTERS_MOST]; // -1: not to be had
    struct ring *rings;        // one for each processor
    size_t ring_count;
    struct mapping *mappings;
    size_t mapping_count;
    struct sample *samples;
    size_t sample_count;
    uint64_t lost;
    pthread_t thread;
    _Atomic(bool) stop;
};

// cache | operation << 8 | result << 16
#define CACHE(cache, operation)                                                \
    (PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##operation << 8 |   \
     PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

// Event code, unit mask in the next byte; as the makers' manuals number them.
struct family {
    const char *vendor;
    unsigned number;          // 0: all families
    unsigned char models[20]; // of it; none: all that no other entry names
    struct bl_counter_event events[8];
};

static const struct family families[] = {
    // Golden Cove and its successors moved the events: Sapphire, Emerald and
    // Granite Rapids, Alder, Raptor, Meteor, Arrow, Lunar and Panther Lake. Not
    // all that is new is of these: small cores did not, and some later models
    // are Skylake.
    {"GenuineIntel",
     6,
     {0x8f, 0xcf, 0xad, 0xae, 0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xaa, 0xac, 0xb5,
      0xc5, 0xc6, 0xbd, 0xcc},
     {{"dtlb_load_misses.walk_completed", BL_COUNTER_RAW, 0x0e12},
      {"dtlb_load_misses.stlb_hit", BL_COUNTER_RAW, 0x2012},
      {"dtlb_load_misses.walk_pending", BL_COUNTER_RAW, 0x1012},
      {"dtlb_store_misses.walk_completed", BL_COUNTER_RAW, 0x0e13},
      {"itlb_misses.walk_completed", BL_COUNTER_RAW, 0x0e11},
      {"itlb_misses.walk_pending", BL_COUNTER_RAW, 0x1011}}},
    // Haswell and Broadwell count hits by the size of the page.
    {"GenuineIntel",
     6,
     {0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56},
     {{"dtlb_load_misses.walk_completed", BL_COUNTER_RAW, 0x0e08},
      {"dtlb_load_misses.stlb_hit", BL_COUNTER_RAW, 0x6008},
      {"dtlb_load_misses.walk_duration", BL_COUNTER_RAW, 0x1008},
      {"dtlb_store_misses.walk_completed", BL_COUNTER_RAW, 0x0e49},
      {"itlb_misses.walk_completed", BL_COUNTER_RAW, 0x0e85},
      {"itlb_misses.walk_duration", BL_COUNTER_RAW, 0x1085}}},
    // Nehalem to Ivy Bridge have those numbers for other events.
    {"GenuineIntel",
     6,
     {0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f, 0x2a, 0x2d, 0x3a, 0x3e},
     {{"dTLB-load-misses", BL_COUNTER_CACHE, CACHE(DTLB, READ)},
      {"dTLB-store-misses", BL_COUNTER_CACHE, CACHE(DTLB, WRITE)},
      {"iTLB-load-misses", BL_COUNTER_CACHE, CACHE(ITLB, READ)}}},
    {"GenuineIntel",
     6,
     {0},
     {{"dtlb_load_misses.walk_completed", BL_COUNTER_RAW, 0x0e08},
      {"dtlb_load_misses.stlb_hit", BL_COUNTER_RAW, 0x2008},
      {"dtlb_load_misses.walk_pending", BL_COUNTER_RAW, 0x1008},
      {"dtlb_store_misses.walk_completed", BL_COUNTER_RAW, 0x0e49},
      {"itlb_misses.walk_completed", BL_COUNTER_RAW, 0x0e85},
      {"itlb_misses.walk_pending", BL_COUNTER_RAW, 0x1085}}},
    {"AuthenticAMD",
     0,
     {0},
     {{"ls_l1_d_tlb_miss.all_l2_miss", BL_COUNTER_RAW, 0xf045},
      {"ls_l1_d_tlb_miss.all", BL_COUNTER_RAW, 0xff45},
      {"bp_l1_tlb_miss_l2_tlb_hit", BL_COUNTER_RAW, 0x0084},
      {"bp_l1_tlb_miss_l2_tlb_miss", BL_COUNTER_RAW, 0x0785}}},
    {"ARM",
     0,
     {0},
     {{"dtlb_walk", BL_COUNTER_RAW, 0x34},
      {"l1d_tlb_refill", BL_COUNTER_RAW, 0x05},
      {"l2d_tlb_refill", BL_COUNTER_RAW, 0x2d},
      {"itlb_walk", BL_COUNTER_RAW, 0x35},
      {"l1i_tlb_refill", BL_COUNTER_RAW, 0x02}}}};

static const struct bl_counter_event generic[] = {
    {"dTLB-load-misses", BL_COUNTER_CACHE, CACHE(DTLB, READ)},
    {"dTLB-store-misses", BL_COUNTER_CACHE, CACHE(DTLB, WRITE)},
    {"iTLB-load-misses", BL_COUNTER_CACHE, CACHE(ITLB, READ)}};

// What stands behind "key<blanks>: " on a line; NULL: another key does.
static const char *value_of(const char *line, const char *key) {
    const size_t n = strlen(key);
    if (strncmp(line, key, n) != 0)
        return NULL;
    const char *p = line + n + strspn(line + n, " \t");
    return *p == ':' ? p + 1 + strspn(p + 1, " \t") : NULL;
}

static void copy_word(char *out, size_t capacity, const char *from) {
    struct bl_text t;
    bl_text_init(&t, out, capacity);
    bl_text_bytes(&t, from, strcspn(from, " \t\n"));
}

static void read_processor(struct bl_counter_processor *p) {
    char line[256];
    const char *value;
    FILE *in = fopen("/proc/cpuinfo", "re");
    *p = (struct bl_counter_processor){0};
    while (in && fgets(line, sizeof line, in) && line[0] != '\n') {
        if ((value = value_of(line, "vendor_id")))
            copy_word(p->vendor, sizeof p->vendor, value);
        else if (value_of(line, "CPU implementer"))
            copy_word(p->vendor, sizeof p->vendor, "ARM");
        else if ((value = value_of(line, "cpu family")))
            p->family = (unsigned)strtoul(value, NULL, 10);
        else if ((value = value_of(line, "model")))
            p->model = (unsigned)strtoul(value, NULL, 10);
    }
    if (in)
        (void)fclose(in);
}

static size_t copy_events(const struct bl_counter_event *from, size_t most,
                          struct bl_counter_event *out) {
    size_t n = 0;
    for (; n < most && from[n].name[0]; n++)
        out[n] = from[n];
    return n;
}

static bool is_of(const struct bl_counter_processor *p,
                  const struct family *f) {
    if (strcmp(f->vendor, p->vendor) != 0 ||
        (f->number != 0 && f->number != p->family))
        return false;
    bool named = f->models[0] == 0;
    for (size_t i = 0; i < BL_ARRAY_LEN(f->models) && f->models[i]; i++)
        named |= f->models[i] == p->model;
    return named;
}

size_t bl_counters_of(const struct bl_counter_processor *p,
                      struct bl_counter_event *out) {
    for (size_t i = 0; i < BL_ARRAY_LEN(families); i++) {
        const struct family *f = &families[i];
        if (is_of(p, f))
            return copy_events(f->events, BL_ARRAY_LEN(f->events), out);
    }
    return copy_events(generic, BL_ARRAY_LEN(generic), out);
}

size_t bl_counters_of_processor(struct bl_counter_event *out, char *processor,
                                size_t capacity) {
    struct bl_counter_processor p;
    read_processor(&p);
    struct bl_text text;
    bl_text_init(&text, processor, capacity);
    bl_text_str(&text, p.vendor[0] ? p.vendor : "unknown");
    bl_text_str(&text, " family ");
    bl_text_u64(&text, p.family);
    bl_text_str(&text, " model ");
    bl_text_u64(&text, p.model);
    return bl_counters_of(&p, out);
}

static int open_event(struct perf_event_attr *a, int processor) {
    return (int)syscall(SYS_perf_event_open, a, 0, processor, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr attributes(const struct bl_counter_event *event) {
    static const uint32_t types[BL_COUNTER_KINDS] = {
        PERF_TYPE_RAW, PERF_TYPE_HW_CACHE, PERF_TYPE_SOFTWARE};
    return (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
                                    .type = types[event->kind],
                                    .config = event->config,
                                    .disabled = 1,
                                    .inherit = 1,
                                    .enable_on_exec = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .read_format =
                                        PERF_FORMAT_TOTAL_TIME_ENABLED |
                                        PERF_FORMAT_TOTAL_TIME_RUNNING};
}

static void open_ring(struct bl_counters *c, struct perf_event_attr *a,
                      int processor) {
    struct ring *rings = realloc(c->rings, (c->ring_count + 1) * sizeof *rings);
    if (!rings)
        return;
    c->rings = rings;
    const int fd = open_event(a, processor);
    void *at = fd < 0 ? MAP_FAILED
                      : mmap(NULL, (RING_PAGES + 1) * (size_t)getpagesize(),
                             PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        rings[c->ring_count++] = (struct ring){fd, at};
    else if (fd >= 0)
        close(fd);
}

// An inherited event has rings for single processors only.
static void open_rings(struct bl_counters *c,
                       const struct bl_counter_event *event) {
    struct perf_event_attr a = attributes(event);
    a.freq = 1;
    a.sample_freq = SAMPLES_PER_SECOND;
    a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    a.sample_id_all = 1;
    a.mmap = 1;
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int i = 0; i < processors; i++)
        open_ring(c, &a, i);
}

// The records that follow begin with these; the last words of all but samples
// are pid, tid and time again.
struct record_sample {
    struct perf_event_header header;
    uint64_t address;
    uint32_t pid, tid;
    uint64_t time;
};

struct record_mapping {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, bytes, offset;
    char path[];
};

static void take_sample(struct bl_counters *c, const struct record_sample *r) {
    if (c->sample_count == MOST_SAMPLES) {
        c->lost++;
        return;
    }
    if ((c->sample_count & (c->sample_count - 1)) == 0) {
        const size_t capacity = c->sample_count ? 2 * c->sample_count : 1;
        struct sample *list = realloc(c->samples, capacity * sizeof *list);
        if (!list)
            return;
        c->samples = list;
    }
    c->samples[c->sample_count++] =
        (struct sample){r->pid, r->time, r->address};
}

static void take_mapping(struct bl_counters *c,
                         const struct record_mapping *r) {
    uint64_t time;
    memcpy(&time, (const char *)r + r->header.size - sizeof time, sizeof time);
    struct mapping *list =
        realloc(c->mappings, (c->mapping_count + 1) * sizeof *list);
    if (!list)
        return;
    c->mappings = list;
    list[c->mapping_count++] =
        (struct mapping){r->pid,    time,
                         r->start,  r->start + r->bytes,
                         r->offset, r->path[0] == '/' ? strdup(r->path) : NULL};
}

static void take_record(struct bl_counters *c, const char *bytes) {
    const struct perf_event_header *h = (const void *)bytes;
    if (h->type == PERF_RECORD_SAMPLE)
        take_sample(c, (const void *)bytes);
    else if (h->type == PERF_RECORD_MMAP)
        take_mapping(c, (const void *)bytes);
    else if (h->type == PERF_RECORD_LOST)
        c->lost += ((const uint64_t *)(const void *)(h + 1))[1];
}

static void drain(struct bl_counters *c, struct ring *r) {
    _Alignas(8) char record[65536];
    const size_t size = RING_PAGES * (size_t)getpagesize();
    const char *data = (const char *)r->head + getpagesize();
    // Acquire: the kernel writes records before it moves the head.
    const uint64_t head =
        __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = r->head->data_tail;
    while (tail < head) {
        struct perf_event_header h;
        for (size_t i = 0; i < sizeof h; i++)
            ((char *)&h)[i] = data[(tail + i) % size];
        for (size_t i = 0; i < h.size; i++)
            record[i] = data[(tail + i) % size];
        take_record(c, record);
        tail += h.size;
    }
    __atomic_store_n(&r->head->data_tail, tail, __ATOMIC_RELEASE);
}

static void *drain_all(void *context) {
    struct bl_counters *c = context;
    const struct timespec pause = {0, 20000000};
    while (!bl_load_acquire(&c->stop)) {
        for (size_t i = 0; i < c->ring_count; i++)
            drain(c, &c->rings[i]);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

// Signals are for the command's own thread, which watches the program.
static int start_thread(struct bl_counters *c) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&c->thread, NULL, drain_all, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void close_all(struct bl_counters *c) {
    for (size_t i = 0; i < c->ring_count; i++) {
        munmap(c->rings[i].head, (RING_PAGES + 1) * (size_t)getpagesize());
        close(c->rings[i].fd);
    }
    for (size_t i = 0; i < c->count; i++)
        if (c->fds[i] >= 0)
            close(c->fds[i]);
    for (size_t i = 0; i < c->mapping_count; i++)
        free(c->mappings[i].path);
    free(c->mappings);
    free(c->samples);
    free(c->rings);
    free(c);
}

struct bl_counters *bl_counters_open(const struct bl_counter_event *events,
                                     size_t count, int *error) {
    struct bl_counters *c = calloc(1, sizeof *c);
    BL_CHECK(c && count > 0 && count <= BL_COUNTERS_MOST);
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        struct perf_event_attr a = attributes(&events[i]);
        c->fds[i] = open_event(&a, -1);
        if (i == 0 && c->fds[0] < 0) {
            *error = errno;
            free(c);
            return NULL;
        }
    }
    open_rings(c, &events[0]);
    if (c->ring_count && start_thread(c) != 0) {
        *error = EAGAIN;
        close_all(c);
        return NULL;
    }
    return c;
}

uint64_t bl_counter_value(const struct bl_counter_reading *r) {
    if (r->running == 0 && r->enabled > 0)
        return UINT64_MAX;
    if (r->running >= r->enabled)
        return r->count;
    return (uint64_t)((double)r->count * (double)r->enabled /
                      (double)r->running);
}

static uint64_t read_count(int fd) {
    struct bl_counter_reading r;
    if (fd < 0 || read(fd, &r, sizeof r) != (ssize_t)sizeof r)
        return UINT64_MAX;
    return bl_counter_value(&r);
}

static int by_time(const void *a, const void *b) {
    const struct mapping *x = a;
    const struct mapping *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

// The last mapping before the sample, of its process or one that it was
// forked from: children inherit what is not recorded again.
static const struct mapping *mapping_of(const struct bl_counters *c,
                                        const struct sample *s) {
    const struct mapping *other = NULL;
    for (size_t i = c->mapping_count; i-- > 0;) {
        const struct mapping *m = &c->mappings[i];
        if (m->time > s->time || s->address < m->start || s->address >= m->end)
            continue;
        if (m->pid == s->pid)
            return m;
        other = other ? other : m;
    }
    return other;
}

static void give_samples(struct bl_counters *c, bl_counters_sample *each,
                         void *context) {
    if (c->mapping_count)
        qsort(c->mappings, c->mapping_count, sizeof *c->mappings, by_time);
    for (size_t i = 0; i < c->sample_count; i++) {
        const struct sample *s = &c->samples[i];
        const struct mapping *m = mapping_of(c, s);
        if (m && m->path)
            each(context, m->path, s->address - m->start + m->offset);
        else
            each(context, "", s->address);
    }
}

void bl_counters_close(struct bl_counters *c, uint64_t *counts, uint64_t *lost,
                       bl_counters_sample *each, void *context) {
    if (c->ring_count) {
        bl_store_release(&c->stop, true);
        pthread_join(c->thread, NULL);
    }
    for (size_t i = 0; i < c->ring_count; i++)
        drain(c, &c->rings[i]);
    for (size_t i = 0; i < c->count; i++)
        counts[i] = read_count(c->fds[i]);
    give_samples(c, each, context);
    *lost = c->lost;
    close_all(c);
}
