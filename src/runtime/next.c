// SPDX-License-Identifier: MIT
//
// Of glibc's functions the version is named, since a library may hold several,
// unless somebody else defines one behind us.
// musl has none, and no dlvsym: there the symbol tables of what was loaded
// behind this library are read (musl keeps what they say relative to the
// object, and has the plain hash table, which tells how many symbols there
// are). `dlsym` would not do: it is one of ours.
//
#include "runtime/next.h"

#include "os/os.h"

#include <dlfcn.h>
#include <link.h>

extern __typeof__(dlvsym) dlvsym __attribute__((weak));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

struct search {
    const char *name;
    bool behind; // this library was passed
    uintptr_t found;
};

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; // the second word is the number of symbols
};

static struct tables tables_of(const struct dl_phdr_info *info) {
    struct tables t = {0};
    const ElfW(Dyn) *d = NULL;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    for (; d && d->d_tag != DT_NULL; d++) {
        const void *const at = (const void *)(info->dlpi_addr + d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            t.symbols = at;
        else if (d->d_tag == DT_STRTAB)
            t.strings = at;
        else if (d->d_tag == DT_HASH)
            t.hash = at;
    }
    return t;
}

static int look_in(struct dl_phdr_info *info, size_t bytes, void *context) {
    struct search *s = context;
    (void)bytes;
    if (!s->behind) {
        s->behind = info->dlpi_addr == (uintptr_t)__ehdr_start;
        return 0;
    }
    const struct tables t = tables_of(info);
    if (!t.symbols || !t.strings || !t.hash)
        return 0;
    for (uint32_t i = 1; i < t.hash[1]; i++) {
        const ElfW(Sym) *symbol = &t.symbols[i];
        if (symbol->st_shndx == SHN_UNDEF ||
            ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
            !bl_str_eq(t.strings + symbol->st_name, s->name))
            continue;
        s->found = info->dlpi_addr + symbol->st_value;
        return 1;
    }
    return 0;
}

uintptr_t bl_in_other_libc(const char *name) {
    struct search s = {.name = name};
    dl_iterate_phdr(look_in, &s);
    return s.found;
}

// Others may stand between us and the C library, as the libraries of compilers
// for sanitizers do. They have no versions, and dlvsym passes them over; dlsym
// does not, but its own name is one of ours.
static uintptr_t find_behind(const char *name, const char *version) {
    typedef void *look_up_fn(void *, const char *);
    look_up_fn *const look_up =
        (look_up_fn *)dlvsym(RTLD_NEXT, "dlsym", BL_NEXT_VERSION);
    void *const next = look_up ? look_up(RTLD_NEXT, name) : NULL;
    return (uintptr_t)(next ? next : dlvsym(RTLD_NEXT, name, version));
}

uintptr_t bl_next_version(_Atomic(uintptr_t) *known, const char *name,
                          const char *version) {
    uintptr_t found = bl_load_relaxed(known);
    if (found == 0) {
        found = dlvsym ? find_behind(name, version) : bl_in_other_libc(name);
        if (found == 0)
            bl_fatal("a function of the C library is not to be found behind "
                     "ours");
        bl_store_relaxed(known, found);
    }
    return found;
}

uintptr_t bl_next(_Atomic(uintptr_t) *known, const char *name) {
    return bl_next_version(known, name, BL_NEXT_VERSION);
}
