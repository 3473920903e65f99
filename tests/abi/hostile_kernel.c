// SPDX-License-Identifier: MIT
//
// System calls that a seccomp filter refuses, with EPERM as container
// runtimes do and with ENOSYS as an old kernel would; huge pages forbidden to
// the process by prctl.
//
#include "hostile.h"
#include "resident.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CALLS 4

struct refusal {
    unsigned answer;     // errno
    unsigned mmap_flags; // not 0: refuse mmap with any of these instead
    int count;
    int calls[MAX_CALLS];
};

static const char *install(struct sock_filter *code, size_t n) {
    const struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return "PR_SET_NO_NEW_PRIVS";
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return "seccomp";
    return NULL;
}

static const char *refuse_calls(const void *arg) {
    const struct refusal *const f = arg;
    struct sock_filter code[2 * MAX_CALLS + 2];
    size_t n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (int i = 0; i < f->count; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (unsigned)f->calls[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                                 SECCOMP_RET_ERRNO | f->answer);
    }
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return install(code, n);
}

// The low half of the fourth argument, as the filter sees it.
static const char *refuse_mmap_flags(const void *arg) {
    const struct refusal *const f = arg;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, f->mmap_flags, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | f->answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    return install(code, sizeof code / sizeof code[0]);
}

static void refuse_twice(struct refusal f) {
    f.answer = EPERM;
    hostile_run_with(refuse_calls, &f);
    f.answer = ENOSYS;
    hostile_run_with(refuse_calls, &f);
}

TEST(madvise_is_refused) {
    refuse_twice((struct refusal){.count = 1, .calls = {SYS_madvise}});
}

TEST(madvise_is_invalid) {
    // A kernel built without huge pages answers EINVAL.
    const struct refusal f = {
        .answer = EINVAL, .count = 1, .calls = {SYS_madvise}};
    hostile_run_with(refuse_calls, &f);
}

TEST(prctl_is_refused) {
    refuse_twice((struct refusal){.count = 1, .calls = {SYS_prctl}});
}

TEST(madvise_and_prctl_are_refused) {
    refuse_twice(
        (struct refusal){.count = 2, .calls = {SYS_madvise, SYS_prctl}});
}

TEST(mremap_is_refused) {
    refuse_twice((struct refusal){.count = 1, .calls = {SYS_mremap}});
}

TEST(munmap_is_refused) {
    refuse_twice((struct refusal){.count = 1, .calls = {SYS_munmap}});
}

// What cannot be unmapped is given back all the same.
static void free_without_munmap(void *arg) {
    const struct refusal f = {
        .answer = EPERM, .count = 1, .calls = {SYS_munmap}};
    (void)arg;
    assert_ptr_eq(refuse_calls(&f), NULL);
    for (int i = 0; i < 20; i++) {
        void *const p = malloc(40 * MIB);
        assert_ptr_ne(p, NULL);
        memset(p, 1, 40 * MIB);
        free(p);
        malloc_trim(0);
    }
    expect_size_le(resident_bytes(), 100 * MIB);
}

TEST(memory_goes_back_without_munmap) {
    if (!bl_test_on_bigleaf())
        bl_test_skip("the libc gives nothing back then");
    bl_test_in_child(free_without_munmap, NULL);
}

TEST(getrandom_is_refused) {
    refuse_twice((struct refusal){.count = 1, .calls = {SYS_getrandom}});
}

TEST(limits_cannot_be_read) {
    refuse_twice(
        (struct refusal){.count = 2, .calls = {SYS_prlimit64, SYS_getrlimit}});
}

TEST(all_memory_advice_is_refused) {
    refuse_twice((struct refusal){
        .count = 4, .calls = {SYS_madvise, SYS_mremap, SYS_munmap, SYS_prctl}});
}

TEST(huge_pages_of_the_pool_are_refused) {
    const struct refusal f = {.answer = EACCES, .mmap_flags = MAP_HUGETLB};
    setenv("BIGLEAF_PAGES", "hugetlb", 1);
    hostile_run_with(refuse_mmap_flags, &f);
}

#ifndef PR_SET_THP_DISABLE
#define PR_SET_THP_DISABLE 41
#endif

static const char *forbid_huge_pages(void) {
    return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 ? NULL
                                                      : "PR_SET_THP_DISABLE";
}

TEST(huge_pages_are_forbidden_by_prctl) { hostile_run(forbid_huge_pages); }
