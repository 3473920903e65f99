// SPDX-License-Identifier: MIT
//
// The model of src/tlb a second time, as plainly as can be: every set is a
// list with the last used entry in front, nothing is filtered, nothing is
// shared. It shares no code with the model but the geometry that both read.
//
#ifndef BL_TESTS_TLB_NAIVE_H
#define BL_TESTS_TLB_NAIVE_H

#include "tlb/tlb.h"

struct naive; // one policy

struct naive *naive_new(const struct bl_tlb_geometry *geometry);
void naive_free(struct naive *n);
void naive_flush(struct naive *n);
// The level that knows the page, and the cycles to get there.
enum bl_tlb_level naive_access(struct naive *n, enum bl_tlb_side side,
                               uint64_t number, bool huge, uint32_t *cycles);

#endif
