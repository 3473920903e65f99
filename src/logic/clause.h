// SPDX-License-Identifier: MIT
//
// Predicates and their clauses, shared by all threads.
//
// A clause never changes once it is in a list. Adding, erasing and building an
// index take the predicate's lock; running code takes none: it reads an array
// of clauses and its length once and goes through it. Arrays are replaced, not
// edited, except that new clauses are appended behind the published length.
// Dynamic predicates follow the logical update view: a clause is seen by the
// calls whose generation lies between its birth and its death.
//
#ifndef BL_LOGIC_CLAUSE_H
#define BL_LOGIC_CLAUSE_H

#include "logic/bigint.h"
#include "logic/machine.h"
#include "logic/opcode.h"

#include <pthread.h>

// A ground term of a clause, in place.
struct bl_literal {
    struct bl_literal *next;
    bl_word word[];
};

enum bl_clause_kind {
    BL_CLAUSE_FACT, // head of atomic arguments: unified from `key`, no code
    BL_CLAUSE_CODE
};

struct bl_clause {
    struct bl_pred *pred;
    uint64_t birth;              // const
    _Atomic(uint64_t) death;     // lock of the predicate; UINT64_MAX: alive
    _Atomic(bl_word *) code;     // changes where a builtin is defined anew
    struct bl_literal *literals; // ground terms that the code refers to
    size_t code_words;
    struct bl_record *source; // const: head :- body, of dynamic predicates, and
                              // where it runs builtins that may be defined anew
    struct bl_clause *next_erased; // lock
    const char *file;
    uint32_t line;
    uint8_t kind;
    uint8_t inner; // const: bit per argument that is compound
    bl_word key[]; // arity words: atomic, functor, or 0: variable; then
                   // BL_INNER for each compound argument, of what is inside
};

// Clauses in order. [start, end) are in use; `end` grows, `start` shrinks when
// a clause comes in front and grows when the first ones are erased.
struct bl_clauses {
    _Atomic(uint32_t) end;
    _Atomic(uint32_t) start;
    uint32_t floor;          // lock: places from here on may be looked at
    uint32_t capacity;       // const
    struct bl_clauses *next; // lock: of those replaced, see reclaim.c
    struct bl_clause *item[];
};

struct bl_column;

// The clauses of one predicate by the key of one argument, or several places.
struct bl_index {
    uint32_t arg;    // where it is one
    uint32_t places; // bits, see index.c; 0: `arg` alone
    uint32_t mask;
    uint32_t keys;           // distinct; 0: a note that the index
                             // is not worth it. Lock of the predicate
    bool has_variables;      // some clause matches every key
    _Atomic(uint32_t) asked; // for the column
    _Atomic(struct bl_column *) column; // release; NULL: none yet
    struct bl_index *next;              // lock: of those replaced
    struct bl_clauses *otherwise;       // for keys that are not here; or NULL
    struct bl_index_slot {
        _Atomic(bl_word) key;              // 0: free; set last
        struct bl_clause *single;          // const
        _Atomic(struct bl_clauses *) list; // NULL: only `single`
    } slot[];
};

enum bl_pred_flag {
    BL_PRED_DEFINED = 1,
    BL_PRED_DYNAMIC = 2,
    BL_PRED_DISCONTIGUOUS = 4,
    BL_PRED_SYSTEM = 8,
    BL_PRED_TABLED = 16,
    BL_PRED_BARRIER = 32, // no tabled goal may be suspended below its calls
    BL_PRED_CONTROL = 64,
    BL_PRED_LIBRARY = 128,      // defined in Prolog by us
    BL_PRED_THROW = 256,        // throw/1
    BL_PRED_OPEN = 512,         // a builtin that programs may define anew
    BL_PRED_INCREMENTAL = 1024, // tables go when its clauses change
    BL_PRED_MULTIFILE = 2048    // a file that is loaded adds to it
};

typedef int (*bl_builtin)(struct bl_machine *m, bl_word *a);

#define BL_INDEXED_ARGS 8u
#define BL_INDEX_FROM 8u // clauses: with fewer, looking at each is as fast
#define BL_INNER 2u      // places inside a compound argument
#define BL_SEVERAL 4u    // indexes over several places

struct bl_modes;

struct bl_pred {
    bl_word functor;         // const
    uint32_t arity;          // const
    _Atomic(uint32_t) entry; // opcode that a call runs
    uint32_t flags;          // lock
    bl_builtin builtin;      // const
    _Atomic(struct bl_clauses *) clauses;
    _Atomic(struct bl_index *) index[BL_INDEXED_ARGS];
    _Atomic(uint32_t) index_refused; // bit per argument not worth one
    // over several places; the first NULL ends them
    _Atomic(struct bl_index *) several[BL_SEVERAL];
    _Atomic(uint64_t) visits; // of clauses that such a one might have spared
    struct bl_clause *erased; // lock: facts out of `clauses`
    struct bl_clauses *old_clauses; // lock: replaced arrays
    struct bl_index *old_indexes;   // lock
    uint32_t old;                   // lock: how many of these three
    uint32_t dead;                  // lock: erased clauses in `clauses`
    uint32_t count;                 // lock: living clauses
    _Atomic(uint32_t) rules;        // clauses with code, dead ones too
    pthread_mutex_t lock;
    // Where they are declared anew, other threads may be evaluating: modes have
    // a table of their own.
    _Atomic(struct bl_table *) table; // release: without modes; or NULL
    _Atomic(struct bl_modes *) modes; // release; NULL: its table is that one
    struct bl_modes *old_modes;       // lock: replaced
    int table_design;                 // -1: the default one
    uint32_t file_id;        // consult that has clauses of it, the last one
    const char *file;        // that it had the last one from
    struct bl_pred *next;    // all predicates
    _Atomic(uint64_t) calls; // --profile
};

extern _Atomic(uint64_t) bl_generation;

// The predicate of that functor, made undefined if there was none.
struct bl_pred *bl_pred_ensure(bl_word functor);
struct bl_pred *bl_pred_first(void);

void bl_pred_make_dynamic(struct bl_pred *p);
// What new calls look at; NULL: it was never tabled.
struct bl_table *bl_pred_table(const struct bl_pred *p);
// Whether declaring it tabled so gives it another table, where it has one.
bool bl_pred_changes_table(const struct bl_pred *p, int design,
                           const struct bl_modes *modes);
// `modes` NULL: none; they are the predicate's then.
void bl_pred_make_tabled(struct bl_pred *p, int design, struct bl_modes *modes);
void bl_pred_untable(struct bl_pred *p);
struct bl_pred *bl_pred_define_builtin(const char *name, uint32_t arity,
                                       bl_builtin f, enum bl_opcode entry);
// Makes a predicate of ours the program's own, without clauses; what we wrote
// goes on calling ours, and so does a program's clause that is running. False
// for ISO's builtins and control.
bool bl_pred_take_over(struct bl_machine *m, struct bl_pred *p);
// Erases all clauses: before a file is loaded again, and for abolish/1.
void bl_pred_wipe(struct bl_pred *p);
// Erases those that came from `file` up to that generation. Whether there were
// any.
bool bl_pred_wipe_file(struct bl_pred *p, const char *file,
                       uint64_t generation);
// Sets what a call of the predicate runs, after a change of its flags.
void bl_pred_set_entry(struct bl_pred *p);

// The predicate that the instruction calls.
BL_INLINE struct bl_pred *bl_code_pred(const bl_word *pc) {
    const void *const operand = &pc[1];
    // pairs with the release of relink_clause
    const bl_word w = bl_load_acquire((const _Atomic(bl_word) *)operand);
    return (struct bl_pred *)(void *)bl_ptr(w);
}

// Compiles head :- body, a term of the machine's heap. NULL with the ball set
// on an error. The clause is in no list yet.
struct bl_clause *bl_clause_compile(struct bl_machine *m, bl_word term);
void bl_clause_free(struct bl_clause *c); // one that was never added
void bl_clause_add(struct bl_clause *c, bool at_end);
// False where somebody erased it before.
bool bl_clause_erase(struct bl_clause *c);
struct bl_clause *bl_clause_new_fact(struct bl_pred *p, const bl_word *keys);
// One with room for the keys inside of these arguments; NULL without memory.
struct bl_clause *bl_clause_new(struct bl_pred *p, uint8_t inner);

BL_INLINE bool bl_clause_is_visible(struct bl_clause *c, uint64_t generation) {
    // pairs with the release of the erasing thread; a late sight of a death
    // is a call that came before it
    return c->birth <= generation && generation < bl_load_relaxed(&c->death);
}

// The clauses that may match a call with these arguments: a run of an array.
struct bl_clause_run {
    struct bl_clause **at;
    struct bl_clause **end;
};
// `key` has as many words as the predicate has arguments, at most
// BL_INDEXED_ARGS of which are looked at; `args` are the arguments themselves,
// or NULL where none is compound.
struct bl_clause_run bl_pred_match_keys(struct bl_pred *p, const bl_word *key,
                                        const bl_word *args);

// The keys of what stands inside a compound argument.
BL_INLINE bl_word *bl_clause_inner(const struct bl_clause *c, uint32_t arg) {
    const uint32_t before = c->inner & ((1u << arg) - 1);
    return (bl_word *)(uintptr_t)&c
        ->key[c->pred->arity + BL_INNER * (uint32_t)__builtin_popcount(before)];
}

// The key of a dereferenced argument: itself, its functor, or 0 for a variable.
BL_INLINE bl_word bl_key_of(bl_word w) {
    switch (bl_tag(w)) {
    case BL_INT:
    case BL_ATM:
        return w;
    case BL_STR:
        return *bl_ptr(w);
    case BL_LST:
        return BL_KEY_LIST;
    case BL_BOX:
        return bl_is_big(w) ? bl_big_key(w) : BL_KEY_FLOAT;
    case BL_REF:
    case BL_FUN:
    case BL_LVL:
        return 0;
    }
    return 0;
}

#endif
