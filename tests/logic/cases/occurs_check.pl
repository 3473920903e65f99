% SPDX-License-Identifier: MIT
%: args -g main
%> no no no yes
%> 200000
% A cycle that the variable looked at leads to and is not in; many variables.
check(A, B, R) :- ( unify_with_occurs_check(A, B) -> R = yes ; R = no ).
chain([_], [a]).
chain([_, Y|T], [f(Y)|R]) :- chain([Y|T], R).
main :-
    check(p(X, Y), p(f(Y), g(Y)), R1), check(p(A, B), p(f(B), f(A)), R2), check(C, f(C), R3),
    check(q(D, E), q(f(E), F), R4), D = f(1), F == 1,
    format("~w ~w ~w ~w~n", [R1, R2, R3, R4]), ( var(X), var(Y), var(A), var(B), var(C) -> true ),
    length(L, 200000), chain(L, M), check(L, M, yes), length(M, N), print(N), nl.
