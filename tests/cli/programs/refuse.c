// SPDX-License-Identifier: MIT
//
// Runs a program where the kernel refuses something:
//   refuse thp PROGRAM...            PR_SET_THP_DISABLE
//   refuse EPERM|ENOSYS|KILL PROGRAM...  a seccomp filter on madvise and prctl
// Exit status 77 where that cannot be set up.
//
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int install(unsigned action) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char **argv) {
    int done = 0;
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "thp") == 0)
        done = prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0;
    else if (strcmp(argv[1], "EPERM") == 0)
        done = install(SECCOMP_RET_ERRNO | EPERM);
    else if (strcmp(argv[1], "ENOSYS") == 0)
        done = install(SECCOMP_RET_ERRNO | ENOSYS);
    else if (strcmp(argv[1], "KILL") == 0)
        done = install(SECCOMP_RET_KILL_PROCESS);
    if (!done)
        return 77;
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
