// SPDX-License-Identifier: MIT
//
// Other processes, as /proc shows them.
//
#include "os/machine.h"

#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

// The number behind "Name:" in a file of such lines; false: no such line.
static bool field(const char *text, const char *name, uint64_t *out) {
    for (const char *p = text; (p = strstr(p, name)); p++) {
        if (p != text && p[-1] != '\n')
            continue;
        p += strlen(name);
        p += strspn(p, " \t");
        return bl_read_u64(&p, out);
    }
    return false;
}

#define STATUS_LINE 127

long bl_machine_read_status(const char *path, char text[BL_STATUS_BYTES]) {
    struct bl_text t;
    char bytes[1024];
    long n = 0;
    size_t column = 0;
    bl_text_init(&t, text, BL_STATUS_BYTES);
    const int fd = bl_os_open_read(path);
    if (fd < 0)
        return fd;
    while ((n = bl_os_read(fd, bytes, sizeof bytes)) > 0) {
        for (long i = 0; i < n; i++) {
            column = bytes[i] == '\n' ? 0 : column + 1;
            if (column <= STATUS_LINE)
                bl_text_char(&t, bytes[i]);
        }
    }
    bl_os_close(fd);
    return n < 0 ? n : (long)t.len;
}

int bl_machine_process_memory(int pid, struct bl_process_memory *out) {
    char path[BL_PROC_PATH];
    char text[BL_STATUS_BYTES];
    uint64_t kib = 0;
    uint64_t enabled = 1;
    *out = (struct bl_process_memory){0};
    const long n =
        bl_machine_read_status(bl_os_proc_path(path, pid, 0, "/status"), text);
    if (n < 0)
        return (int)n;
    if (field(text, "VmRSS:", &kib))
        out->rss = kib * BL_KIB;
    if (field(text, "HugetlbPages:", &kib))
        out->hugetlb = kib * BL_KIB;
    out->thp_disabled = field(text, "THP_enabled:", &enabled) && enabled == 0;
    return 0;
}

// The fourth word of stat, behind the name in brackets, which may hold spaces
// and brackets itself.
static int parent_of(int pid) {
    char path[BL_PROC_PATH];
    char text[512];
    if (bl_os_read_file(bl_os_proc_path(path, pid, 0, "/stat"), text,
                        sizeof text) < 0)
        return 0;
    // ") S 123 ..."
    const char *p = strrchr(text, ')');
    uint64_t parent = 0;
    if (!p || strlen(p) < 5)
        return 0;
    p += 4;
    return bl_read_u64(&p, &parent) && parent <= INT_MAX ? (int)parent : 0;
}

void bl_machine_each_process(void (*each)(int pid, int parent, void *context),
                             void *context) {
    DIR *directory = opendir("/proc");
    if (!directory)
        return;
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        const char *p = entry->d_name;
        uint64_t pid = 0;
        if (bl_read_u64(&p, &pid) && *p == '\0' && pid <= INT_MAX)
            each((int)pid, parent_of((int)pid), context);
    }
    closedir(directory);
}

bool bl_machine_own_path(char *out, size_t capacity) {
    const ssize_t n = readlink("/proc/self/exe", out, capacity - 1);
    if (n > 0) {
        out[n] = '\0';
        return true;
    }
    // Where /proc is missing, the kernel's note of what was executed.
    const char *name = (const char *)getauxval(AT_EXECFN);
    char real[PATH_MAX];
    if (!name || !realpath(name, real) || strlen(real) >= capacity)
        return false;
    memcpy(out, real, strlen(real) + 1);
    return true;
}

int bl_machine_memory_file(const char *name, char *path, size_t capacity) {
    const int fd = memfd_create(name, 0);
    if (fd < 0)
        return -errno;
    snprintf(path, capacity, "/proc/self/fd/%d", fd);
    if (access(path, R_OK | W_OK) == 0)
        return fd;
    const int error = errno;
    close(fd);
    return -error;
}
