// SPDX-License-Identifier: MIT
//
// The ground floor: sizes, bits, order-named atomics, assertions, text.
// Nothing here knows an operating system or a heap; everything may be called
// from any thread, in a signal handler, and before any constructor has run.
//
#ifndef BL_BASE_BASE_H
#define BL_BASE_BASE_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/stats.h"
#include "base/text.h"

// The default of an option (options.def); who asks for more wants to keep all
// that is warm.
#define BL_PURGE_DELAY_MS 10000

#endif
