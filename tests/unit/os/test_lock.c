// SPDX-License-Identifier: MIT
#include "os/os.h"

#include "bl_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static long long counter;

static void *count_up(void *arg) {
    (void)arg;
    for (int i = 0; i < 200000; i++) {
        bl_lock_acquire(&bl_lock_pages);
        counter++;
        bl_lock_release(&bl_lock_pages);
    }
    return NULL;
}

TEST(lock_excludes) {
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        assert_int_eq(pthread_create(&thread[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    expect_int_eq(counter, 4 * 200000);
}

TEST(locks_nest_in_the_order_of_their_ranks) {
    bl_lock_acquire(&bl_lock_start);
    bl_lock_acquire(&bl_lock_locals);
    bl_lock_acquire(&bl_lock_reservoir);
    bl_lock_release(&bl_lock_reservoir);
    bl_lock_release(&bl_lock_locals);
    bl_lock_release(&bl_lock_start);
}

static _Atomic(bool) stop;

static void *hold_now_and_then(void *arg) {
    (void)arg;
    while (!bl_load_relaxed(&stop)) {
        bl_lock_acquire(&bl_lock_pools);
        bl_lock_acquire(&bl_lock_reservoir);
        bl_lock_release(&bl_lock_reservoir);
        bl_lock_release(&bl_lock_pools);
    }
    return NULL;
}

// Between the two calls the forking thread may lock what it likes; in the
// child everything is free.
TEST(locks_survive_fork) {
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_eq(pthread_create(&thread[i], NULL, hold_now_and_then, NULL),
                      0);
    for (int i = 0; i < 200; i++) {
        bl_locks_before_fork();
        bl_lock_acquire(&bl_lock_pools);
        bl_lock_release(&bl_lock_pools);
        const pid_t pid = fork();
        bl_locks_after_fork();
        if (pid == 0) {
            alarm(10);
            bl_lock_acquire(&bl_lock_start);
            bl_lock_acquire(&bl_lock_pools);
            bl_lock_acquire(&bl_lock_reservoir);
            _exit(0);
        }
        expect_child_ok(pid);
    }
    bl_store_relaxed(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}
