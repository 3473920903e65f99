// SPDX-License-Identifier: MIT
//
// Finding, sealing and cleaning; `make.c` fills the file.
//
#include "image/shadow.h"

#include "image/make.h"
#include "os/os.h"

#include <errno.h>

#define PLACE "/dev/shm"
// Long enough for a program that is run once a week; where room is short,
// what was not used today goes, and then what was not used this hour.
static const uint64_t unused_seconds[] = {7 * 24 * 3600, 24 * 3600, 3600};
// A clock tick of the coarsest kernels is 10 ms: a file that changed less
// than two ago may change again with the same time stamp.
#define SETTLED_MS 20
#define CLEAN_WAIT_MS 2000
#define PATH_BYTES 1024 // a longer one counts as not known
#define SEAL_MAGIC UINT64_C(0x33304c41534c42) // "BLSAL03"

// All fields are 64 bits wide: no padding, so bytes can be summed and written.
struct seal {
    uint64_t magic;
    uint64_t source_path; // its sum; 0: not known. No part of the name
    uint64_t source_device;
    uint64_t source_inode;
    uint64_t source_size;
    struct bl_file_time source_modified;
    struct bl_file_time source_changed;
    uint64_t phase;
    uint64_t shadow_device;
    uint64_t shadow_inode;
    uint64_t shadow_size;
    struct bl_file_time shadow_modified;
    struct bl_file_time shadow_changed;
    uint64_t count;
    struct bl_shadow_range ranges[BL_ELF_SEGMENTS];
    uint64_t sum; // of all bytes before
};
_Static_assert(sizeof(struct seal) % sizeof(uint64_t) == 0, "no padding");

static uint64_t sum_of(const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t seal_sum(const struct seal *s) {
    return sum_of(s, offsetof(struct seal, sum));
}

// Of the path that the file has, however it was named; 0: not known. Away from
// its callers, whose stack may be small.
__attribute__((noinline)) static uint64_t path_sum(int fd) {
    char path[PATH_BYTES];
    return bl_file_path(fd, path, sizeof path) == 0
               ? sum_of(path, bl_str_len(path, sizeof path))
               : 0;
}

static bool same_time(struct bl_file_time a, struct bl_file_time b) {
    return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

static void seal_source(const struct bl_shadow_source *source, struct seal *s) {
    *s = (struct seal){
        .magic = SEAL_MAGIC,
        .source_device = source->facts.device,
        .source_inode = source->facts.inode,
        .source_size = source->facts.size,
        .source_modified = source->facts.modified,
        .source_changed = source->facts.changed,
        .phase = source->phase,
    };
}

static bool is_ours(const struct bl_file_facts *f) {
    return f->regular && f->owner == bl_file_user() && f->mode == 0400 &&
           f->links == 1;
}

static bool is_of_file(const struct seal *s, const struct bl_file_facts *f) {
    return s->source_device == f->device && s->source_inode == f->inode;
}

// What the file held when the shadow was made.
static bool is_of_contents(const struct seal *s,
                           const struct bl_file_facts *f) {
    return s->source_size == f->size &&
           same_time(s->source_modified, f->modified) &&
           same_time(s->source_changed, f->changed);
}

static bool seal_fits_source(const struct seal *s,
                             const struct bl_shadow_source *source) {
    return is_of_file(s, &source->facts) && is_of_contents(s, &source->facts) &&
           s->phase == source->phase;
}

static bool seal_fits_shadow(const struct seal *s,
                             const struct bl_file_facts *f) {
    return is_ours(f) && s->shadow_device == f->device &&
           s->shadow_inode == f->inode && s->shadow_size == f->size &&
           same_time(s->shadow_modified, f->modified) &&
           same_time(s->shadow_changed, f->changed);
}

// "z3-89abcdef01234567.buildid_f4f2...": profilers read the build-id there.
static void shadow_name(const struct bl_shadow_source *source, char *out,
                        size_t capacity) {
    struct seal key;
    struct bl_text t;
    const char *base = source->path;
    seal_source(source, &key);
    for (const char *p = source->path; *p; p++)
        base = *p == '/' ? p + 1 : base;
    size_t n = 0;
    while (base[n] && base[n] != ' ' && n < 80)
        n++;
    bl_text_init(&t, out, capacity);
    bl_text_bytes(&t, base, n);
    bl_text_char(&t, '-');
    const uint64_t h = seal_sum(&key);
    for (int shift = 60; shift >= 0; shift -= 4)
        bl_text_char(&t, "0123456789abcdef"[(h >> shift) & 15]);
    if (source->elf->build_id_bytes)
        bl_text_str(&t, ".buildid_");
    for (uint32_t i = 0; i < source->elf->build_id_bytes; i++) {
        bl_text_char(&t, "0123456789abcdef"[source->elf->build_id[i] >> 4]);
        bl_text_char(&t, "0123456789abcdef"[source->elf->build_id[i] & 15]);
    }
}

struct names {
    char shadow[256];
    char seal[256];
};

static void make_names(const struct bl_shadow_source *source,
                       struct names *out) {
    struct bl_text t;
    shadow_name(source, out->shadow, sizeof out->shadow);
    bl_text_init(&t, out->seal, sizeof out->seal);
    bl_text_str(&t, out->shadow);
    bl_text_str(&t, ".seal");
}

// The seal, if it is ours, and its handle; else -1.
static int open_seal(int directory, const char *name, struct seal *out) {
    struct bl_file_facts facts;
    const int fd = bl_file_open_at(directory, name);
    if (fd < 0)
        return -1;
    if (bl_file_facts(fd, &facts) == 0 && is_ours(&facts) &&
        facts.size >= sizeof *out && // whole pages on hugetlbfs
        bl_file_read_at(fd, out, sizeof *out, 0) == 0 &&
        out->magic == SEAL_MAGIC && out->sum == seal_sum(out) &&
        out->count <= BL_ELF_SEGMENTS)
        return fd;
    bl_os_close(fd);
    return -1;
}

// The seal, if it speaks of this source.
static bool read_seal(int directory, const struct names *names,
                      const struct bl_shadow_source *source, struct seal *out) {
    const int fd = open_seal(directory, names->seal, out);
    if (fd < 0)
        return false;
    const bool good = seal_fits_source(out, source);
    if (good)
        bl_file_touch(fd); // its time says when the shadow was last used
    bl_os_close(fd);
    return good;
}

static bool find(int directory, const struct names *names,
                 const struct bl_shadow_source *source, struct bl_shadow *out) {
    struct seal seal;
    struct bl_file_facts facts;
    struct bl_file_system_facts system;
    if (!read_seal(directory, names, source, &seal))
        return false;
    const int fd = bl_file_open_at(directory, names->shadow);
    if (fd < 0)
        return false;
    if (bl_file_facts(fd, &facts) < 0 || !seal_fits_shadow(&seal, &facts) ||
        bl_file_system_facts(fd, &system) < 0) {
        bl_os_close(fd);
        return false;
    }
    *out = (struct bl_shadow){.fd = fd,
                              .device = facts.device,
                              .inode = facts.inode,
                              .count = (uint32_t)seal.count,
                              .pool = system.kind == BL_FILE_HUGETLBFS};
    __builtin_memcpy(out->ranges, seal.ranges, sizeof out->ranges);
    return true;
}

// Takes the room a seal needs, before the shadow takes it all.
static int create_seal(int directory) {
    bl_file_unlink_at(directory, BL_SHADOW_SEALING);
    const int fd = bl_file_create_at(directory, BL_SHADOW_SEALING, 0600);
    if (fd < 0)
        return fd;
    const int room = bl_file_reserve(fd, 0, sizeof(struct seal));
    if (room == 0)
        return fd;
    bl_os_close(fd);
    return room;
}

static int write_seal(int directory, const struct names *names, int fd,
                      struct seal *seal) {
    seal->sum = seal_sum(seal);
    int result = bl_file_write_at(fd, seal, sizeof *seal, 0);
    if (result == 0)
        result = bl_file_set_mode(fd, 0400);
    if (result == 0)
        result = bl_file_rename_at(directory, BL_SHADOW_SEALING, names->seal);
    return result;
}

// The shadow is in place: looks at it as it is now and seals that.
static const char *publish(int directory, const struct names *names,
                           int seal_fd, const struct bl_shadow_source *source,
                           const struct bl_layout *layout) {
    struct seal seal;
    struct bl_file_facts facts;
    const int fd = bl_file_open_at(directory, names->shadow);
    if (fd < 0)
        return "the shadow vanished while it was made";
    const int told = bl_file_facts(fd, &facts);
    bl_os_close(fd);
    if (told < 0 || !is_ours(&facts))
        return "the shadow was changed while it was made";
    seal_source(source, &seal);
    seal.source_path = path_sum(source->fd);
    seal.shadow_device = facts.device;
    seal.shadow_inode = facts.inode;
    seal.shadow_size = facts.size;
    seal.shadow_modified = facts.modified;
    seal.shadow_changed = facts.changed;
    for (uint32_t i = 0; i < layout->loads; i++) {
        const struct bl_layout_piece *p = &layout->pieces[i];
        const struct bl_elf_segment *s =
            &source->elf->segments[layout->segment[i]];
        if (p->units_from == p->units_to)
            continue;
        seal.ranges[seal.count++] = (struct bl_shadow_range){
            .vaddr =
                bl_align_down(s->vaddr, BL_BASE_SIZE) + (p->units_from - p->to),
            .bytes = p->units_to - p->units_from,
            .offset = p->units_from,
        };
    }
    return write_seal(directory, names, seal_fd, &seal) < 0
               ? "the shadow's seal cannot be written"
               : NULL;
}

static int64_t milliseconds_since(struct bl_file_time t) {
    const struct bl_file_time now = bl_file_now();
    return (now.seconds - t.seconds) * 1000 +
           (now.nanoseconds - t.nanoseconds) / 1000000;
}

// Waits out the grain of the clock, so that a later change shows.
static const char *let_source_settle(struct bl_shadow_source *source) {
    const int64_t age = milliseconds_since(source->facts.changed);
    // The file may carry a finer clock's time than the one read here.
    if (age < -SETTLED_MS)
        return "the file's time of change lies in the future";
    if (age < SETTLED_MS)
        bl_file_sleep_ms((uint32_t)(SETTLED_MS - age));
    const struct bl_file_facts before = source->facts;
    if (bl_file_facts(source->fd, &source->facts) < 0 ||
        before.size != source->facts.size ||
        !same_time(before.changed, source->facts.changed))
        return "the file is being changed";
    return NULL;
}

static const char *make_sealed(int directory, const struct names *names,
                               const struct bl_shadow_source *source,
                               int seal_fd) {
    struct bl_file_facts after;
    struct bl_layout layout;
    const char *wrong = bl_shadow_make(directory, source, &layout);
    if (wrong)
        return wrong;
    if (bl_file_facts(source->fd, &after) < 0 ||
        after.size != source->facts.size ||
        !same_time(after.changed, source->facts.changed))
        return "the file is being changed";
    if (bl_file_rename_at(directory, BL_SHADOW_TEMPORARY, names->shadow) < 0)
        return "the shadow could not be put in place";
    return publish(directory, names, seal_fd, source, &layout);
}

// True, and the name of its shadow.
static bool is_seal(const char *name, char shadow[256]) {
    static const char ending[] = ".seal";
    struct bl_text t;
    const size_t n = bl_str_len(name, 256);
    if (n < sizeof ending - 1)
        return false;
    const size_t stem = n - (sizeof ending - 1);
    bl_text_init(&t, shadow, 256);
    bl_text_bytes(&t, name, stem);
    return bl_str_eq(name + stem, ending);
}

struct upgrade {
    int directory;
    const struct bl_file_facts *now; // of the source
    uint64_t path;                   // its sum
};

// Written anew, or replaced under its name by another file, as linkers do.
static bool is_outdated(const struct seal *s, const struct upgrade *u) {
    if (is_of_file(s, u->now))
        return !is_of_contents(s, u->now);
    return u->path && s->source_path == u->path &&
           s->source_device == u->now->device;
}

static bool remove_if_outdated(const char *name, void *context) {
    const struct upgrade *u = context;
    struct seal seal;
    char shadow[256];
    if (!is_seal(name, shadow))
        return true;
    const int fd = open_seal(u->directory, name, &seal);
    if (fd < 0)
        return true;
    bl_os_close(fd);
    if (is_outdated(&seal, u)) {
        bl_file_unlink_at(u->directory, name);
        bl_file_unlink_at(u->directory, shadow);
    }
    return true;
}

// What was made of the file before serves no start any more, and running
// programs keep what they map.
static void remove_outdated(int directory,
                            const struct bl_shadow_source *source) {
    struct upgrade u = {directory, &source->facts, path_sum(source->fd)};
    bl_file_list(directory, remove_if_outdated, &u);
}

static const char *make_locked(int directory, const struct names *names,
                               struct bl_shadow_source *source) {
    // A whole unit at least; the maker, who comes after the seal, knows more.
    if (bl_file_size_limit() < BL_HUGE_SIZE)
        return "the copy would exceed the limit on file sizes";
    const char *wrong = let_source_settle(source);
    if (wrong)
        return wrong;
    remove_outdated(directory, source);
    bl_file_unlink_at(directory, names->seal);
    bl_file_unlink_at(directory, names->shadow);
    const int seal_fd = create_seal(directory);
    wrong = seal_fd < 0 ? "no room for the shadow's seal"
                        : make_sealed(directory, names, source, seal_fd);
    if (seal_fd >= 0)
        bl_os_close(seal_fd);
    if (wrong) { // what takes room and serves nobody
        bl_file_unlink_at(directory, BL_SHADOW_SEALING);
        bl_file_unlink_at(directory, BL_SHADOW_TEMPORARY);
        bl_file_unlink_at(directory, names->shadow);
    }
    return wrong;
}

const char *bl_shadow_find(int directory, const struct bl_shadow_source *source,
                           struct bl_shadow *out) {
    struct names names;
    make_names(source, &names);
    return find(directory, &names, source, out) ? NULL : "no shadow yet";
}

const char *bl_shadow_get(int directory, const struct bl_shadow_source *given,
                          uint32_t wait_ms, struct bl_shadow *out) {
    struct bl_shadow_source source = *given;
    struct names names;
    make_names(&source, &names);
    if (find(directory, &names, &source, out))
        return NULL;
    // A lock belongs to an open file: ours, not the caller's.
    const int lock = bl_file_open_at(directory, ".");
    if (lock < 0)
        return "the shadow directory cannot be opened";
    if (bl_file_lock(lock, wait_ms) < 0) {
        bl_os_close(lock);
        return "another process is still making the shadow";
    }
    const char *wrong = NULL;
    if (!find(directory, &names, &source, out)) {
        wrong = make_locked(directory, &names, &source);
        if (!wrong && !find(directory, &names, &source, out))
            wrong = "the shadow was changed while it was made";
        out->made = !wrong;
    }
    bl_os_close(lock);
    return wrong;
}

static const char *check_directory(int fd) {
    struct bl_file_facts facts;
    struct bl_file_system_facts system;
    if (bl_file_facts(fd, &facts) < 0 || bl_file_system_facts(fd, &system) < 0)
        return "the shadow directory cannot be examined";
    if (facts.owner != bl_file_user())
        return "the shadow directory belongs to another user";
    if (facts.mode & 077)
        return "the shadow directory is open to other users";
    if (system.kind == BL_FILE_OTHER)
        return "the shadow directory is not on tmpfs or hugetlbfs";
    if (system.kind == BL_FILE_HUGETLBFS && system.page_bytes != BL_HUGE_SIZE)
        return "the shadow directory's huge pages are not of 2 MiB";
    if (system.no_exec)
        return "the shadow directory's file system is mounted noexec";
    return NULL;
}

bool bl_shadow_directory(const char *root, char path[BL_SHADOW_PATH]) {
    struct bl_text t;
    bl_text_init(&t, path, BL_SHADOW_PATH);
    bl_text_str(&t, root && root[0] ? root : PLACE);
    bl_text_str(&t, "/bigleaf-");
    bl_text_u64(&t, bl_file_user());
    return !t.cut;
}

static const char *open_under(const char *root, int *out) {
    char path[BL_SHADOW_PATH];
    if (!bl_shadow_directory(root, path))
        return "the shadow directory's path is too long";
    const int made = bl_file_make_directory(path, 0700);
    if (made < 0 && made != -EEXIST)
        return made == -ENOENT ? "the shadow directory's parent does not exist"
                               : "the shadow directory cannot be made";
    const int fd = bl_file_open_directory(path);
    if (fd < 0)
        return fd == -ELOOP || fd == -ENOTDIR
                   ? "the shadow directory is a link or a file"
                   : "the shadow directory cannot be opened";
    const char *wrong = check_directory(fd);
    if (wrong) {
        bl_os_close(fd);
        return wrong;
    }
    *out = fd;
    return NULL;
}

const char *bl_shadow_open_directory(const char *root, int *out) {
    if (root && root[0])
        return open_under(root, out);
    const char *const wrong = open_under(PLACE, out);
    if (!wrong)
        return NULL;
    char path[64];
    struct bl_text t;
    bl_text_init(&t, path, sizeof path);
    bl_text_str(&t, "/run/user/");
    bl_text_u64(&t, bl_file_user());
    return open_under(path, out) ? wrong : NULL;
}

bool bl_shadow_offset(const struct bl_shadow *shadow, uint64_t bias,
                      uint64_t start, uint64_t end, uint64_t *out) {
    for (uint32_t i = 0; i < shadow->count; i++) {
        const struct bl_shadow_range *r = &shadow->ranges[i];
        const uint64_t into = start - bias - r->vaddr;
        if (into < r->bytes && end - start <= r->bytes - into) {
            *out = r->offset + into;
            return (*out - start) % BL_HUGE_SIZE == 0;
        }
    }
    return false;
}

// ".../bigleaf-UID/NAME"
bool bl_shadow_is_one(const char *path, const struct bl_file_facts *facts) {
    char tail[64];
    struct bl_text t;
    const char *name = path;
    if (!is_ours(facts))
        return false;
    for (const char *p = path; *p; p++)
        name = *p == '/' ? p : name;
    bl_text_init(&t, tail, sizeof tail);
    bl_text_str(&t, "/bigleaf-");
    bl_text_u64(&t, bl_file_user());
    return (size_t)(name - path) >= t.len && bl_str_starts(name - t.len, tail);
}

struct cleaning {
    int directory;
    int64_t before; // seconds
    struct bl_shadow_census *census;
};

static bool facts_of(int directory, const char *name,
                     struct bl_file_facts *out) {
    const int fd = bl_file_open_at(directory, name);
    if (fd < 0)
        return false;
    const bool told = bl_file_facts(fd, out) == 0;
    bl_os_close(fd);
    return told;
}

// Without its seal a file is what a maker left that died; we hold the lock.
// What is being made now has no seal either, so it is passed over by name.
static void clean_shadow(struct cleaning *c, const char *name,
                         const struct bl_file_facts *facts) {
    char seal[280];
    struct bl_text t;
    struct bl_file_facts seal_facts;
    bl_text_init(&t, seal, sizeof seal);
    bl_text_str(&t, name);
    bl_text_str(&t, ".seal");
    if (facts_of(c->directory, seal, &seal_facts) &&
        seal_facts.modified.seconds > c->before) {
        c->census->left++;
        c->census->left_bytes += facts->allocated;
        return;
    }
    c->census->removed++;
    c->census->removed_bytes += facts->allocated;
    bl_file_unlink_at(c->directory, seal);
    bl_file_unlink_at(c->directory, name);
}

static bool clean_one(const char *name, void *context) {
    struct cleaning *c = context;
    struct bl_file_facts facts;
    char shadow[256];
    if (bl_str_eq(name, BL_SHADOW_TEMPORARY) ||
        bl_str_eq(name, BL_SHADOW_SEALING))
        return true;
    if (!is_seal(name, shadow)) {
        if (!facts_of(c->directory, name, &facts))
            facts = (struct bl_file_facts){0};
        clean_shadow(c, name, &facts);
        return true;
    }
    if (!facts_of(c->directory, shadow, &facts))
        bl_file_unlink_at(c->directory, name);
    return true;
}

static void clean(int directory, uint64_t seconds,
                  struct bl_shadow_census *out) {
    *out = (struct bl_shadow_census){0};
    struct cleaning c = {
        .directory = directory,
        .before = bl_file_now().seconds - (int64_t)seconds,
        .census = out,
    };
    bl_file_list(directory, clean_one, &c);
}

// Half of the tmpfs is the shadows' share, and a copy may take half of what is
// free: others live there too. A hugetlbfs is given for this.
bool bl_shadow_make_room(int directory, uint64_t bytes) {
    struct bl_file_system_facts system;
    struct bl_shadow_census census;
    for (size_t i = 0; i < BL_ARRAY_LEN(unused_seconds); i++) {
        clean(directory, unused_seconds[i], &census);
        if (bl_file_system_facts(directory, &system) < 0)
            return false;
        const uint64_t share = system.kind == BL_FILE_TMPFS ? 2 : 1;
        if (bytes <= system.free_bytes / share &&
            bytes + census.left_bytes <= system.bytes / share)
            return true;
    }
    return false;
}

const char *bl_shadow_clean(const char *root, uint64_t seconds,
                            struct bl_shadow_census *out) {
    int directory;
    *out = (struct bl_shadow_census){0};
    const char *wrong = bl_shadow_open_directory(root, &directory);
    if (wrong)
        return wrong;
    if (bl_file_lock(directory, CLEAN_WAIT_MS) < 0) {
        wrong = "another process is making a shadow";
    } else {
        bl_file_unlink_at(directory, BL_SHADOW_TEMPORARY);
        bl_file_unlink_at(directory, BL_SHADOW_SEALING);
        clean(directory, seconds, out);
    }
    bl_os_close(directory);
    return wrong;
}

struct count {
    int directory;
    uint64_t bytes;
};

static bool count_one(const char *name, void *context) {
    struct count *c = context;
    struct bl_file_facts facts;
    if (facts_of(c->directory, name, &facts))
        c->bytes += facts.allocated;
    return true;
}

uint64_t bl_shadow_bytes(const char *root) {
    char path[BL_SHADOW_PATH];
    struct count c = {.directory = bl_shadow_directory(root, path)
                                       ? bl_file_open_directory(path)
                                       : -ENAMETOOLONG};
    if (c.directory < 0)
        return 0;
    bl_file_list(c.directory, count_one, &c);
    bl_os_close(c.directory);
    return c.bytes;
}
