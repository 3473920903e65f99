// SPDX-License-Identifier: MIT
//
// A thread that stays for a second in what a killed attach has left at the end
// of the vdso: it runs there, or sleeps in a system call made there. x86-64.
//
//   linger BYTES runs|sleeps|many      BYTES: of the rest; many: it runs, and
//                                      5000 more threads wait
//
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CODE = 32, MIB = 1 << 20 };

static atomic_int stay = 1;

static uint64_t end_of_vdso(void) {
    const unsigned long start = getauxval(AT_SYSINFO_EHDR);
    unsigned long from, to;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == start) {
            fclose(maps);
            return to;
        }
    }
    return 0;
}

#if defined(__x86_64__)
// f(word): again: mov (%rdi),%eax; test %eax,%eax; jne again; ret
static const char spin[] = "\x8b\x07\x85\xc0\x75\xfa\xc3";
// f(time, NULL): mov $SYS_nanosleep,%eax; syscall; ret
static const char nap[] = "\xb8\x23\0\0\0\x0f\x05\xc3";
#else
static const char spin[1], nap[1];
#endif

static void *run(void *code) {
    ((void (*)(void *))(uintptr_t)code)(&stay);
    return NULL;
}

static void *rest(void *code) {
    struct timespec second = {1, 0};
    ((void (*)(void *, void *))(uintptr_t)code)(&second, NULL);
    return NULL;
}

static void *idle(void *unused) {
    pause();
    return unused;
}

static void start_many(void) {
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int i = 0; i < 5000; i++) {
        if (pthread_create(&thread, &small, idle, NULL) != 0)
            exit(77);
    }
}

int main(int argc, char **argv) {
    const struct timespec second = {1, 0};
    char stub[512] = "bigleaf-visitor";
    pthread_t thread;
    char c;
    const size_t bytes = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    const int sleeps = argc == 3 && strcmp(argv[2], "sleeps") == 0;
    const uint64_t at = end_of_vdso() - bytes;
    const int memory = open("/proc/self/mem", O_RDWR);
    memcpy(stub + CODE, sleeps ? nap : spin, sleeps ? sizeof nap : sizeof spin);
    if (bytes == 0 || sizeof spin == 1 || memory < 0 ||
        pwrite(memory, stub, bytes, (off_t)at) != (ssize_t)bytes)
        return 77;
    if (argc == 3 && strcmp(argv[2], "many") == 0)
        start_many();
    char *block = malloc(16 * MIB);
    memset(block, 1, 16 * MIB);
    pthread_create(&thread, NULL, sleeps ? rest : run,
                   (void *)(uintptr_t)(at + CODE));
    puts("ready");
    fflush(stdout);
    nanosleep(&second, NULL);
    atomic_store(&stay, 0);
    pthread_join(thread, NULL);
    while (read(0, &c, 1) > 0)
        ;
    free(block);
    return 0;
}
