// SPDX-License-Identifier: MIT
//
// A simulated kernel behind `bl_os`. It keeps an address map of its own and
// ends the test where the code under test breaks the contract of os/os.h:
// unmapping or moving what is not there, wrong alignment, mapping over
// something. Memory is real, so that contents can be checked; the pool of
// huge pages, the clock and the failures are simulated.
//
// The n-th call can be made to fail, or all from the n-th on. One thread.
//
#ifndef BL_TESTS_KIT_FAKE_OS_H
#define BL_TESTS_KIT_FAKE_OS_H

#include "os/os.h"

enum fake_call {
    FAKE_MAP,
    FAKE_UNMAP,
    FAKE_DISCARD,
    FAKE_ADVISE_HUGE,
    FAKE_ADVISE_BASE,
    FAKE_COLLAPSE,
    FAKE_POPULATE,
    FAKE_MOVE,
    FAKE_CALLS
};

#define FAKE_BIT(call) (1u << (call))
// Unmapping fails only where a limit on mappings is reached: apart.
#define FAKE_MAY_FAIL ((FAKE_BIT(FAKE_CALLS) - 1) & ~FAKE_BIT(FAKE_UNMAP))

// Fills `bl_os`. To be called before the first allocation.
void fake_os_install(void);

// The n-th call from now (1: the next) of the kinds in `mask` fails with
// `error`, and if `from_then_on` all later ones too. n = 0: none.
void fake_os_fail(unsigned long n, int error, unsigned mask, bool from_then_on);
// How many calls of the kinds in the mask were made since `fake_os_fail`.
unsigned long fake_os_calls(void);
// Of one kind, since the start.
unsigned long fake_os_count(enum fake_call call);

// No more than so many bytes may be mapped, as RLIMIT_AS has it; a move counts
// both places.
void fake_os_set_limit(size_t bytes);
void fake_os_set_pool(size_t huge_pages);
size_t fake_os_pool(void); // pages left
void fake_os_advance_ms(uint64_t ms);
// CPU time: of a program that runs; from zero, as in a child of fork; what the
// first touch of a huge page or a collapse takes of it; and a collapse alone,
// done or refused.
void fake_os_run_ms(uint64_t ms);
void fake_os_begin_cpu(void);
void fake_os_set_price_us(uint64_t us);
void fake_os_set_collapse_us(uint64_t us);
void fake_os_set_reporting(bool on); // free pages go to a hypervisor
void fake_os_set_shared(bool yes);   // all memory is, with a child

size_t fake_os_mapped_bytes(void);
bool fake_os_is_mapped(const void *at, size_t bytes);
// Bytes of the range that were mapped from the pool.
size_t fake_os_pool_bytes(const void *at, size_t bytes);

#endif
