% SPDX-License-Identifier: MIT
%
% A left-recursive grammar of expressions, parsed with tables: positions are
% numbers, so a subtree is parsed once. The sentence has a thousand operands;
% every subterm that is an operand of two operators can be grouped both ways,
% and all groupings of all spans are found.

:- table e/2, t/2.
e(S0, S) :- e(S0, S1), w(S1, plus, S2), t(S2, S).
e(S0, S) :- t(S0, S).
t(S0, S) :- t(S0, S1), w(S1, times, S2), f(S2, S).
t(S0, S) :- f(S0, S).
f(S0, S) :- w(S0, id, S).

w(S0, W, S) :- S0 < 2001, word(S0, W), S is S0 + 1.
word(I, id) :- I mod 2 =:= 0.
word(I, plus) :- I mod 4 =:= 1.
word(I, times) :- I mod 4 =:= 3.

run :- start(I), e(I, _), fail.
run.
start(I) :- between(0, 1000, K), I is 2 * K.
