% SPDX-License-Identifier: MIT
:- import nothing/1 from nowhere.
:- numlist(1, 5, L), foldl([X,A,B,C,D]>>(C = A, D is B+X), L, L, 0, _).
loaded(1).
