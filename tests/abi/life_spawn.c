// SPDX-License-Identifier: MIT
//
// vfork with exec, posix_spawn, system, popen: the child shares the parent's
// memory for a moment, and the heap must be as it was afterwards.
//
#include "bl_test.h"
#include "sizes.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *block[100];

static void allocate_some(void) {
    for (unsigned i = 0; i < 100; i++) {
        block[i] = malloc(100 + i * 500);
        assert_ptr_ne(block[i], NULL);
        fill_pattern(block[i], 100 + i * 500, i);
    }
}

static void check_some(void) {
    for (unsigned i = 0; i < 100; i++) {
        expect_size_eq(first_wrong(block[i], 100 + i * 500, 100 + i * 500, i),
                       100 + i * 500);
        free(block[i]);
    }
}

TEST(vfork_and_exec) {
    allocate_some();
    for (int i = 0; i < 50; i++) {
        const pid_t pid = vfork();
        if (pid == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(5);
        }
        expect_child_ok(pid);
    }
    check_some();
}

TEST(posix_spawn_and_wait) {
    char name[] = "true";
    char *const argv[] = {name, NULL};
    allocate_some();
    for (int i = 0; i < 50; i++) {
        pid_t pid = 0;
        expect_int_eq(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ),
                      0);
        expect_child_ok(pid);
    }
    check_some();
}

TEST(system_and_popen) {
    char line[64] = "";
    allocate_some();
    expect_int_eq(system("exit 7") >> 8, 7);
    FILE *const f = popen("echo leaf", "r");
    assert_ptr_ne(f, NULL);
    expect_ptr_eq(fgets(line, sizeof line, f), line);
    expect_str_eq(line, "leaf\n");
    expect_int_eq(pclose(f), 0);
    check_some();
}

TEST(exec_of_itself_keeps_working) {
    const pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "again", "--no-fork", "vfork_and_exec",
              (char *)NULL);
        _exit(5);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 5)
        bl_test_skip("/proc/self/exe cannot be executed");
    expect_int_eq(status, 0);
}
