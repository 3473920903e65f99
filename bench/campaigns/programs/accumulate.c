// SPDX-License-Identifier: MIT
//
// For CBMC: a sum that is kept incrementally over a ring of numbers stays the
// sum of the ring.
//
#include <assert.h>

#define ROOM 4
#define STEPS 3

unsigned any(void);

int main(void) {
    unsigned short ring[ROOM] = {0};
    unsigned short sum = 0;
    for (int step = 0; step < STEPS; step++) {
        const unsigned place = any() % ROOM;
        const unsigned short value = any();
        sum += value - ring[place];
        ring[place] = value;
    }
    unsigned short wanted = 0;
    for (int i = 0; i < ROOM; i++)
        wanted += ring[i];
    assert(sum == wanted);
    return 0;
}
