// SPDX-License-Identifier: MIT
//
// The C++ demangler is that of libstdc++, opened when a mangled name turns up:
// every start of the command would pay for linking it.
//
#include "cli/symbols.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangler(const char *mangled, char *buffer, size_t *length,
                        int *status);

struct symbol {
    uint64_t start, end;
    const char *name; // the module's
    bool global;
};

struct object {
    char *path;
    char *name;
    Dwfl *dwfl;
    Dwfl_Module *module;    // NULL: cannot be read
    struct symbol *symbols; // by their starts, each start once
    size_t symbol_count;
};

struct bl_symbols {
    struct object *objects;
    size_t object_count;
    void *strings; // made here; a tree of search.h
    demangler *demangle;
    bool demangle_tried;
};

struct bl_symbols *bl_symbols_new(void) {
    struct bl_symbols *s = bl_xrealloc(NULL, sizeof *s);
    *s = (struct bl_symbols){0};
    return s;
}

void bl_symbols_free(struct bl_symbols *s) {
    for (size_t i = 0; i < s->object_count; i++) {
        dwfl_end(s->objects[i].dwfl);
        free(s->objects[i].symbols);
        free(s->objects[i].path);
        free(s->objects[i].name);
    }
    tdestroy(s->strings, free);
    free(s->objects);
    free(s);
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

// Takes `text` over; equal strings are one.
static const char *intern(struct bl_symbols *s, char *text) {
    char **known = tsearch(text, &s->strings, by_text);
    BL_CHECK(known);
    if (*known != text)
        free(text);
    return *known;
}

static const char *demangled(struct bl_symbols *s, const char *name) {
    if (strncmp(name, "_Z", 2) != 0)
        return intern(s, bl_xstrdup(name));
    if (!s->demangle_tried) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW);
        s->demangle_tried = true;
        if (library)
            s->demangle = (demangler *)dlsym(library, "__cxa_demangle");
    }
    int status = 0;
    char *text = s->demangle ? s->demangle(name, NULL, NULL, &status) : NULL;
    return intern(s, text ? text : bl_xstrdup(name));
}

// Of several names for one place: the longest function, a global name, then
// the shortest one.
static int symbol_order(const void *a, const void *b) {
    const struct symbol *x = a;
    const struct symbol *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    if (x->global != y->global)
        return x->global ? -1 : 1;
    const size_t m = strlen(x->name);
    const size_t n = strlen(y->name);
    return m != n ? (m > n) - (m < n) : strcmp(x->name, y->name);
}

// libdw looks through all symbols for each address; a large library has a
// hundred thousand.
static void read_symbols(struct object *o) {
    const int n = dwfl_module_getsymtab(o->module);
    size_t count = 0;
    if (n <= 0)
        return;
    o->symbols = bl_xrealloc(NULL, (size_t)n * sizeof *o->symbols);
    for (int i = 0; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr start;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(
            o->module, i, &symbol, &start, &section, NULL, NULL);
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        if (name && name[0] && symbol.st_size && section != SHN_UNDEF &&
            (type == STT_FUNC || type == STT_GNU_IFUNC))
            o->symbols[count++] =
                (struct symbol){start, start + symbol.st_size, name,
                                GELF_ST_BIND(symbol.st_info) != STB_LOCAL};
    }
    if (count)
        qsort(o->symbols, count, sizeof *o->symbols, symbol_order);
    for (size_t i = 0; i < count; i++) {
        const size_t kept = o->symbol_count;
        if (kept == 0 || o->symbols[i].start != o->symbols[kept - 1].start)
            o->symbols[o->symbol_count++] = o->symbols[i];
    }
}

// NULL: no symbol covers the address.
static const char *symbol_name(const struct object *o, uint64_t address) {
    size_t low = 0;
    size_t high = o->symbol_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (o->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < o->symbols[low - 1].end
               ? o->symbols[low - 1].name
               : NULL;
}

static struct object *object_of(struct bl_symbols *s, const char *path) {
    static char *debug_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debug_path};
    for (size_t i = 0; i < s->object_count; i++) {
        if (strcmp(s->objects[i].path, path) == 0)
            return &s->objects[i];
    }
    s->objects =
        bl_xrealloc(s->objects, (s->object_count + 1) * sizeof *s->objects);
    struct object *o = &s->objects[s->object_count++];
    const char *slash = strrchr(path, '/');
    *o = (struct object){.path = bl_xstrdup(path),
                         .name = bl_xstrdup(slash ? slash + 1 : path),
                         .dwfl = dwfl_begin(&callbacks)};
    if (o->dwfl)
        o->module = dwfl_report_offline(o->dwfl, o->name, path, -1);
    if (o->dwfl)
        dwfl_report_end(o->dwfl, NULL, NULL);
    if (o->module)
        read_symbols(o);
    return o;
}

// The address, as libdw counts, of what lies at `offset` in the file.
static bool address_of(const struct object *o, uint64_t offset, uint64_t *out,
                       uint64_t *bias) {
    GElf_Addr loaded;
    GElf_Phdr h;
    size_t n = 0;
    Elf *elf = o->module ? dwfl_module_getelf(o->module, &loaded) : NULL;
    if (!elf || elf_getphdrnum(elf, &n) != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_LOAD &&
            offset >= h.p_offset && offset - h.p_offset < h.p_filesz) {
            *out = offset - h.p_offset + h.p_vaddr + loaded;
            *bias = loaded;
            return true;
        }
    }
    return false;
}

// Where the function around `address` begins, by the unwind tables.
static uint64_t function_start(const struct object *o, uint64_t address) {
    Dwarf_Addr bias = 0;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    bool signal;
    Dwarf_Frame *frame = NULL;
    Dwarf_CFI *cfi = dwfl_module_eh_cfi(o->module, &bias);
    if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame) != 0)
        return 0;
    if (dwarf_frame_info(frame, &start, &end, &signal) < 0)
        start = 0;
    free(frame);
    return start;
}

static const char *function_name(struct bl_symbols *s, const struct object *o,
                                 uint64_t address, uint64_t bias) {
    const char *name = symbol_name(o, address);
    if (name)
        return demangled(s, name);
    uint64_t start = function_start(o, address);
    start = start ? start : address - bias;
    return intern(s,
                  bl_xprintf("%s+0x%llx", o->name, (unsigned long long)start));
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *die_name(struct bl_symbols *s, Dwarf_Die *die) {
    Dwarf_Attribute a;
    const char *name =
        dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &a));
    if (!name)
        name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &a));
    return name ? demangled(s, name) : "?";
}

// Where an inlined function was called.
static void call_line(struct bl_symbols *s, Dwarf_Die *unit, Dwarf_Die *die,
                      struct bl_place *out) {
    Dwarf_Attribute a;
    Dwarf_Word file = 0;
    Dwarf_Word line = 0;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &a), &file) != 0 ||
        dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &a), &line) != 0 ||
        dwarf_getsrcfiles(unit, &files, &count) != 0)
        return;
    const char *path = dwarf_filesrc(files, file, NULL, NULL);
    if (!path)
        return;
    out->file = intern(s, bl_xstrdup(base_name(path)));
    out->line = (int)line;
}

// The inlined functions around an address, and the line in the function that
// was compiled.
static void inlined(struct bl_symbols *s, const struct object *o,
                    uint64_t address, struct bl_place *out) {
    Dwarf_Addr bias;
    Dwarf_Die *inner = NULL;
    Dwarf_Die *chain = NULL;
    Dwarf_Die *unit = dwfl_module_addrdie(o->module, address, &bias);
    if (!unit)
        return;
    if (dwarf_getscopes(unit, address - bias, &inner) > 0) {
        // Innermost first; inside out to inside in.
        const int n = dwarf_getscopes_die(&inner[0], &chain);
        for (int i = n - 1; i >= 0; i--) {
            if (dwarf_tag(&chain[i]) != DW_TAG_inlined_subroutine)
                continue;
            if (out->inlined_count == 0)
                call_line(s, unit, &chain[i], out);
            if (out->inlined_count < BL_MOST_INLINED)
                out->inlined[out->inlined_count++] = die_name(s, &chain[i]);
        }
    }
    free(chain);
    free(inner);
}

static void source_line(struct bl_symbols *s, const struct object *o,
                        uint64_t address, struct bl_place *out) {
    Dwfl_Line *line = dwfl_module_getsrc(o->module, address);
    const char *file =
        line ? dwfl_lineinfo(line, NULL, &out->line, NULL, NULL, NULL) : NULL;
    if (file)
        out->file = intern(s, bl_xstrdup(base_name(file)));
}

void bl_symbols_place(struct bl_symbols *s, const char *path, uint64_t offset,
                      struct bl_place *out) {
    uint64_t address;
    uint64_t bias;
    *out = (struct bl_place){.object = "[memory]", .function = "[memory]"};
    if (!path[0])
        return;
    struct object *o = object_of(s, path);
    out->object = o->name;
    if (!address_of(o, offset, &address, &bias)) {
        out->function = intern(
            s, bl_xprintf("%s@0x%llx", o->name, (unsigned long long)offset));
        return;
    }
    out->function = function_name(s, o, address, bias);
    source_line(s, o, address, out);
    inlined(s, o, address, out);
}

const char *bl_symbols_name(struct bl_symbols *s, const char *name) {
    return intern(s, bl_xstrdup(name));
}
