// SPDX-License-Identifier: MIT
//
// Files and folders for a short while, below TMPDIR or where else there is room
// for such. One thread.
//
#ifndef BL_CLI_SCRATCH_H
#define BL_CLI_SCRATCH_H

// An empty file of a new name, by its full path; NULL: no folder can be
// written.
char *bl_scratch_file(void);

struct bl_scratch_folder {
    char *path; // NULL: no folder can be written
    int lock;   // held as long as somebody is there who will remove it; or -1
};

// The same for a folder.
struct bl_scratch_folder bl_scratch_folder_make(void);
// Removes it with all files in it, and what commands left beside it that were
// killed.
void bl_scratch_folder_remove(struct bl_scratch_folder *folder);

#endif
