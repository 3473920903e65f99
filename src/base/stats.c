// SPDX-License-Identifier: MIT
#include "base/stats.h"

struct bl_stats bl_stats;
