// SPDX-License-Identifier: MIT
//
// What all machines of the process share, and the start of one.
//
#ifndef BL_LOGIC_ENGINE_H
#define BL_LOGIC_ENGINE_H

#include "logic/machine.h"
#include "table/table.h"

struct bl_engine {
    struct bl_table_space *space;          // const
    struct bl_table_options table_options; // const
    size_t memory_limit; // bytes of stacks per machine; 0: the default
    size_t table_limit;  // bytes of all tables together; 0: none
    size_t token_limit;  // size of a call or an answer in a table; 0: none
    // by flags, of answers and of calls; 0: `token_limit` is what counts
    _Atomic(size_t) flag_limit[2];
    // calls whose arguments are deeper are abstracted, see moded.h; 0: none are
    _Atomic(uint32_t) call_depth;
    size_t collect_every; // calls between collections; 0: as needed
    bool on_base_pages;   // no huge pages are asked for
    enum { BL_UNKNOWN_ERROR, BL_UNKNOWN_FAIL, BL_UNKNOWN_WARNING } unknown;
    bool debug; // flag `debug`, which only reads back
    bool occurs_check;
};

#define BL_DEFAULT_MEMORY (2 * BL_GIB)

extern struct bl_engine bl_engine;

// Once per process. False without memory.
bool bl_engine_start(const struct bl_table_options *options);
// Takes one of the options of leaflog that are the table space's, such as
// "--tables=fs"; false: it is none, or its value is none.
bool bl_table_option(struct bl_table_options *t, const char *arg);
// A machine with its table thread; NULL without memory.
struct bl_machine *bl_engine_machine(void);
void bl_engine_machine_end(struct bl_machine *m);

// Loads a program. The number of errors that were shown on standard error.
int bl_consult(struct bl_machine *m, const char *path);
// A file as text that ends with a NUL, the caller's to free, without a mark of
// UTF-8 in front; NULL, see errno.
char *bl_file_contents(const char *path, size_t *length);
// Says so on standard error, and why by errno; 1, for the count of errors.
int bl_cannot_read(const char *path);
// Where a program that is named like this lies; false: nowhere.
bool bl_find_source(const char *name, char *path, size_t size);
// What this thread is loading, and the line it has come to; NULL: nothing.
const char *bl_loading_file(uint32_t *line);
// The same as bl_consult with text in memory (the library).
int bl_consult_text(struct bl_machine *m, const char *name, const char *text,
                    size_t length, bool is_library);
// Facts of p/n from a CSV or TSV file, none of them where there is an error;
// BL_TRUE or BL_THROW.
int bl_load_csv(struct bl_machine *m, const char *path, bl_word name,
                char separator, int64_t *rows);

void bl_builtins_init(void);
// What a machine's builtins keep for it outside its stacks.
void bl_findall_drop_all(struct bl_machine *m);
// Those that were begun since choice point `b` was made, which an error passes.
void bl_findall_drop_since(struct bl_machine *m, const struct bl_choice *b);
void bl_globals_drop(struct bl_machine *m);
void bl_mutexes_unlock(struct bl_machine *m); // those that it has
extern const char bl_library_text[];
extern const char bl_library_data_text[];

// Shows the error that `m->ball` is; the ball is gone afterwards. `where` is
// a file and line, or NULL.
void bl_print_ball(struct bl_machine *m, const char *where);

#endif
