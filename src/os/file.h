// SPDX-License-Identifier: MIT
//
// Files and their mappings, as `image/` needs them to put a program's text on
// huge pages: facts of a file, files made and published in a directory, file
// mappings laid over what is there, and what the kernel says of single pages.
//
// Like `os.h`: raw system calls, 0 (or a count) or -errno, errno untouched,
// nothing allocated, any thread. Every file is opened close-on-exec, and no
// symbolic link is followed in the last place of a path but where said.
//
#ifndef BL_OS_FILE_H
#define BL_OS_FILE_H

#include "base/base.h"

struct bl_file_time {
    int64_t seconds;
    int64_t nanoseconds;
};

struct bl_file_facts {
    uint64_t device; // as st_dev
    uint64_t inode;
    uint64_t size;
    uint64_t allocated;           // bytes that it takes
    struct bl_file_time modified; // contents
    struct bl_file_time changed;  // contents or attributes; cannot be set
    uint32_t owner;
    uint32_t group;
    uint32_t mode; // permission bits, set-user-ID and the like among them
    uint32_t links;
    bool regular;
    bool directory;
};

enum bl_file_system { BL_FILE_TMPFS, BL_FILE_HUGETLBFS, BL_FILE_OTHER };

struct bl_file_system_facts {
    enum bl_file_system kind;
    uint64_t free_bytes; // to this user
    uint64_t bytes;      // in all; UINT64_MAX where there is no limit
    uint64_t page_bytes; // of its own pages, on hugetlbfs
    bool no_exec;
};

enum bl_file_protection {
    BL_FILE_NO_ACCESS = 0,
    BL_FILE_READ = 1,
    BL_FILE_WRITE = 2,
    BL_FILE_EXECUTE = 4
};

int bl_file_facts(int fd, struct bl_file_facts *out);
int bl_file_system_facts(int fd, struct bl_file_system_facts *out);
// Major and minor device number, as /proc/PID/maps prints them.
void bl_file_device_parts(uint64_t device, uint32_t *major, uint32_t *minor);

// Both follow links, as opening a program does.
int bl_file_open(const char *path);
uint64_t bl_file_inode(const char *path); // 0: not to be had
int bl_file_open_program(void);           // the one this process runs
void bl_file_program_path(char *path, size_t capacity); // "" if unknown
// Of an open file, without links or ".": 0. Else -errno and "": /proc does not
// say, or it does not fit.
int bl_file_path(int fd, char *path, size_t capacity);
// This process's folder, with '/' at its end: the length; 0: it is not to be
// had, or does not fit.
size_t bl_file_working_folder(char *path, size_t capacity);
int bl_file_open_directory(const char *path);
int bl_file_make_directory(const char *path, uint32_t mode);
int bl_file_open_at(int directory, const char *name);
// Read and write; -EEXIST where the name is taken.
int bl_file_create_at(int directory, const char *name, uint32_t mode);
int bl_file_rename_at(int directory, const char *from, const char *to);
int bl_file_unlink_at(int directory, const char *name);
// The names in a directory, "." and ".." left out; stops when `each` says so.
int bl_file_list(int directory, bool (*each)(const char *name, void *context),
                 void *context);
// Waits at most `wait_ms` for the lock of an open file; -EAGAIN when it was
// not to be had. Closing gives it back.
int bl_file_lock(int fd, uint32_t wait_ms);

// What this process may let a file grow to; more ends in SIGXFSZ.
uint64_t bl_file_size_limit(void);
int bl_file_set_size(int fd, uint64_t size);
int bl_file_reserve(int fd, uint64_t offset, uint64_t bytes); // fallocate
int bl_file_set_mode(int fd, uint32_t mode);
int bl_file_set_modified(int fd, struct bl_file_time time);
int bl_file_touch(int fd); // both times to now
// All `bytes`, or -errno; -ENODATA where the file ends before.
int bl_file_read_at(int fd, void *buffer, size_t bytes, uint64_t offset);
// On hugetlbfs, which knows no writing, through a mapping.
int bl_file_write_at(int fd, const void *buffer, size_t bytes, uint64_t offset);
struct bl_file_time bl_file_now(void); // the clock that stamps files
void bl_file_sleep_ms(uint32_t ms);

uint32_t bl_file_user(void); // effective
// AT_SECURE: set-user-ID and the like; the environment is not to be trusted.
bool bl_file_has_raised_privileges(void);

// Memory anywhere, 2 MiB-aligned where `bytes` is that large; NULL: none.
void *bl_file_scratch(size_t bytes);
void bl_file_scratch_free(void *at, size_t bytes);

// Maps `bytes` of a file privately over what is at `at`, in one step: no
// other thread ever sees a hole. `populate` reads it in at once. Pages for
// writes to come are not set aside, so a pool (hugetlbfs) need have none.
int bl_file_map_over(void *at, size_t bytes, unsigned protection, int fd,
                     uint64_t offset, bool populate);
// A shared writable mapping for filling a file; NULL: refused. On hugetlbfs it
// sets pages aside, which stay the file's when it is gone.
void *bl_file_map_shared(size_t bytes, int fd, uint64_t offset);
// Whole units are taken first; -ENOSPC or -ENOMEM where the pool has too few.
int bl_file_write_mapped(int fd, const void *buffer, size_t bytes,
                         uint64_t offset);
// Moves a mapping over what is at `to`, in one step.
int bl_file_move_over(void *from, size_t bytes, void *to);
int bl_file_protect(void *at, size_t bytes, unsigned protection);
bool bl_file_is_mapped(void *at, size_t bytes);

// 1 where base pages of the range are the process's own (written to: a
// breakpoint, a text relocation), or may be; 0 where all is the file's; -errno.
int bl_file_has_private_pages(const void *at, size_t bytes);
// Bytes of the range, of whole base pages, mapped by 2 MiB entries now; -errno
// where the kernel does not say. Needs 6 KiB of stack.
int64_t bl_file_huge_bytes(const void *at, size_t bytes);

// /proc/PID/maps (pid 0: this process), ended with a NUL: its length.
long bl_file_read_maps(int pid, char *buffer, size_t capacity);

// True where the kernel places this program's mappings at random.
bool bl_file_addresses_are_random(void);
// What the first thread's stack may grow to at the cost of nothing else;
// UINT64_MAX: any size. 0 where all addresses are limited, or nothing is known.
uint64_t bl_file_stack_room(void);
// Grows the stack down to 8 bytes that are zero there; false where the kernel
// does not, which a plain touch would learn by a signal.
bool bl_file_reach(const void *at);
bool bl_file_kernel_is_at_least(uint64_t major, uint64_t minor);
// This program's headers in memory (of type Elf64_Phdr), and its load bias.
const void *bl_file_program_headers(size_t *count, uint64_t *bias);
// All signals of this thread, and back to what they were.
uint64_t bl_file_block_signals(void);
void bl_file_restore_signals(uint64_t before);
// A debugger holds this process.
bool bl_file_is_traced(void);
// Threads of this process; 0 where /proc does not say.
uint32_t bl_file_thread_count(void);

#endif
