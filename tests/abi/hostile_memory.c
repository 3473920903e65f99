// SPDX-License-Identifier: MIT
//
// Little memory: RLIMIT_AS, RLIMIT_DATA, strict overcommit, a memory cgroup, a
// pool of one huge page. Allocation fails with NULL and ENOMEM at the limit,
// what is freed can be had again, and nothing dies of a signal.
//
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT (64 * MIB)

static const char *limit_address_space(void) {
    const struct rlimit limit = {LIMIT, LIMIT};
    return setrlimit(RLIMIT_AS, &limit) == 0 ? NULL : "RLIMIT_AS";
}

// From Linux 4.7 on it counts all private memory that can be written to.
static const char *limit_data(void) {
    const struct rlimit limit = {LIMIT, LIMIT};
    return setrlimit(RLIMIT_DATA, &limit) == 0 ? NULL : "RLIMIT_DATA";
}

// Takes blocks of one size until there are no more; the bytes taken.
static size_t take_all(void ***list, size_t size) {
    size_t taken = 0;
    void **p;
    errno = 0;
    while ((p = malloc(size)) != NULL) {
        fill_pattern(p, size, 1);
        *p = *list;
        *list = p;
        taken += size;
    }
    expect_int_eq(errno, ENOMEM);
    return taken;
}

static void give_back_all(void ***list) {
    while (*list != NULL) {
        void **const p = *list;
        *list = *p;
        free(p);
    }
}

// The first reading is taken in a fresh process; later ones may be less by
// what other sizes hold on to, but not by much.
static void take_all_twice(size_t size, size_t least) {
    void **list = NULL;
    const size_t first = take_all(&list, size);
    expect_size_ge(first, least);
    give_back_all(&list);
    const size_t second = take_all(&list, size);
    expect_size_ge(second, first - first / 8);
    give_back_all(&list);
    void *const large = malloc(least / 2);
    expect_ptr_ne(large, NULL);
    free(large);
}

static void take_small(void *arg) {
    (void)arg;
    expect_ptr_eq(limit_address_space(), NULL);
    take_all_twice(100, 40 * MIB);
}

static void take_medium(void *arg) {
    (void)arg;
    expect_ptr_eq(limit_address_space(), NULL);
    take_all_twice(10000, 40 * MIB);
}

static void take_large(void *arg) {
    (void)arg;
    expect_ptr_eq(limit_address_space(), NULL);
    take_all_twice(1 * MIB, 40 * MIB);
}

static void take_one_block(void *arg) {
    (void)arg;
    expect_ptr_eq(limit_address_space(), NULL);
    void *p = malloc(36 * MIB);
    expect_ptr_ne(p, NULL);
    errno = 0;
    expect_ptr_eq(malloc(36 * MIB), NULL);
    expect_int_eq(errno, ENOMEM);
    errno = 0;
    expect_ptr_eq(realloc(p, 100 * MIB), NULL);
    expect_int_eq(errno, ENOMEM);
    errno = 0;
    expect_ptr_eq(calloc(1, 100 * MIB), NULL);
    expect_int_eq(errno, ENOMEM);
    memset(p, 1, 36 * MIB);
    free(p);
    p = malloc(36 * MIB);
    expect_ptr_ne(p, NULL);
    free(p);
}

TEST(address_space_of_64_mib) { hostile_run(limit_address_space); }
TEST(data_of_64_mib) { hostile_run(limit_data); }
TEST(small_blocks_until_the_limit) { bl_test_in_child(take_small, NULL); }
TEST(medium_blocks_until_the_limit) { bl_test_in_child(take_medium, NULL); }
TEST(large_blocks_until_the_limit) { bl_test_in_child(take_large, NULL); }
TEST(one_block_below_the_limit) { bl_test_in_child(take_one_block, NULL); }

static bool write_text(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

static bool read_text(const char *path, char *text, size_t capacity) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, capacity - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

// No more address space than is in use: what a large block had is all that
// small ones can have.
static const char *limit_to_what_is_mapped(void) {
    char text[32];
    if (!read_text("/proc/self/statm", text, sizeof text))
        return "/proc/self/statm";
    const rlim_t mapped =
        strtoul(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
    const struct rlimit limit = {mapped, mapped};
    return setrlimit(RLIMIT_AS, &limit) == 0 ? NULL : "RLIMIT_AS";
}

static void take_small_after_large(void *arg) {
    (void)arg;
    void **list = NULL;
    void *const p = malloc(100 * MIB);
    expect_ptr_ne(p, NULL);
    memset(p, 1, 100 * MIB);
    assert_ptr_eq(limit_to_what_is_mapped(), NULL);
    free(p);
    expect_size_ge(take_all(&list, 1000), 80 * MIB);
    give_back_all(&list);
}

TEST(small_blocks_after_a_large_one) {
    bl_test_in_child(take_small_after_large, NULL);
}

// A vector that grows by half must get as far under a limit as its size and
// its copy allow: 16 MiB and 24 MiB are 40 of 64.
static void grow_under_limit(void *arg) {
    (void)arg;
    expect_ptr_eq(limit_address_space(), NULL);
    size_t size = 1000;
    void *p = malloc(size);
    for (;;) {
        void *const q = realloc(p, size + size / 2);
        if (q == NULL)
            break;
        p = q;
        size += size / 2;
        memset(p, 1, size);
    }
    expect_size_ge(size, 15 * MIB);
    free(p);
}

TEST(growth_until_the_limit) { bl_test_in_child(grow_under_limit, NULL); }

static void *allocate_to_the_limit(void *arg) {
    void *kept[64] = {NULL};
    (void)arg;
    for (size_t i = 0; i < 20000; i++) {
        void **const slot = &kept[i % 64];
        free(*slot);
        *slot = malloc((i * 7919) % (2 * MIB));
        if (*slot != NULL)
            *(char *)*slot = 1;
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

static void threads_at_the_limit(void *arg) {
    (void)arg;
    pthread_t thread[4];
    pthread_attr_t attr;
    int threads = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * KIB);
    const struct rlimit limit = {128 * MIB, 128 * MIB};
    expect_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[threads], &attr, allocate_to_the_limit,
                           NULL) == 0)
            threads++;
    expect_int_ge(threads, 1);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    void *const p = malloc(30 * MIB);
    expect_ptr_ne(p, NULL);
    free(p);
}

TEST(threads_meet_the_limit) { bl_test_in_child(threads_at_the_limit, NULL); }

// A setting of the machine, put back by the process that changed it, also
// when the work in its child dies.
static void run_with_setting(const char *path, const char *value,
                             void (*body)(void *), void *arg) {
    char before[64];
    hostile_need_machine();
    if (!read_text(path, before, sizeof before))
        bl_test_skip("%s: %s", path, strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        if (!write_text(path, value))
            bl_test_skip("%s: %s", path, strerror(errno));
        alarm(30);
        body(arg);
        bl_test_exit();
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (!write_text(path, before))
        fail_test("%s could not be put back to %s", path, before);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        _exit(77);
    expect_int_eq(status, 0);
}

static const char *nothing(void) { return NULL; }

static void work_in_place_and_anew(void *arg) {
    (void)arg;
    hostile_run(nothing);
}

TEST(strict_overcommit) {
    run_with_setting("/proc/sys/vm/overcommit_memory", "2",
                     work_in_place_and_anew, NULL);
}

static void use_the_pool(void *arg) {
    (void)arg;
    setenv("BIGLEAF_PAGES", "hugetlb", 1);
    hostile_run(nothing);
    setenv("BIGLEAF_PAGES", "auto", 1);
    hostile_run(nothing);
}

TEST(pool_of_one_huge_page) {
    run_with_setting("/proc/sys/vm/nr_hugepages", "1", use_the_pool, NULL);
}

TEST(pool_of_64_huge_pages) {
    run_with_setting("/proc/sys/vm/nr_hugepages", "64", use_the_pool, NULL);
}

TEST(pool_without_huge_pages) {
    setenv("BIGLEAF_PAGES", "hugetlb", 1);
    hostile_run(nothing);
}

struct cgroup {
    char folder[256];
    char limit[320];
    char tasks[320];
};

static bool cgroup_at(struct cgroup *g, const char *root, const char *limit,
                      const char *tasks) {
    snprintf(g->folder, sizeof g->folder, "%s/bigleaf-test-%d", root,
             (int)getpid());
    if (mkdir(g->folder, 0755) != 0)
        return false;
    snprintf(g->limit, sizeof g->limit, "%s/%s", g->folder, limit);
    snprintf(g->tasks, sizeof g->tasks, "%s/%s", g->folder, tasks);
    if (write_text(g->limit, "67108864"))
        return true;
    rmdir(g->folder);
    return false;
}

static bool cgroup_make(struct cgroup *g) {
    return cgroup_at(g, "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                     "tasks") ||
           cgroup_at(g, "/sys/fs/cgroup", "memory.max", "cgroup.procs");
}

static const char *enter_cgroup(const void *arg) {
    const struct cgroup *const g = arg;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    return write_text(g->tasks, pid) ? NULL : "the cgroup takes no process";
}

// 44 MiB live, in changing shapes: glibc lives with it in 64 MiB.
static void live_on_44_mib(void) {
    void **list = NULL;
    static const size_t size[] = {100, 3000, 50000, 1 * MIB, 500};
    for (int round = 0; round < 5; round++) {
        for (size_t taken = 0; taken < 44 * MIB; taken += size[round]) {
            void **const p = malloc(size[round]);
            assert_ptr_ne(p, NULL);
            memset(p, 1, size[round]);
            *p = list;
            list = p;
        }
        give_back_all(&list);
    }
}

TEST(memory_cgroup_of_64_mib) {
    struct cgroup g;
    if (geteuid() != 0)
        bl_test_skip("needs root");
    if (!cgroup_make(&g))
        bl_test_skip("no memory cgroup can be made here: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(50);
        hostile_run_with(enter_cgroup, &g);
        if (enter_cgroup(&g) != NULL)
            _exit(1);
        live_on_44_mib();
        bl_test_exit();
    }
    int status = 0;
    waitpid(pid, &status, 0);
    for (int i = 0; i < 100 && rmdir(g.folder) != 0; i++)
        usleep(10000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        _exit(77);
    expect_int_eq(status, 0);
}
