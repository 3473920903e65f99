// SPDX-License-Identifier: MIT
//
// Asks malloc again for what a trace holds, in the recorded order and from one
// thread, and says what it cost. Preload the allocator to be measured, or link
// it; addresses become numbers before the clock starts.
//
//     LD_PRELOAD=libbigleaf.so heap-replay [--touch=head|pages|none] t.heap
//
// One line of JSON: calls, the largest sum of live bytes asked for, seconds of
// user and system time, and the peak of the resident set above what it was
// before the first call.
//
#include "event.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct call {
    uint64_t size : 40;
    uint64_t kind : 8;
    uint64_t log_alignment : 8;
    uint32_t block; // number of the block, reused after it is freed
};

enum touch { TOUCH_NONE, TOUCH_HEAD, TOUCH_PAGES };

static struct call *calls;
static size_t call_count;
static size_t block_count;
static size_t live_peak;

static _Noreturn void fail(const char *path, const char *what) {
    fprintf(stderr, "heap-replay: %s: %s\n", path, what);
    exit(2);
}

static void *map_zeroed(size_t bytes) {
    void *const p = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        fail("memory", "cannot map a table");
    return p;
}

// ---- addresses to numbers: open addressing, linear probing

// An address keeps its place for good: it is likely to be handed out again.
struct place {
    uint64_t address; // 0: an empty place
    uint64_t size;
    uint32_t block; // NO_BLOCK: nothing lives there now
};
#define NO_BLOCK UINT32_MAX

static struct place *table;
static size_t table_mask;
static uint32_t *free_blocks;
static size_t free_count;

static struct place *find(uint64_t address) {
    size_t i = (address >> 4) * 0x9E3779B97F4A7C15u >> 20 & table_mask;
    while (table[i].address != 0 && table[i].address != address)
        i = (i + 1) & table_mask;
    return &table[i];
}

static void rehash(size_t slots) {
    struct place *const old = table;
    const size_t old_slots = table_mask + 1;
    table = map_zeroed(slots * sizeof *table);
    table_mask = slots - 1;
    for (size_t i = 0; old != NULL && i < old_slots; i++)
        if (old[i].address != 0)
            *find(old[i].address) = old[i];
    if (old != NULL)
        munmap(old, old_slots * sizeof *old + 1);
}

static size_t live_bytes, used_slots;

static struct place *enter(uint64_t address, uint64_t size) {
    if (used_slots * 2 > table_mask)
        rehash((table_mask + 1) * 2);
    struct place *const l = find(address);
    used_slots += l->address == 0;
    l->address = address;
    l->size = size;
    l->block =
        free_count > 0 ? free_blocks[--free_count] : (uint32_t)block_count++;
    live_bytes += size;
    if (live_bytes > live_peak)
        live_peak = live_bytes;
    return l;
}

static void leave(struct place *l) {
    live_bytes -= l->size;
    free_blocks[free_count++] = l->block;
    l->block = NO_BLOCK;
}

static bool lives(const struct place *l, uint64_t address) {
    return l->address == address && l->block != NO_BLOCK;
}

// ---- from events to calls

static void add(unsigned kind, uint32_t block, uint64_t size, uint64_t align) {
    calls[call_count++] = (struct call){
        .size = size & 0xffffffffffu,
        .kind = (uint8_t)kind,
        .log_alignment = align ? (uint8_t)__builtin_ctzll(align) : 0,
        .block = block};
}

static void add_realloc(const struct event *e, struct place *old) {
    const uint32_t block = old->block;
    if (old->address == e->result) {
        live_bytes += e->size - old->size;
        old->size = e->size;
        if (live_bytes > live_peak)
            live_peak = live_bytes;
    } else {
        live_bytes -= old->size;
        old->block = NO_BLOCK;
        free_blocks[free_count++] = block; // for `enter` to take
        enter(e->result, e->size);
    }
    add(EVENT_REALLOC, block, e->size, 0);
}

static void add_event(const struct event *e) {
    if (e->kind == EVENT_FREE || (e->kind == EVENT_REALLOC && e->old != 0)) {
        struct place *const l = find(e->old);
        if (lives(l, e->old) && e->kind == EVENT_REALLOC && e->result != 0) {
            add_realloc(e, l);
            return;
        }
        if (lives(l, e->old) && (e->kind == EVENT_FREE || e->size == 0)) {
            add(EVENT_FREE, l->block, 0, 0);
            leave(l);
        }
        if (e->kind == EVENT_FREE)
            return;
    }
    if (e->result == 0)
        return;
    struct place *const again = find(e->result);
    if (lives(again, e->result)) { // a free that was noted too late
        add(EVENT_FREE, again->block, 0, 0);
        leave(again);
    }
    const struct place *const l = enter(e->result, e->size);
    const bool aligned = e->kind == EVENT_ALIGNED;
    add(e->kind == EVENT_REALLOC ? EVENT_MALLOC : e->kind, l->block, e->size,
        aligned ? e->old : 0);
}

static void read_trace(const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0)
        fail(path, "cannot be read");
    const size_t n = (size_t)about.st_size / sizeof(struct event);
    const struct event *const events =
        n == 0 ? NULL
               : mmap(NULL, n * sizeof *events, PROT_READ, MAP_PRIVATE, fd, 0);
    if (n == 0 || events == MAP_FAILED)
        fail(path, "is no heap trace");
    uint32_t *const in_order = map_zeroed((n + 1) * sizeof *in_order);
    for (size_t i = 0; i < n; i++)
        if (events[i].kind != EVENT_NONE && events[i].order <= n)
            in_order[events[i].order] = (uint32_t)i + 1;
    calls = map_zeroed(2 * n * sizeof *calls);
    free_blocks = map_zeroed(2 * n * sizeof *free_blocks);
    rehash(1 << 16);
    for (size_t order = 1; order <= n; order++)
        if (in_order[order] != 0)
            add_event(&events[in_order[order] - 1]);
    munmap(in_order, (n + 1) * sizeof *in_order + 1);
    munmap(table, (table_mask + 1) * sizeof *table + 1);
    madvise(free_blocks, 2 * n * sizeof *free_blocks, MADV_DONTNEED);
}

// ---- the replay

static void *serve(const struct call *c, void *old) {
    void *p = NULL;
    switch (c->kind) {
    case EVENT_MALLOC:
        return malloc(c->size);
    case EVENT_CALLOC:
        return calloc(1, c->size);
    case EVENT_REALLOC:
        return realloc(old, c->size);
    case EVENT_ALIGNED:
        return posix_memalign(&p, (size_t)1 << c->log_alignment, c->size) == 0
                   ? p
                   : NULL;
    default:
        free(old);
        return NULL;
    }
}

static void replay(void **block, enum touch touch) {
    for (size_t i = 0; i < call_count; i++) {
        const struct call *const c = &calls[i];
        char *const p = serve(c, block[c->block]);
        block[c->block] = p;
        if (p == NULL || touch == TOUCH_NONE)
            continue;
        if (c->size >= 8)
            memcpy(p, &i, 8);
        for (size_t at = 4096; touch == TOUCH_PAGES && at < c->size; at += 4096)
            p[at] = 1;
    }
}

static size_t status_kib(const char *key) {
    char line[128];
    size_t kib = 0;
    FILE *const f = fopen("/proc/self/status", "r");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoul(line + strlen(key), NULL, 10);
    fclose(f);
    return kib;
}

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static enum touch touch_named(const char *name) {
    if (strcmp(name, "none") == 0)
        return TOUCH_NONE;
    if (strcmp(name, "head") == 0)
        return TOUCH_HEAD;
    if (strcmp(name, "pages") == 0)
        return TOUCH_PAGES;
    fail(name, "--touch is none, head or pages");
}

int main(int argc, char **argv) {
    enum touch touch = TOUCH_HEAD;
    int i = 1;
    if (i < argc && strncmp(argv[i], "--touch=", 8) == 0)
        touch = touch_named(argv[i++] + 8);
    if (i + 1 != argc)
        fail("usage", "heap-replay [--touch=none|head|pages] TRACE");
    read_trace(argv[i]);
    void **const block = map_zeroed(block_count * sizeof *block);
    memset(block, 0, block_count * sizeof *block);
    // The peak so far was the reading's: 5 starts it anew.
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "5", 1) != 1)
        fail("/proc/self/clear_refs", "cannot start the peak anew");
    close(fd);
    const size_t before_kib = status_kib("VmRSS:");
    struct rusage a, b;
    getrusage(RUSAGE_SELF, &a);
    replay(block, touch);
    getrusage(RUSAGE_SELF, &b);
    printf("{\"calls\": %zu, \"live_peak_bytes\": %zu, \"user_seconds\": %.3f, "
           "\"system_seconds\": %.3f, \"peak_kib\": %zu}\n",
           call_count, live_peak, seconds(b.ru_utime) - seconds(a.ru_utime),
           seconds(b.ru_stime) - seconds(a.ru_stime),
           status_kib("VmHWM:") - before_kib);
    return 0;
}
