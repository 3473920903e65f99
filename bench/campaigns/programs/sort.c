// SPDX-License-Identifier: MIT
//
// For CBMC: an insertion sort of any five numbers leaves them in order, and
// neither loses nor invents one.
//
#include <assert.h>

#define COUNT 5

unsigned char any(void);

int main(void) {
    unsigned char values[COUNT];
    const unsigned char one = any();
    unsigned before = 0;
    unsigned after = 0;
    for (int i = 0; i < COUNT; i++) {
        values[i] = any();
        before += values[i] == one;
    }
    for (int i = 1; i < COUNT; i++) {
        const unsigned char value = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
    for (int i = 0; i < COUNT; i++) {
        after += values[i] == one;
        assert(i == 0 || values[i - 1] <= values[i]);
    }
    assert(before == after);
    return 0;
}
