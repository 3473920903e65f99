// SPDX-License-Identifier: MIT
#include "cli/snapshot.h"

#include <stdlib.h>
#include <string.h>

const char *const bl_text_mechanism_names[] = {"none", "file", "anonymous",
                                               "shadow"};

struct visit {
    struct bl_snapshot *snapshot;
    char last_file[256]; // the object whose .bss may follow
};

void bl_snapshot_init(struct bl_snapshot *s) { *s = (struct bl_snapshot){0}; }

void bl_snapshot_free(struct bl_snapshot *s) {
    for (size_t i = 0; i < s->object_count; i++)
        free(s->objects[i].name);
    free(s->objects);
    bl_snapshot_init(s);
}

static struct bl_object *object(struct bl_snapshot *s, enum bl_region region,
                                const char *name) {
    for (size_t i = s->object_count; i-- > 0;) {
        if (s->objects[i].region == region &&
            strcmp(s->objects[i].name, name) == 0)
            return &s->objects[i];
    }
    s->objects =
        bl_xrealloc(s->objects, (s->object_count + 1) * sizeof *s->objects);
    struct bl_object *o = &s->objects[s->object_count++];
    *o = (struct bl_object){.region = region, .name = bl_xstrdup(name)};
    return o;
}

static bool is_own_heap(const struct bl_mapping *m) {
    return m->region == BL_REGION_HEAP && m->start >= BL_TERRITORY_LOW &&
           m->end <= BL_TERRITORY_HIGH;
}

static enum bl_cause cause_of(const struct bl_mapping *m, uint64_t plain) {
    if (plain == 0)
        return BL_CAUSE_NONE;
    if (m->refused)
        return BL_CAUSE_REFUSED;
    if (bl_align_up(m->start, BL_HUGE_SIZE) + BL_HUGE_SIZE > m->end)
        return BL_CAUSE_SMALL;
    if (!m->eligible)
        return BL_CAUSE_UNADVISED;
    return plain < BL_HUGE_SIZE ? BL_CAUSE_TAIL : BL_CAUSE_SHORTAGE;
}

static const char *object_name(const struct visit *v,
                               const struct bl_mapping *m) {
    if (is_own_heap(m))
        return "bigleaf heap";
    if (m->region == BL_REGION_DATA && !m->path[0] && v->last_file[0])
        return v->last_file;
    if (m->region == BL_REGION_STACK)
        return m->path[0] == '[' ? "[stack]" : "thread stacks";
    return m->path[0] ? m->path : "anonymous memory";
}

static enum bl_text_mechanism text_mechanism(const struct bl_mapping *m) {
    if (m->region != BL_REGION_TEXT || m->huge + m->hugetlb == 0)
        return BL_TEXT_NONE;
    if (!m->path[0])
        return BL_TEXT_ANONYMOUS;
    if (strncmp(m->path, "/dev/shm/", 9) == 0 ||
        strncmp(m->path, "/memfd:", 7) == 0 || strstr(m->path, ".buildid_"))
        return BL_TEXT_SHADOW;
    return BL_TEXT_FILE;
}

static void visit_mapping(const struct bl_mapping *m, void *context) {
    struct visit *v = context;
    const uint64_t plain = m->rss > m->huge ? m->rss - m->huge : 0;
    const enum bl_text_mechanism text = text_mechanism(m);
    if (text > v->snapshot->text)
        v->snapshot->text = text;
    if (m->path[0] == '/')
        snprintf(v->last_file, sizeof v->last_file, "%s", m->path);
    if (plain == 0)
        return;
    struct bl_object *o = object(v->snapshot, m->region, object_name(v, m));
    o->own = is_own_heap(m);
    o->plain[cause_of(m, plain)] += plain;
}

int bl_snapshot_add(struct bl_snapshot *s, int pid) {
    struct visit v = {.snapshot = s};
    struct bl_backing one;
    const int error = bl_backing_read(pid, &one, visit_mapping, &v);
    if (error)
        return error;
    for (int i = 0; i < BL_REGIONS; i++) {
        s->backing.region[i].bytes += one.region[i].bytes;
        s->backing.region[i].huge += one.region[i].huge;
        s->backing.region[i].hugetlb += one.region[i].hugetlb;
        s->backing.region[i].pss += one.region[i].pss;
    }
    s->backing.mappings += one.mappings;
    s->backing.territory |= one.territory;
    s->processes++;
    return 0;
}
