% SPDX-License-Identifier: MIT
:- mode from_part(-).
from_part(1).
from_part(2).
from_part(3).
