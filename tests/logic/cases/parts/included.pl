% SPDX-License-Identifier: MIT
included(b).
included(a).
