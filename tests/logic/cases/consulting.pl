% SPDX-License-Identifier: MIT
%: args -g main
% What a clause holds while it loads a file is there afterwards.
%> a 1 [2] [3]
%> 1
load(A, B, C, D) :- consult('parts/directives'), show(A, B, C, D).
show(A, B, C, D) :- format("~w ~w ~w ~w~n", [A, B, C, D]).
:- load(a, 1, [2], [3]).
:- ['parts/directives'], loaded(X), print(X), nl.
main.
