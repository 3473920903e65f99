// SPDX-License-Identifier: MIT
#include "cli/sampler.h"

#include "cli/clock.h"
#include "os/machine.h"

#include <stdlib.h>

#define SHARE 300 // 1/SHARE of the time may go into each way of looking
#define CREDIT_US 6000
#define LEAST_SLEEP_US 2000
#define MOST_SLEEP_US 50000
#define MAPS_EVERY_US 1000000
#define SCAN_EVERY_US 20000
#define MOST_PIDS 4096

void bl_sampler_init(struct bl_sampler *s, int pid) {
    *s = (struct bl_sampler){.root = pid, .pid_count = 1};
    s->pids = bl_xrealloc(NULL, sizeof *s->pids);
    s->pids[0] = pid;
    s->start_us = bl_now_us();
    s->next_scan_us = s->start_us + SCAN_EVERY_US;
    bl_snapshot_init(&s->peak);
    bl_snapshot_init(&s->later);
}

void bl_sampler_free(struct bl_sampler *s) {
    free(s->pids);
    s->pids = NULL;
    bl_snapshot_free(&s->peak);
    bl_snapshot_free(&s->later);
}

static bool is_member(const struct bl_sampler *s, int pid) {
    for (size_t i = 0; i < s->pid_count; i++) {
        if (s->pids[i] == pid)
            return true;
    }
    return false;
}

struct link {
    int pid;
    int parent;
};

struct links {
    struct link *at;
    size_t count;
};

static void add_link(int pid, int parent, void *context) {
    struct links *l = context;
    l->at = bl_xrealloc(l->at, (l->count + 1) * sizeof *l->at);
    l->at[l->count++] = (struct link){pid, parent};
}

// Rebuilds the list of descendants from the parents of all processes. A parent
// may have a higher number than its child, so this goes on until nothing new
// comes.
static void scan(struct bl_sampler *s) {
    struct links links = {0};
    bl_machine_each_process(add_link, &links);
    s->pid_count = 1;
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t i = 0; i < links.count && s->pid_count < MOST_PIDS; i++) {
            const struct link *l = &links.at[i];
            if (is_member(s, l->pid) || !is_member(s, l->parent))
                continue;
            s->pids =
                bl_xrealloc(s->pids, (s->pid_count + 1) * sizeof *s->pids);
            s->pids[s->pid_count++] = l->pid;
            grew = true;
        }
    }
    free(links.at);
}

static uint64_t glance(struct bl_sampler *s) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->pid_count; i++) {
        struct bl_process_memory m;
        if (bl_machine_process_memory(s->pids[i], &m) != 0)
            continue;
        bytes += m.rss + m.hugetlb;
        if (i == 0)
            s->thp_disabled = m.thp_disabled;
    }
    return bytes;
}

static void read_maps(struct bl_sampler *s) {
    struct bl_snapshot now;
    bl_snapshot_init(&now);
    for (size_t i = 0; i < s->pid_count; i++)
        bl_snapshot_add(&now, s->pids[i]);
    if (now.processes == 0)
        return;
    if (bl_backing_total(&now.backing).bytes >
        bl_backing_total(&s->peak.backing).bytes) {
        bl_snapshot_free(&s->peak);
        bl_snapshot_free(&s->later);
        s->peak = now;
        return;
    }
    bl_snapshot_free(&s->later);
    s->later = now;
}

static void look_for_descendants(struct bl_sampler *s) {
    const uint64_t before = bl_cpu_us();
    if (bl_now_us() < s->next_scan_us)
        return;
    scan(s);
    s->next_scan_us =
        bl_now_us() + SCAN_EVERY_US + SHARE * (bl_cpu_us() - before);
}

// Processor time that reading smaps may have taken by `now`.
static uint64_t maps_allowed(const struct bl_sampler *s, uint64_t now) {
    return CREDIT_US + (now - s->start_us) / SHARE;
}

// Reads smaps where memory has changed by 2 %, or the last reading is old.
// While it grows fast the next reading would be out of date at once: then by a
// quarter, and half of the time allowed is left for where it stays.
static void look_at_maps(struct bl_sampler *s, uint64_t bytes, bool grows) {
    const uint64_t now = bl_now_us();
    const uint64_t change =
        bytes > s->seen_bytes ? bytes - s->seen_bytes : s->seen_bytes - bytes;
    const uint64_t allowed = maps_allowed(s, now) / (grows ? 2 : 1);
    if (bytes == 0 || s->maps_spent_us + s->maps_cost_us > allowed ||
        (change <= s->seen_bytes / (grows ? 4 : 50) && now < s->next_maps_us))
        return;
    const uint64_t before = bl_cpu_us();
    read_maps(s);
    s->seen_bytes = bytes;
    s->maps_cost_us = bl_cpu_us() - before;
    s->maps_spent_us += s->maps_cost_us;
    s->next_maps_us = now + MAPS_EVERY_US;
}

// Longer while nothing changes, and never so short that glances cost too much.
static uint64_t next_sleep(struct bl_sampler *s, uint64_t bytes,
                           uint64_t cost) {
    uint64_t sleep = s->sleep_us + s->sleep_us / 4;
    if (bytes != s->glance_bytes || sleep < LEAST_SLEEP_US)
        sleep = LEAST_SLEEP_US;
    if (sleep < SHARE * cost)
        sleep = SHARE * cost;
    return sleep < MOST_SLEEP_US ? sleep : MOST_SLEEP_US;
}

uint64_t bl_sampler_look(struct bl_sampler *s) {
    look_for_descendants(s);
    const uint64_t before = bl_cpu_us();
    const uint64_t bytes = glance(s);
    const bool grows = bytes > s->glance_bytes + s->glance_bytes / 64;
    s->sleep_us = next_sleep(s, bytes, bl_cpu_us() - before);
    s->glance_bytes = bytes;
    if (bytes > s->peak_bytes)
        s->peak_bytes = bytes;
    look_at_maps(s, bytes, grows);
    return s->sleep_us;
}
