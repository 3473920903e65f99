// SPDX-License-Identifier: MIT
//
// A program without any libc that takes memory by system calls alone, in every
// order that a malloc may, and compares what it got with what the kernel
// promises: lengths, contents, zeros, errors. Linked with -nostdlib -static.
//
//   calls [short|wait]
//
// Prints "right" or where it went wrong. short: with less memory, and silent;
// wait: the break alone, and then waits for the end of input.
//
#include <stddef.h>
#include <stdint.h>

enum {
    READ = 0,
    WRITE = 1,
    MMAP = 9,
    MPROTECT = 10,
    MUNMAP = 11,
    BRK = 12,
    MREMAP = 25,
    FORK = 57,
    VFORK = 58,
    EXECVE = 59,
    EXIT = 60,
    WAIT4 = 61,
    UNAME = 63,
    PRCTL = 157
};
enum {
    BASE = 4096,
    MIB = 1 << 20,
    PRIVATE_ANONYMOUS = 0x22,
    READ_ONLY = 1,
    READ_WRITE = 3,
    FIXED = 0x10,
    MAY_MOVE = 1,
    SET_DUMPABLE = 4
};

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    // What the kernel promises to keep must be kept under a tracer too.
    long rdi = a;
    long rsi = b;
    long rdx = c;
    __asm__ volatile("syscall"
                     : "=a"(result), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+r"(r10),
                       "+r"(r8), "+r"(r9)
                     : "a"(number)
                     : "rcx", "r11", "memory");
    if (rdi != a || rsi != b || rdx != c || r10 != d || r8 != e || r9 != f)
        __builtin_trap();
    return result;
}

static void say(const char *text) {
    size_t n = 0;
    while (text[n])
        n++;
    call(WRITE, 1, (long)text, (long)n, 0, 0, 0);
}

static void require(int good, const char *what) {
    if (good)
        return;
    say("wrong: ");
    say(what);
    say("\n");
    call(EXIT, 1, 0, 0, 0, 0, 0);
}

static int is_zero(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (p[i])
            return 0;
    }
    return 1;
}

static void fill(unsigned char *p, size_t n, unsigned char value) {
    for (size_t i = 0; i < n; i++)
        p[i] = value;
}

static int is_filled(const unsigned char *p, size_t n, unsigned char value) {
    for (size_t i = 0; i < n; i++) {
        if (p[i] != value)
            return 0;
    }
    return 1;
}

static unsigned char *move_break(unsigned char *to) {
    return (unsigned char *)call(BRK, (long)to, 0, 0, 0, 0, 0);
}

// Ends with `mebibytes` of heap in place.
static void try_break(int mebibytes) {
    unsigned char *start = move_break(0);
    unsigned char *end = start;
    require(move_break(0) == start, "the break moved by itself");
    for (int i = 0; i < 16; i++) {
        const size_t step = 132 * 1024;
        require(move_break(end + step) == end + step, "the break grows");
        require(move_break(0) == end + step, "the break is where it was put");
        require(is_zero(end, step), "new memory behind the break is zero");
        fill(end, step, 7);
        end += step;
    }
    // Down and up again: zeros, and what lies below stays.
    unsigned char *half = start + (end - start) / 2 + 123;
    require(move_break(half) == half, "the break shrinks");
    require(move_break(end) == end, "the break grows again");
    unsigned char *page = (unsigned char *)(((uintptr_t)half + BASE - 1) &
                                            ~(uintptr_t)(BASE - 1));
    require(is_filled(start, (size_t)(half - start), 7), "memory was kept");
    require(is_zero(page, (size_t)(end - page)), "memory given back is zero");
    require(move_break(start - BASE) == end, "the break stays above its start");
    require(move_break((unsigned char *)(1ul << 62)) == end,
            "a break that cannot be is refused");
    for (int i = 0; i < mebibytes * 8; i++) {
        require(move_break(end + MIB / 8) == end + MIB / 8, "a long heap");
        fill(end, MIB / 8, 9);
        end += MIB / 8;
    }
}

static unsigned char *map(void *at, size_t n, long flags) {
    return (unsigned char *)call(MMAP, (long)at, (long)n, READ_WRITE,
                                 PRIVATE_ANONYMOUS | flags, -1, 0);
}

static int is_error(const void *p) { return (unsigned long)p > -4096ul; }

static unsigned char *grow(unsigned char *p, size_t from, size_t to,
                           int flags) {
    return (unsigned char *)call(MREMAP, (long)p, (long)from, (long)to, flags,
                                 0, 0);
}

// As a clause arena grows: by half, again and again.
static void try_mappings(void) {
    size_t n = 3 * MIB + BASE;
    unsigned char *p = map(0, n, 0);
    require(!is_error(p) && is_zero(p, n), "a mapping");
    fill(p, n, 1);
    while (n < 96 * MIB) {
        const size_t more = (n + n / 2) & ~(size_t)(BASE - 1);
        p = grow(p, n, more, MAY_MOVE);
        require(!is_error(p), "a mapping grows");
        require(is_filled(p, n, 1), "its contents came along");
        require(is_zero(p + n, more - n), "what was added is zero");
        fill(p + n, more - n, 1);
        n = more;
    }
    unsigned char *q = map(0, 7 * MIB, 0);
    require(!is_error(q), "a second mapping");
    fill(q, 5 * MIB, 2);
    // Something right behind it: it cannot grow in place.
    unsigned char *wall = map(q + 5 * MIB, 2 * MIB, FIXED);
    require(wall == q + 5 * MIB, "a mapping at a place of ours");
    fill(wall, 2 * MIB, 3);
    require(is_error(grow(q, 5 * MIB, 6 * MIB, 0)), "no room, no growth");
    q = grow(q, 5 * MIB, 50 * MIB, MAY_MOVE);
    require(!is_error(q) && is_filled(q, 5 * MIB, 2), "it moved");
    require(is_zero(q + 5 * MIB, 45 * MIB), "and grew");
    require(is_filled(wall, 2 * MIB, 3), "nothing else was touched");
    require(map(wall, 2 * MIB, FIXED) == wall, "mapped over");
    require(is_zero(wall, 2 * MIB), "and fresh");
    require(is_error(grow(q + 1, MIB, 2 * MIB, MAY_MOVE)), "a bad address");
    require(is_error(map(0, 1ul << 60, 0)), "more than there is");
    require(call(MUNMAP, (long)q, 50 * MIB, 0, 0, 0, 0) == 0, "unmapped");
    require(is_error(grow(q, 50 * MIB, 60 * MIB, MAY_MOVE)), "it is gone");
}

// As a malloc takes groups of small blocks and gives some of them back.
static void try_small_mappings(void) {
    enum { COUNT = 600, PIECE = 11 * BASE };
    static unsigned char *at[COUNT];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            if (at[i])
                continue;
            at[i] = map(0, PIECE - 100, 0);
            require(!is_error(at[i]) && is_zero(at[i], PIECE), "a small one");
            fill(at[i], PIECE, (unsigned char)i);
        }
        for (int i = round; i < COUNT; i += 3) {
            require(is_filled(at[i], PIECE, (unsigned char)i), "it is kept");
            require(call(MUNMAP, (long)at[i], PIECE, 0, 0, 0, 0) == 0, "away");
            at[i] = 0;
        }
    }
    // Each beside the last, if that can be had, and cut to what fits.
    unsigned char *hint = at[1] - PIECE;
    for (int i = 0; i < 100; i++) {
        unsigned char *p = map(hint, 2 * PIECE, 0);
        require(!is_error(p) && is_zero(p, 2 * PIECE), "one with a hint");
        require(call(MUNMAP, (long)p, PIECE, 0, 0, 0, 0) == 0, "its front");
        fill(p + PIECE, PIECE, 5);
        hint = p - PIECE;
    }
    require(is_filled(at[1], PIECE, 1), "a hint harms nobody");
    for (int i = 0; i < 100; i++) {
        unsigned char *p = map(hint, 3 * PIECE, 0);
        require(!is_error(p) && is_zero(p, 3 * PIECE), "another");
        fill(p, 3 * PIECE, 6);
        require(call(MUNMAP, (long)(p + PIECE), 2 * PIECE, 0, 0, 0, 0) == 0,
                "its end");
        require(is_filled(p, PIECE, 6), "it is kept");
    }
    unsigned char *p = grow(at[0], PIECE, 2 * MIB, MAY_MOVE);
    require(!is_error(p) && is_zero(p + PIECE, 2 * MIB - PIECE), "grown large");
    at[0] = p;
}

// As a small piece grows that has been protected, or in a program that lets
// nobody at its memory.
static void try_protected(void) {
    enum { PIECE = 3 * BASE };
    unsigned char *p = map(0, PIECE, 0);
    unsigned char *behind = map(0, PIECE, 0);
    require(!is_error(p) && !is_error(behind), "two small ones");
    fill(p, PIECE, 4);
    require(call(MPROTECT, (long)p, PIECE, READ_ONLY, 0, 0, 0) == 0, "locked");
    p = grow(p, PIECE, 5 * PIECE, MAY_MOVE);
    require(!is_error(p) && is_filled(p, PIECE, 4), "one that is read-only");
    require(call(UNAME, (long)p, 0, 0, 0, 0, 0) != 0, "it still is");
    require(call(PRCTL, SET_DUMPABLE, 0, 0, 0, 0, 0) == 0, "let nobody in");
    p = map(0, PIECE, 0);
    behind = map(0, PIECE, 0);
    require(!is_error(p) && !is_error(behind), "two more");
    fill(p, PIECE, 5);
    for (int i = 0; i < 2; i++) { // small, and large
        const size_t from = i ? 5 * PIECE : PIECE;
        const size_t to = i ? 5 * MIB : 5 * PIECE;
        p = grow(p, from, to, MAY_MOVE);
        require(!is_error(p) && is_filled(p, PIECE, 5), "it grows alone");
        require(is_zero(p + PIECE, to - PIECE), "and with zeros");
    }
}

// A child has memory of its own; one of vfork shares it.
static void try_children(void) {
    int status = -1;
    unsigned char *end = move_break(0);
    long pid = call(FORK, 0, 0, 0, 0, 0, 0);
    if (pid == 0) {
        require(move_break(0) == end, "the child's break");
        require(move_break(end + 3 * MIB) == end + 3 * MIB, "the child grows");
        require(is_zero(end, 3 * MIB), "and gets zeros");
        try_mappings();
        call(EXIT, 42, 0, 0, 0, 0, 0);
    }
    require(pid > 0, "fork");
    require(call(WAIT4, pid, (long)&status, 0, 0, 0, 0) == pid, "wait");
    require(status == 42 << 8, "the child ended well");
    require(move_break(0) == end, "the child left our break alone");
}

static void try_exec(char *self, char **environment) {
    int status = -1;
    char *words[] = {self, "short", 0};
    const long pid = call(FORK, 0, 0, 0, 0, 0, 0);
    if (pid == 0) {
        call(EXECVE, (long)self, (long)words, (long)environment, 0, 0, 0);
        call(EXIT, 1, 0, 0, 0, 0, 0);
    }
    require(call(WAIT4, pid, (long)&status, 0, 0, 0, 0) == pid, "wait");
    require(status == 0, "another program ended well");
}

static int run(int words, char **argv, char **environment) {
    char c;
    const char kind = (char)(words > 1 ? argv[1][0] : 'a');
    try_break(kind == 's' ? 4 : 48);
    if (kind != 'w') {
        try_small_mappings();
        try_mappings();
    }
    if (kind == 'a') {
        try_children();
        try_exec(argv[0], environment);
        try_protected();
    }
    if (kind != 's')
        say("right\n");
    while (kind == 'w' && call(READ, 0, (long)&c, 1, 0, 0, 0) > 0)
        ;
    return 0;
}

__attribute__((used)) static void begin(long *stack) {
    char **argv = (char **)(stack + 1);
    call(EXIT, run((int)stack[0], argv, argv + stack[0] + 1), 0, 0, 0, 0, 0);
}

__asm__(
    ".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
