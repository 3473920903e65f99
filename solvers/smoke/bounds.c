// SPDX-License-Identifier: MIT
// The last turn writes behind the array.
int a[4];
int main(void) {
    int i;
    if (i >= 0 && i <= 4)
        a[i] = 1;
    return 0;
}
