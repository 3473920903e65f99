// SPDX-License-Identifier: MIT
//
// Runs a program on the system call interface of Linux 3.10, which is that of
// CentOS 7 (Debian 10 has 4.19): calls that came later fail with ENOSYS, as
// they would there, and so do the newer arguments of older calls with EINVAL.
//
//   old_kernel [-r ROOT] PROGRAM ARG...
//
// With -r in that root, which needs no more in it than the program.
//
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The last call of 3.10 is finit_module on both.
#define LAST_CALL __NR_finit_module

#define LOAD(field)                                                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS_EQUAL(value, skip)                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define UNLESS_ABOVE(value, skip)                                              \
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (value), 0, (skip))
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
    LOAD(nr),
    UNLESS_ABOVE(LAST_CALL, 1),
    FAIL(ENOSYS),
    // MADV_FREE came in 4.5, what is above MADV_DODUMP later than 3.10.
    UNLESS_EQUAL(__NR_madvise, 6),
    LOAD(args[2]),
    UNLESS_EQUAL(8, 1),
    FAIL(EINVAL),
    UNLESS_ABOVE(17, 1),
    FAIL(EINVAL),
    ALLOW,
    // MREMAP_DONTUNMAP.
    UNLESS_EQUAL(__NR_mremap, 4),
    LOAD(args[3]),
    UNLESS_ABOVE(3, 1),
    FAIL(EINVAL),
    ALLOW,
    // What prctl learnt after PR_GET_TID_ADDRESS (40).
    UNLESS_EQUAL(__NR_prctl, 3),
    LOAD(args[0]),
    UNLESS_ABOVE(40, 1),
    FAIL(EINVAL),
    ALLOW,
};

int main(int argc, char **argv) {
    const struct sock_fprog program = {.len = sizeof filter / sizeof filter[0],
                                       .filter = filter};
    const char *root = argc > 2 && strcmp(argv[1], "-r") == 0 ? argv[2] : NULL;
    argv += root ? 3 : 1;
    if (!argv[0])
        return 2;
    if (root && (chroot(root) != 0 || chdir("/") != 0)) {
        perror(root);
        return 77;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("old_kernel: no seccomp here");
        return 77;
    }
    execv(argv[0], argv);
    perror(argv[0]);
    return 1;
}
