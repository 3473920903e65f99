% SPDX-License-Identifier: MIT
%: args --collect=1 -g main
%> 3 2485
%> [f(a,b,[x,y]),3,f(a,b,[x,y])]
%> [1-1,1-2,1-3,2-1,2-2,2-3,3-1,3-2,3-3]
% Clauses of more variables than a call can name. What backtracking took away is
% seen by no collection and no continuation that waits.
term_expansion(wide(N), (wide(A, Vs) :- alt(A), Goals, waste(9), A >= 3, waste(9))) :- goals(N, A, Vs, Goals).
term_expansion(fails(N), (fails(R) :- ( alt(A), Goals, A > 5 -> true ; waste(9), made(X), waste(9), alt(B), foo(B), made(Y), waste(9), B >= 3, R = [X, B, Y] ))) :- goals(N, A, _, Goals).
term_expansion(reach(N), (reach(X, Y) :- ( X = 1, Goals, fail ; true ), alt(A), reach(X, Z), made(M), foo(A), edge(Z, Y), M = f(a, b, _))) :- goals(N, X, _, Goals).
goals(0, _, [], true).
goals(N, A, [V|Vs], (V = g(N, k(A), _), foo(V), Goals)) :- N > 0, M is N - 1, goals(M, A, Vs, Goals).
alt(1). alt(2). alt(3).
foo(_).
made(f(a, b, [x, y])).
waste(0) :- !.
waste(N) :- M is N - 1, waste(M).
:- table edge/2, reach/2.
edge(1, 2). edge(2, 3). edge(3, 1).
reach(X, Y) :- edge(X, Y).
reach(70).
wide(70).
fails(70).
main :-
    wide(A, Vs), aggregate_all(sum(N), member(g(N, k(A), _), Vs), S), format("~w ~w~n", [A, S]),
    fails(R), print(R), nl, findall(X-Y, reach(X, Y), L0), sort(L0, L), print(L), nl.
