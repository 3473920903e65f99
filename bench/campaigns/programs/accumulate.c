// SPDX-License-Identifier: MIT
//
// For CBMC: a sum that is kept incrementally over a ring of numbers stays the
// sum of the ring.
//
#include <assert.h>

#define ROOM 8
#define STEPS 11

unsigned any(void);

int main(void) {
    unsigned ring[ROOM] = {0};
    unsigned sum = 0;
    for (int step = 0; step < STEPS; step++) {
        const unsigned place = any() % ROOM;
        const unsigned value = any();
        sum += value - ring[place];
        ring[place] = value;
    }
    unsigned wanted = 0;
    for (int i = 0; i < ROOM; i++)
        wanted += ring[i];
    assert(sum == wanted);
    return 0;
}
