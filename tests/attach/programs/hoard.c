// SPDX-License-Identifier: MIT
//
// Holds memory and waits on standard input: each 'g' takes MIB more. At the
// end of input it checks all of it and prints "right" or "wrong".
//
//   hoard MIB [vfork|filter|no-thp]
//
// vfork   waits, in uninterruptible sleep, for a child that shares its memory
// filter  puts itself under a seccomp filter that allows everything
// no-thp  switches huge pages off for itself
//
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST = 64 };

static unsigned char *blocks[MOST];
static int count;
static size_t bytes;

static void grow(void) {
    if (count == MOST || !(blocks[count] = malloc(bytes)))
        exit(2);
    memset(blocks[count], 'a' + count, bytes);
    count++;
    puts("ready");
    fflush(stdout);
}

static void filter_nothing(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(77);
}

static void wait_in_vfork(void) {
    char c;
    if (vfork() == 0) {
        while (read(0, &c, 1) > 0)
            ;
        _exit(0);
    }
}

static int check(void) {
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < bytes; k++) {
            if (blocks[i][k] != 'a' + i)
                return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *kind = argc > 2 ? argv[2] : "";
    char c;
    if (argc < 2)
        return 2;
    bytes = (size_t)atoi(argv[1]) << 20;
    if (strcmp(kind, "filter") == 0)
        filter_nothing();
    if (strcmp(kind, "no-thp") == 0)
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    grow();
    if (strcmp(kind, "vfork") == 0)
        wait_in_vfork();
    ssize_t got;
    while ((got = read(0, &c, 1)) > 0) {
        if (c == 'g')
            grow();
    }
    const int wrong = got < 0 || check();
    puts(wrong ? "wrong" : "right");
    return wrong;
}
