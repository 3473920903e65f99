// SPDX-License-Identifier: MIT
//
// Coverage-guided traces. The input is read as operations of the model test
// (tests/model/model.h), carried out against the heap's internal names under
// the simulated kernel, whose calls the input may make fail. Any answer that
// the model does not allow ends the process.
//
// Input: one header of 4 bytes (what fails: n low and high, kind, pool), then
// 6 bytes an operation: kind, thread, slot low and high, two for the size.
//
#include "model.h"

#include "fake_os.h"
#include "heap/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OP_BYTES 6
#define HEADER_BYTES 4
#define MOST_OPS 600
#define SLOTS 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Sizes of every magnitude up to 8 MiB, most of them small, since touching
// memory takes the time in which more inputs could be played.
static uint64_t read_size(unsigned low, unsigned high) {
    const unsigned shift = high % 64 == 0 ? 10 : (high >> 5);
    return (uint64_t)low * (1 + (high & 0x1f)) << shift;
}

static struct op read_op(const uint8_t *p) {
    const uint64_t size = read_size(p[4], p[5]);
    struct op op = {.kind = p[0] % OP_KINDS,
                    .thread = p[1] % 4,
                    .pool = (uint8_t)(p[1] >> 4) % MODEL_POOLS,
                    .slot = (uint16_t)((p[2] | p[3] << 8) % SLOTS),
                    .a = size};
    if (op.kind == OP_align) {
        op.a = (uint64_t)16 << p[5] % 18; // up to 2 MiB
        op.b = (uint64_t)p[4] << p[5] % 12;
    } else if (op.kind == OP_calloc) {
        op.b = size;
        op.a = 1;
    } else if (op.kind == OP_pool || op.kind == OP_private) {
        op.a = 1 + size % (300 * MODEL_KIB);
        op.b = p[5] & 1 ? (uint64_t)8 << p[4] % 16 : 0;
    }
    return op;
}

static void start_once(void) {
    static bool started;
    if (started)
        return;
    started = true;
    fake_os_install();
    fake_os_set_pool(64);
}

static const enum bl_backing backings[] = {BL_BACKING_AUTO, BL_BACKING_THP,
                                           BL_BACKING_HUGETLB, BL_BACKING_BASE};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct trace t;
    size_t failed_at = 0;
    if (size < HEADER_BYTES + OP_BYTES)
        return 0;
    start_once();
    if (t.ops == NULL)
        t = trace_new(MOST_OPS);
    t.count = 0;
    for (size_t at = HEADER_BYTES; at + OP_BYTES <= size; at += OP_BYTES)
        trace_add(&t, read_op(data + at));
    // Advice, collapsing and the pool may be refused without any call of the
    // program failing; memory itself may not, for the model knows no failure.
    bl_reservoir_configure(backings[data[3] % 4], data[3] & 4 ? 0 : 1000);
    bl_reservoir_limit_price(data[3] & 8 ? 2 : 100);
    fake_os_set_price_us(data[3] & 16 ? 7000 : 300);
    fake_os_set_reporting(data[3] & 64);
    fake_os_run_ms(data[3] & 32 ? 1000 : 10);
    fake_os_fail(1u + data[0] + 256u * data[1], data[2] & 1 ? ENOMEM : EPERM,
                 FAKE_BIT(FAKE_ADVISE_HUGE) | FAKE_BIT(FAKE_ADVISE_BASE) |
                     FAKE_BIT(FAKE_COLLAPSE) | FAKE_BIT(FAKE_POPULATE) |
                     FAKE_BIT(FAKE_MOVE),
                 data[2] & 2);
    const struct model_api api = model_api();
    const char *const wrong = replay(&api, &t, &failed_at);
    fake_os_advance_ms(data[2] & 4 ? 2000 : 10);
    bl_heap_check();
    if (wrong != NULL) {
        fprintf(stderr, "operation %zu: %s\n", failed_at, wrong);
        trace_write(&t, stderr);
        abort();
    }
    return 0;
}
