% SPDX-License-Identifier: MIT
% Assigns to a term that is older than the loading of this file.
:- b_getval(kept, T), nb_setarg(1, T, g([1, 2, 3])).
assigned(f(_, aaaa)).
:- b_getval(kept, T), nb_setarg(2, T, "abc").
assigned(f(_, bbbb)).
:- initialization(( b_getval(kept, T), nb_setarg(3, T, h(2.5)) )).
