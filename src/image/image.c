// SPDX-License-Identifier: MIT
//
// Walks the mappings of this process, at start and again for libraries that
// come later. What is mapped is believed to be the file at its path only where
// device and inode agree, or where that file, mapped once more, is listed under
// the same; so a program that was upgraded while it starts is copied from
// memory or left alone.
//
#include "image/image.h"

#include "image/data.h"
#include "image/maps.h"
#include "image/remap.h"
#include "image/shadow.h"
#include "os/os.h"

#include <errno.h>

#define OBJECTS 32
// As long as 50 processes that start at once need to wait for one of them.
#define MAKER_WAIT_MS 500

const char *const bl_image_mechanism_names[BL_IMAGE_MECHANISMS] = {
    "none", "file", "anonymous", "shadow"};

// A file some of whose mappings hold units; opened once.
struct object {
    uint64_t inode;
    uint32_t major;
    uint32_t minor;
    int fd; // -1: it is not the file at its path, or cannot be opened
    struct bl_file_facts facts;
    struct bl_elf elf;
    const char *wrong;              // why `elf` is not to be used
    bool placed;                    // a shadow already: the launcher mapped it
    struct bl_image_record *record; // NULL: nothing of it is wanted yet
};

// A mapping, and the unused addresses on both sides of it.
struct window {
    struct bl_maps_entry entry;
    uint64_t free_from;
    uint64_t free_to;
};

static bool is_inside(const struct window *w, const struct bl_remap *r) {
    return r->start >= w->entry.start && r->end <= w->entry.end;
}

static struct {
    struct bl_image_options options;
    struct bl_image_record records[OBJECTS];
    uint32_t count;
    bool asked;    // for the next three, in this walk
    int directory; // -1: none, for `no_directory`
    const char *no_directory;
    bool random;
    bool watching;    // text is wanted, and the start went well
    bool late;        // this walk is not the first
    const char *stay; // why nothing is replaced in this walk
} image;

uint32_t bl_image_records(const struct bl_image_record **out) {
    *out = image.records;
    return image.count;
}

static void copy_path(char *to, size_t capacity, const char *from) {
    struct bl_text t;
    bl_text_init(&t, to, capacity);
    bl_text_str(&t, from);
}

static struct bl_image_record *add_record(const char *path) {
    if (image.count == OBJECTS)
        return NULL;
    struct bl_image_record *r = &image.records[image.count++];
    *r = (struct bl_image_record){0};
    copy_path(r->path, sizeof r->path, path);
    return r;
}

static bool is_mapped_as(int fd, const struct bl_file_facts *facts,
                         const struct bl_maps_entry *e) {
    struct bl_maps_entry own = bl_maps_of_file(facts);
    return bl_maps_is_same_file(&own, e) ||
           (bl_maps_identify(fd, &own) && bl_maps_is_same_file(&own, e));
}

// The handle, where it is what is mapped; else -1.
static int keep_mapped(int fd, const struct bl_maps_entry *e,
                       struct bl_file_facts *facts) {
    if (fd >= 0 && bl_file_facts(fd, facts) == 0 && is_mapped_as(fd, facts, e))
        return fd;
    if (fd >= 0)
        bl_os_close(fd);
    return -1;
}

// The program itself may be reached by no path any more. NULL, or why it is
// not to be had.
static const char *open_mapped(const struct bl_maps_entry *e,
                               struct object *o) {
    const int found = bl_file_open(e->path);
    o->fd = keep_mapped(found, e, &o->facts);
    if (o->fd < 0)
        o->fd = keep_mapped(bl_file_open_program(), e, &o->facts);
    if (o->fd >= 0)
        return NULL;
    return found == -EACCES ? "the file may not be read"
                            : "the file was replaced since it was loaded";
}

// A copy of relocated constants is no text: `data` asks for it, not this.
static bool is_data(const struct bl_elf *elf, const struct bl_maps_entry *e) {
    for (uint32_t i = 0; i < elf->count; i++) {
        const struct bl_elf_segment *s = &elf->segments[i];
        if ((s->flags & PF_W) &&
            e->offset >= bl_align_down(s->offset, BL_BASE_SIZE) &&
            e->offset < s->offset + s->file_bytes && !e->executable)
            return true;
    }
    return false;
}

// Of a long path a record keeps the beginning.
static bool has_path(const struct bl_image_record *r, const char *path) {
    size_t n = 0;
    while (n + 1 < sizeof r->path && path[n] && path[n] == r->path[n])
        n++;
    return n + 1 == sizeof r->path || path[n] == r->path[n];
}

static struct bl_image_record *find_record(const char *path, uint64_t address) {
    for (uint32_t i = 0; i < image.count; i++) {
        struct bl_image_record *r = &image.records[i];
        if (r->address == address && has_path(r, path))
            return r;
    }
    return NULL;
}

static bool is_placed(const struct object *o, const char *path) {
    return o->fd >= 0 && bl_shadow_is_one(path, &o->facts);
}

// In a walk that is not the first. What was replaced is here again only when
// the library was unloaded and came back; what was left has been dealt with.
static bool take_up_record(struct object *o, const char *path, uint64_t address,
                           const struct bl_remap *r) {
    struct bl_image_record *known = find_record(path, address);
    if (!known)
        return !is_placed(o, path);
    if (known->replaced < r->start || known->replaced >= r->end)
        return false;
    known->unit_bytes = 0;
    known->huge_bytes = 0;
    o->record = known;
    return true;
}

// Only the program itself is ever placed before it starts.
static bool make_record(struct object *o, const char *path, uint64_t address,
                        const struct bl_remap *r) {
    if (image.late && !take_up_record(o, path, address, r))
        return false;
    if (!o->record)
        o->record = add_record(path);
    if (!o->record)
        return false;
    o->record->address = address;
    o->placed = is_placed(o, path);
    if (o->placed) {
        o->record->mechanism = BL_IMAGE_SHADOW;
        bl_file_program_path(o->record->path, sizeof o->record->path);
    }
    return true;
}

static struct object *find_object(struct object *objects, uint32_t *count,
                                  const struct bl_maps_entry *e) {
    for (uint32_t i = 0; i < *count; i++) {
        struct object *o = &objects[i];
        if (o->inode == e->inode && o->major == e->major &&
            o->minor == e->minor)
            return o;
    }
    if (*count == OBJECTS)
        return NULL;
    struct object *o = &objects[*count];
    *o = (struct object){
        .inode = e->inode, .major = e->major, .minor = e->minor};
    (*count)++;
    o->wrong = open_mapped(e, o);
    if (!o->wrong)
        o->wrong = bl_elf_read(o->fd, o->facts.size, &o->elf);
    return o;
}

// Data files are mapped too, and what is no longer the file at its path is
// known by its executable parts only.
static bool is_wanted(const struct object *o, const struct bl_maps_entry *e) {
    if (image.options.text != BL_IMAGE_ON && !o->elf.marked)
        return false;
    return o->fd < 0 ? e->executable : !o->wrong && !is_data(&o->elf, e);
}

// The segment that this mapping shows, and the load bias that follows;
// elf->count: none.
static uint32_t segment_of(const struct bl_elf *elf,
                           const struct bl_maps_entry *e, uint64_t *bias) {
    for (uint32_t i = 0; i < elf->count; i++) {
        const struct bl_elf_segment *s = &elf->segments[i];
        const uint64_t from = bl_align_down(s->offset, BL_BASE_SIZE);
        const uint64_t to =
            bl_align_up(s->offset + s->file_bytes, BL_BASE_SIZE);
        if (!bl_elf_is_read_only(s) || e->offset < from ||
            e->offset + (e->end - e->start) > to ||
            e->executable != ((s->flags & PF_X) != 0))
            continue;
        *bias = e->start - (e->offset - from) -
                bl_align_down(s->vaddr, BL_BASE_SIZE);
        return i;
    }
    return elf->count;
}

static const char *map_shadow(struct bl_remap *r,
                              const struct bl_shadow *shadow, uint64_t bias) {
    uint64_t offset;
    if (!bl_shadow_offset(shadow, bias, r->start, r->end, &offset))
        return "the shadow does not fit the program";
    return bl_remap_file(r, shadow->fd, offset, shadow->pool);
}

// What only a text asks for that was not placed before the start.
static void ask(void) {
    if (image.asked)
        return;
    image.asked = true;
    image.random = bl_file_addresses_are_random();
    image.no_directory =
        bl_shadow_open_directory(image.options.directory, &image.directory);
}

static const char *take_shadow(struct object *o, const struct window *w,
                               struct bl_remap *r, uint64_t bias,
                               enum bl_image_mechanism *got) {
    struct bl_shadow shadow;
    const struct bl_shadow_source source = {
        .fd = o->fd,
        .path = o->record->path,
        .facts = o->facts,
        .elf = &o->elf,
        .phase = bias % BL_HUGE_SIZE,
    };
    if (image.directory < 0)
        return image.no_directory;
    const char *wrong = bl_shadow_find(image.directory, &source, &shadow);
    if (wrong && is_inside(w, r) && bl_remap_is_huge_already(r)) {
        *got = BL_IMAGE_FILE;
        return NULL;
    }
    if (wrong)
        wrong = bl_shadow_get(image.directory, &source, MAKER_WAIT_MS, &shadow);
    if (wrong)
        return wrong;
    o->record->made |= shadow.made;
    wrong = map_shadow(r, &shadow, bias);
    bl_os_close(shadow.fd);
    if (r->shadowed)
        *got = BL_IMAGE_SHADOW;
    return wrong;
}

// Why no shared copy can serve; NULL: one can.
static const char *doubt(const struct object *o, const struct bl_remap *r,
                         uint32_t segment, uint64_t bias) {
    if (o->wrong)
        return o->wrong;
    if (segment == o->elf.count)
        return "mapped otherwise than its headers say";
    if (bias % BL_HUGE_SIZE != 0 && image.random)
        return "loaded at a random address that is no multiple of 2 MiB";
    if (bl_file_has_private_pages((const void *)(uintptr_t)r->start,
                                  r->end - r->start) != 0)
        return "changed in memory, by a debugger or by relocations";
    return NULL;
}

// A breakpoint of a debugger works in a copy too. One of the kernel's own
// (uprobe) does not: it would end the program.
static const char *probed(const struct object *o, const struct bl_remap *r) {
    const int own = bl_file_has_private_pages((const void *)(uintptr_t)r->start,
                                              r->end - r->start);
    if (own < 0)
        return "the kernel does not tell whether it was changed in memory";
    return own == 0 || o->elf.text_relocations || bl_file_is_traced()
               ? NULL
               : "changed in memory, perhaps by a probe of the kernel (uprobe)";
}

static void note_reason(struct bl_image_record *record, const char *reason) {
    if (!record->reason)
        record->reason = reason;
}

// The units of the segment, where nothing else lies in what they hold beyond
// the mapping; else those inside the mapping.
static void choose_units(const struct object *o, const struct window *w,
                         uint32_t segment, uint64_t bias, struct bl_remap *r) {
    uint64_t start;
    uint64_t end;
    if (segment == o->elf.count ||
        !bl_elf_units(&o->elf, segment, bias, &start, &end))
        return;
    if (start < r->start && start >= w->free_from &&
        bl_align_down(w->entry.start, BL_HUGE_SIZE) == start)
        r->start = start;
    if (end > r->end && end <= w->free_to &&
        bl_align_up(w->entry.end, BL_HUGE_SIZE) == end)
        r->end = end;
}

static void set_inside(const struct window *w, struct bl_remap *r) {
    r->start = bl_align_up(w->entry.start, BL_HUGE_SIZE);
    r->end = bl_align_down(w->entry.end, BL_HUGE_SIZE);
}

// What of the units is mapped, and where in the file it begins.
static void set_mapped(const struct window *w, struct bl_remap *r) {
    const struct bl_maps_entry *e = &w->entry;
    r->mapped_start = r->start > e->start ? r->start : e->start;
    r->mapped_end = r->end < e->end ? r->end : e->end;
    r->offset = e->offset + (r->mapped_start - e->start);
}

// NULL, or why it was left.
static const char *copy_inside(const struct object *o, const struct window *w,
                               struct bl_remap *r) {
    set_inside(w, r);
    if (r->start >= r->end)
        return "only what is mapped can be copied";
    const char *wrong = probed(o, r);
    if (wrong) {
        note_reason(o->record, wrong);
        return wrong;
    }
    set_mapped(w, r);
    return bl_remap_copy(r);
}

static void treat(struct object *o, const struct window *w, struct bl_remap *r,
                  uint32_t segment, uint64_t bias) {
    enum bl_image_mechanism got = BL_IMAGE_NONE;
    ask();
    const char *wrong = doubt(o, r, segment, bias);
    if (!wrong)
        wrong = take_shadow(o, w, r, bias, &got);
    if (wrong) {
        if (copy_inside(o, w, r) == NULL)
            got = BL_IMAGE_ANONYMOUS;
        note_reason(o->record, wrong);
    }
    if (got > BL_IMAGE_FILE &&
        (!o->record->replaced || o->record->replaced > r->start))
        o->record->replaced = r->start;
    if (o->record->mechanism < got)
        o->record->mechanism = got;
}

// Cheap enough for every mapping of every start: only what passes is opened.
static bool is_candidate(const struct window *w) {
    const struct bl_maps_entry *e = &w->entry;
    const uint64_t low = bl_align_down(e->start, BL_HUGE_SIZE);
    const uint64_t high = bl_align_up(e->end, BL_HUGE_SIZE);
    if (!e->inode || e->path[0] != '/' || !e->readable || e->writable ||
        e->shared)
        return false;
    const bool left = low == e->start || w->free_from <= low;
    const bool right = high == e->end || w->free_to >= high;
    return low + 2 * BL_HUGE_SIZE < high ||
           (low + BL_HUGE_SIZE < high ? left || right : left && right);
}

static void take_entry(struct object *objects, uint32_t *count,
                       const struct window *w) {
    const struct bl_maps_entry *e = &w->entry;
    struct object *o = find_object(objects, count, e);
    uint64_t bias = 0;
    if (!o || !is_wanted(o, e))
        return;
    struct bl_remap r = {
        .protection = BL_FILE_READ | (e->executable ? BL_FILE_EXECUTE : 0u),
        .file = o->fd,
    };
    const uint32_t segment =
        o->wrong ? o->elf.count : segment_of(&o->elf, e, &bias);
    // Read as data by a program that looks into ELF files.
    if (segment == o->elf.count && !e->executable && !is_placed(o, e->path))
        return;
    set_inside(w, &r);
    choose_units(o, w, segment, bias, &r);
    const uint64_t address =
        segment == o->elf.count ? e->start - e->offset : bias;
    if (r.start >= r.end ||
        (!o->record && !make_record(o, e->path, address, &r)))
        return;
    set_mapped(w, &r);
    o->record->unit_bytes += r.end - r.start;
    if (image.stay)
        note_reason(o->record, image.stay);
    else if (!o->placed)
        treat(o, w, &r, segment, bias);
    else if (!bl_remap_is_huge_already(&r) && !r.unknown)
        note_reason(o->record, bl_remap_no_huge_page);
    if (r.unknown)
        note_reason(o->record, bl_remap_not_told);
    o->record->huge_bytes += r.huge;
}

// A hole that the loader left inside an object is as good as nothing.
static bool is_hole(const struct bl_maps_entry *a,
                    const struct bl_maps_entry *b) {
    return !a->readable && !a->writable && !a->executable &&
           a->inode == b->inode;
}

static void take_all(const struct bl_maps *maps, struct object *objects) {
    struct bl_maps_entry next;
    struct window w = {.free_from = 0};
    uint32_t count = 0;
    const char *p = maps->text;
    bool more = bl_maps_next(&p, &next);
    while (more) {
        w.entry = next;
        more = bl_maps_next(&p, &next);
        w.free_to = !more && maps->cut         ? w.entry.end
                    : !more                    ? UINT64_MAX
                    : is_hole(&next, &w.entry) ? next.end
                                               : next.start;
        if (is_candidate(&w))
            take_entry(objects, &count, &w);
        if (!(more && is_hole(&w.entry, &next)))
            w.free_from = w.entry.end;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (objects[i].fd >= 0)
            bl_os_close(objects[i].fd);
    }
}

// Only where a readable segment holds all of a note is there anything to read.
static bool is_loaded(const Elf64_Phdr *note, const Elf64_Phdr *p,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = note->p_vaddr - p[i].p_vaddr;
        if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_R) &&
            note->p_vaddr >= p[i].p_vaddr && from <= p[i].p_filesz &&
            note->p_filesz <= p[i].p_filesz - from)
            return true;
    }
    return false;
}

static bool is_program_marked(void) {
    size_t count;
    uint64_t bias;
    const Elf64_Phdr *p = bl_file_program_headers(&count, &bias);
    for (size_t i = 0; i < count; i++) {
        if (p[i].p_type == PT_LOAD && (p[i].p_flags & BL_ELF_WANTED))
            return true;
        if (p[i].p_type == PT_NOTE && is_loaded(&p[i], p, count) &&
            bl_elf_note_marks((const void *)(uintptr_t)(bias + p[i].p_vaddr),
                              p[i].p_filesz, p[i].p_align))
            return true;
    }
    return false;
}

static bool wants_text(void) {
    return image.options.text == BL_IMAGE_ON ||
           (image.options.text == BL_IMAGE_MARKED && is_program_marked());
}

static const char *must_not_start(void) {
    if (bl_os_thp_disabled())
        return "huge pages are refused to this process (PR_SET_THP_DISABLE)";
    if (bl_file_thread_count() != 1)
        return "other threads run already, or /proc is not to be read";
    return NULL;
}

// Not on the stack: a late walk runs on whatever stack dlopen was called.
static const char *take_text(void) {
    const size_t bytes = OBJECTS * sizeof(struct object);
    struct object *const objects = bl_file_scratch(bytes);
    struct bl_maps maps;
    if (!objects)
        return "no memory to look at the mappings";
    const int read = bl_maps_read(0, &maps);
    if (read == 0) {
        take_all(&maps, objects);
        if (image.directory >= 0)
            bl_os_close(image.directory);
        image.directory = -1;
        image.asked = false;
        bl_maps_free(&maps);
    }
    bl_file_scratch_free(objects, bytes);
    return read < 0 ? "the list of mappings cannot be read" : NULL;
}

static void start_written(void) {
    struct bl_maps maps;
    if (bl_maps_read(0, &maps) < 0)
        return;
    if (image.options.data)
        bl_image_take_data(&maps);
    if (image.options.stack)
        bl_image_take_stack(&maps);
    bl_maps_free(&maps);
}

// Without a record the report could not say why nothing is huge.
static void note_program(const char *reason) {
    char path[256];
    bl_file_program_path(path, sizeof path);
    struct bl_image_record *r = add_record(path);
    if (r)
        note_reason(r, reason);
}

static void say_record(const struct bl_image_record *r) {
    char buffer[512];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, r->path);
    bl_text_str(&t, ": text ");
    bl_text_str(&t, bl_image_mechanism_names[r->mechanism]);
    bl_text_str(&t, ", ");
    bl_text_u64(&t, r->huge_bytes / BL_MIB);
    bl_text_str(&t, " of ");
    bl_text_u64(&t, r->unit_bytes / BL_MIB);
    bl_text_str(&t, " MiB huge");
    if (r->made)
        bl_text_str(&t, ", shadow made");
    if (r->reason)
        bl_text_str(&t, ": ");
    bl_text_str(&t, r->reason ? r->reason : "");
    bl_message_end(&t);
}

static void say_records(uint32_t from) {
    for (uint32_t i = from; i < image.count && image.options.verbose; i++)
        say_record(&image.records[i]);
}

void bl_image_start(const struct bl_image_options *options) {
    image.options = *options;
    image.count = 0;
    image.directory = -1;
    const bool written = options->data || options->stack;
    if (bl_file_has_raised_privileges())
        return;
    const bool text = wants_text();
    if (!text && !written)
        return;
    const char *wrong = must_not_start();
    if (!wrong && text)
        wrong = take_text();
    image.watching = text && !wrong;
    if (!wrong && written)
        start_written();
    if (wrong)
        note_program(wrong);
    else if (text && image.count == 0)
        note_program("no whole 2 MiB unit of text or read-only data");
    say_records(0);
}

bool bl_image_is_watching(void) { return image.watching; }

void bl_image_take_late(void) {
    const uint32_t before = image.count;
    image.late = true;
    image.stay = must_not_start();
    (void)take_text();
    say_records(before);
}
