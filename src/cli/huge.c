// SPDX-License-Identifier: MIT
//
// The mark of bigleaf/huge.h as an object, for programs that `bigleaf cc`
// links.
//
#include "bigleaf/huge.h"
