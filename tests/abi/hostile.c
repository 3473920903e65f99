// SPDX-License-Identifier: MIT
#include "hostile.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 400
#define EXIT_UNAVAILABLE 78

struct slot {
    void *block;
    size_t size;
};

static size_t some_size(struct bl_random *r) {
    const uint64_t kind = bl_random_below(r, 1000);
    if (kind < 900)
        return 1 + bl_random_below(r, 600);
    if (kind < 998)
        return 1 + bl_random_below(r, 30000);
    return 1 + bl_random_below(r, 1 * MIB);
}

static void check_slot(const struct slot *s, size_t kept, size_t filled) {
    expect_size_eq(first_wrong(s->block, kept, filled, (unsigned)filled), kept);
}

static void change_slot(struct slot *s, struct bl_random *r) {
    const size_t size = some_size(r);
    const uint64_t action = bl_random_below(r, 3);
    if (s->block != NULL)
        check_slot(s, s->size, s->size);
    if (action == 0 && s->block != NULL) {
        void *const moved = realloc(s->block, size);
        if (moved == NULL) {
            fail_test("realloc to %zu failed", size);
            return;
        }
        s->block = moved;
        check_slot(s, size < s->size ? size : s->size, s->size);
    } else {
        free(s->block);
        s->block = action == 1 ? malloc(size) : calloc(1, size);
        if (s->block == NULL) {
            fail_test("no memory for %zu bytes", size);
            s->size = 0;
            return;
        }
        if (action == 2 && ((char *)s->block)[size - 1] != 0)
            fail_test("calloc of %zu is not zero", size);
    }
    s->size = size;
    fill_pattern(s->block, size, (unsigned)size);
}

static void *churn(void *seed) {
    struct bl_random r = {(uint64_t)(uintptr_t)seed};
    static _Thread_local struct slot slots[SLOTS];
    for (int i = 0; i < 8000; i++)
        change_slot(&slots[bl_random_below(&r, SLOTS)], &r);
    for (int i = 0; i < SLOTS; i++) {
        free(slots[i].block);
        slots[i].block = NULL;
    }
    return NULL;
}

static void grow_one_block(void) {
    unsigned char *p = NULL;
    size_t size = 0;
    for (size_t more = 1000; more <= 10 * MIB; more += more / 2) {
        p = realloc(p, more);
        assert_ptr_ne(p, NULL);
        assert_size_eq(first_wrong(p, size, size, 1), size);
        size = more;
        fill_pattern(p, size, 1);
    }
    free(p);
}

// Two words far apart, always written in this order: a child in which the
// second is ahead has memory of two moments.
static struct {
    _Atomic(uint64_t) *first;
    _Atomic(uint64_t) *second;
    atomic_bool stop;
} race;

static void *write_in_order(void *unused) {
    (void)unused;
    for (uint64_t n = 1; !atomic_load(&race.stop); n++) {
        atomic_store(race.first, n);
        atomic_store(race.second, n);
    }
    return NULL;
}

static void fork_once(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        const uint64_t second = atomic_load(race.second);
        _exit(atomic_load(race.first) < second);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        fail_test("a child's memory is of two moments (status %#x)", status);
}

static void fork_beside_a_writer(void) {
    pthread_t writer;
    race.first = calloc(1, 3 * MIB);
    race.second = calloc(1, 3 * MIB);
    if (race.first == NULL || race.second == NULL) {
        fail_test("no memory for two blocks of 3 MiB");
        return;
    }
    atomic_store(&race.stop, false);
    if (pthread_create(&writer, NULL, write_in_order, NULL) == 0) {
        for (int i = 0; i < 8; i++)
            fork_once();
        atomic_store(&race.stop, true);
        pthread_join(writer, NULL);
    }
    free(race.first);
    free(race.second);
}

void hostile_workload(void) {
    pthread_t thread[3];
    int threads = 0;
    churn((void *)(uintptr_t)bl_test_seed());
    grow_one_block();
    for (uintptr_t i = 0; i < 3; i++)
        if (pthread_create(&thread[threads], NULL, churn, (void *)i) == 0)
            threads++;
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    grow_one_block();
    fork_beside_a_writer();
}

// The second stage: the program anew, under the refusal, from the start.
static void execute_workload(char *const argv[]) {
    execv(argv[0], argv);
    _exit(EXIT_UNAVAILABLE + 1);
}

static void wait_for_stage(pid_t pid, const char *stage) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_UNAVAILABLE)
        bl_test_skip("this machine does not grant the test's set-up");
    if (WIFSIGNALED(status))
        fail_test("%s: ended by signal %d", stage, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        fail_test("%s: ended with status %d", stage, WEXITSTATUS(status));
}

void hostile_run_with(const char *(*restrict_process)(const void *),
                      const void *arg) {
    static char self[4096];
    static char no_fork[] = "--no-fork";
    static char name[] = "workload_is_right";
    char *const argv[] = {self, no_fork, name, NULL};
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        bl_test_skip("/proc/self/exe cannot be read");
    for (int stage = 0; stage < 2; stage++) {
        const pid_t pid = fork();
        if (pid == 0) {
            const char *const why_not = restrict_process(arg);
            if (why_not != NULL) {
                bl_test_note("  %s: %s", why_not, strerror(errno));
                _exit(EXIT_UNAVAILABLE);
            }
            alarm(50);
            if (stage == 1)
                execute_workload(argv);
            hostile_workload();
            bl_test_exit();
        }
        wait_for_stage(pid, stage == 0 ? "in place" : "from the start");
    }
}

static const char *call_plain(const void *arg) {
    const char *(*const *restrict_process)(void) = arg;
    return (*restrict_process)();
}

void hostile_run(const char *(*restrict_process)(void)) {
    hostile_run_with(call_plain, &restrict_process);
}

void hostile_need_machine(void) {
    if (getenv("BL_TEST_MACHINE") == NULL)
        bl_test_skip("changes a setting of the machine for a moment; set "
                     "BL_TEST_MACHINE=1 to run it");
    if (geteuid() != 0)
        bl_test_skip("needs root");
}

TEST(workload_is_right) { hostile_workload(); }
