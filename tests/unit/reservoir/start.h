// SPDX-License-Identifier: MIT
//
// How tests of the reservoir start: on the simulated kernel, with a purge delay
// of a second.
//
#ifndef BL_TESTS_UNIT_RESERVOIR_START_H
#define BL_TESTS_UNIT_RESERVOIR_START_H

#include "reservoir/reservoir.h"

#include "bl_test.h"
#include "fake_os.h"

static inline void start_with(enum bl_backing backing) {
    fake_os_install();
    bl_reservoir_configure(backing, 1000);
    bl_lock_acquire(&bl_lock_start);
    const bool ok = bl_reservoir_start();
    bl_lock_release(&bl_lock_start);
    assert_true(ok);
}

#endif
