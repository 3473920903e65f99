// SPDX-License-Identifier: MIT
//
// The program image on huge pages: text and read-only data of the program and
// of its libraries, at start-up and where one is loaded later, while there is
// one thread.
//
// Each mapping that holds whole 2 MiB units gets the first of these that
// serves, and a record that says which and why not a better one:
//   file       the file system gave huge pages itself: left alone
//   shadow     a copy on tmpfs, shared by all processes of the user
//   anonymous  a copy of this process's own
//   none       left as it was
// Any doubt before a mapping is replaced leaves it as it was. See
// docs/design/image.md.
//
#ifndef BL_IMAGE_IMAGE_H
#define BL_IMAGE_IMAGE_H

#include "base/base.h"

enum bl_image_mechanism {
    BL_IMAGE_NONE,
    BL_IMAGE_FILE,
    BL_IMAGE_ANONYMOUS,
    BL_IMAGE_SHADOW,
    BL_IMAGE_MECHANISMS
};

extern const char *const bl_image_mechanism_names[BL_IMAGE_MECHANISMS];

// In the order of the words of BIGLEAF_IMAGE.
enum bl_image_wish {
    BL_IMAGE_MARKED, // objects that `bigleaf align` or a note marked, in a
                     // program that is marked itself
    BL_IMAGE_OFF,
    BL_IMAGE_ON
};

struct bl_image_options {
    const char *directory;   // root of the shadow directories; NULL: the usual
    enum bl_image_wish text; // text and read-only data
    bool data;               // written segments and the memory behind brk
    bool stack;              // the first thread's stack
    bool verbose;            // one line per object on standard error
};

// One object: the program or a library.
struct bl_image_record {
    char path[256];
    enum bl_image_mechanism mechanism;
    const char *reason;  // why not better, part of a sentence; NULL: it is best
    uint64_t address;    // load bias, or where the file's first byte would lie
    uint64_t replaced;   // its lowest unit that was; 0: none
    uint64_t unit_bytes; // text and read-only data in whole 2 MiB units
    uint64_t huge_bytes; // of those, huge when start-up was over
    bool made;           // this process made the shadow
};

// For the preload constructor and static start-up. Does nothing in a program
// with raised privileges (AT_SECURE). Needs 16 KiB of stack.
void bl_image_start(const struct bl_image_options *options);

// For libraries that were loaded since the last walk: the same for their text,
// or where other threads run a record that says so. By one thread at a time,
// and only where `bl_image_is_watching`. Needs 16 KiB of stack.
void bl_image_take_late(void);
bool bl_image_is_watching(void);

// What was done. The number of records, which only grows.
uint32_t bl_image_records(const struct bl_image_record **out);

#endif
