// SPDX-License-Identifier: MIT
//
// Ranges of addresses that grow in place: the stacks of the machines.
//
// Each machine takes one slot, a run of addresses at a fixed place that no
// library asks for, cut into four areas. Only what is used is mapped, so a
// limit on address space counts what it should.
//
#ifndef BL_LOGIC_AREA_H
#define BL_LOGIC_AREA_H

#include "logic/machine.h"

// Takes a slot and maps the first piece of each area; false without memory.
bool bl_areas_open(struct bl_machine *m);
void bl_areas_close(struct bl_machine *m);
// Maps on so that `top` lies inside; false at a limit.
bool bl_area_grow(struct bl_machine *m, struct bl_area *area, const char *top);
size_t bl_areas_bytes(const struct bl_machine *m);

#endif
