// SPDX-License-Identifier: MIT
#include "cli/snapshot.h"

#include <stdlib.h>
#include <string.h>

const char *const bl_text_mechanism_names[BL_TEXT_MECHANISMS] = {
    "none", "file", "anonymous", "shadow"};

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

void bl_snapshot_add_object(struct bl_snapshot *s, enum bl_region region,
                            const char *name, enum bl_cause cause,
                            uint64_t plain) {
    object(s, region, name)->plain[cause] += plain;
}

static void visit_mapping(const struct bl_mapping *m, void *context) {
    struct bl_snapshot *s = context;
    uint64_t plain;
    const enum bl_cause cause = bl_mapping_cause(m, &plain);
    const enum bl_text_mechanism text = text_mechanism(m);
    if (text > s->text)
        s->text = text;
    if (plain)
        bl_snapshot_add_object(s, m->region, m->object, cause, plain);
}

int bl_snapshot_add(struct bl_snapshot *s, int pid) {
    struct bl_backing one;
    const int error = bl_backing_read(pid, &one, visit_mapping, s);
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
