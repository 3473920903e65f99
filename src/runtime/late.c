// SPDX-License-Identifier: MIT
//
// Text of libraries that `dlopen` brings after start, in the preload library.
//
// `dlopen` and `dlsym` are ours there. Each looks whether libraries with whole
// units were loaded since, gives them to `image`, and jumps to the C library's
// function of that name. It jumps and does not call: who asks is known to the
// C library by the return address alone, and RTLD_NEXT, $ORIGIN and the search
// path of the library that asks follow from it. So a library is looked at
// after its `dlopen` is over, when its first function is looked up (or another
// library loaded), and no lock of ours or of the loader is held meanwhile.
// Where a constructor asks, the loader's locks are held, by this thread: then
// all that came with it is relocated, and nothing here waits for a lock.
//
// What is looked at are the program headers in memory: a call that finds
// nothing new costs a walk over the first object, one that finds small
// libraries only a walk over all, and no system call. Only while there is one
// thread is a mapping replaced: another could unload the library under us.
//
// A library whose symbols nobody looks up stays as it is, and so do the C
// library's own (character sets, name services) until the next call.
//
#include "runtime/late.h"

#include "image/image.h"
#include "os/os.h"
#include "runtime/next.h"

#include <link.h>

#if defined(__x86_64__) && BL_HAS_NEXT

static _Atomic(uint64_t) seen_loads; // the loader's count of all it loaded
static _Atomic(uint64_t) seen_unloads;
static _Atomic(uint64_t) seen_large; // sum over the large objects then there
static _Atomic(uint32_t) is_looking; // a thread; others need not
static _Atomic(uintptr_t) next_open;
static _Atomic(uintptr_t) next_symbol;

struct loaded {
    uint64_t loads;
    uint64_t unloads;
    uint64_t large;
};

// A read-only segment that holds a whole unit, or is laid out to fill one.
static bool is_large(const ElfW(Phdr) * p) {
    return p->p_type == PT_LOAD && !(p->p_flags & PF_W) &&
           (p->p_memsz >= BL_HUGE_SIZE || p->p_align >= BL_HUGE_SIZE);
}

static int add_object(struct dl_phdr_info *info, size_t bytes, void *context) {
    struct loaded *l = context;
    (void)bytes;
    l->loads = info->dlpi_adds;
    l->unloads = info->dlpi_subs;
    if (l->loads == bl_load_relaxed(&seen_loads))
        return 1;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (is_large(&info->dlpi_phdr[i]))
            l->large += info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    }
    return 0;
}

// True where large objects came since the last time, or may have: one that
// went and came back lies where it lay.
static bool has_changed(void) {
    struct loaded now = {0};
    if (dl_iterate_phdr(add_object, &now) != 0)
        return false;
    bl_store_relaxed(&seen_loads, now.loads);
    const bool changed = now.large != bl_load_relaxed(&seen_large) ||
                         now.unloads != bl_load_relaxed(&seen_unloads);
    bl_store_relaxed(&seen_unloads, now.unloads);
    bl_store_relaxed(&seen_large, now.large);
    return changed && now.large != 0;
}

void bl_late_start(void) { (void)has_changed(); }

static void look(void) {
    if (!bl_image_is_watching() || bl_exchange_acquire(&is_looking, 1))
        return;
    if (has_changed())
        bl_image_take_late();
    bl_store_release(&is_looking, 0);
}

// Called by the two entries below, which jump to what is returned.
uintptr_t bl_late_open(void);
uintptr_t bl_late_symbol(void);

uintptr_t bl_late_open(void) {
    look();
    return bl_next(&next_open, "dlopen");
}

uintptr_t bl_late_symbol(void) {
    look();
    return bl_next(&next_symbol, "dlsym");
}

// Both have two arguments and no frame of their own when they jump.
#define ENTRY(name, before)                                                    \
    __asm__(".pushsection .text\n"                                             \
            ".globl " name "\n"                                                \
            ".type " name ", @function\n" name ":\n"                           \
            "    .cfi_startproc\n"                                             \
            "    endbr64\n"                                                    \
            "    push %rdi\n"                                                  \
            "    push %rsi\n"                                                  \
            "    sub $8, %rsp\n"                                               \
            "    .cfi_adjust_cfa_offset 24\n"                                  \
            "    call " before "\n"                                            \
            "    add $8, %rsp\n"                                               \
            "    pop %rsi\n"                                                   \
            "    pop %rdi\n"                                                   \
            "    .cfi_adjust_cfa_offset -24\n"                                 \
            "    jmp *%rax\n"                                                  \
            "    .cfi_endproc\n"                                               \
            ".size " name ", . - " name "\n"                                   \
            ".popsection\n")

ENTRY("dlopen", "bl_late_open");
ENTRY("dlsym", "bl_late_symbol");

#else

void bl_late_start(void) {}

#endif
