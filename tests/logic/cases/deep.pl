% SPDX-License-Identifier: MIT
%: args -g main
%> 2000000
%> true
%> 300000
%> ok
% Terms as deep as memory allows, through everything that walks over terms.
:- table t/1.
main :-
    nest(1000000, z, T), size(T, 0, N0), N is N0 * 2, print(N), nl,
    copy_term(T, U), ( T == U, T =@= U, T = U, \+ T @< U -> print(true) ; print(false) ), nl,
    nest(300000, z, S), assertz(kept(S)), kept(V), size(V, 0, M), print(M), nl,
    assertz((left :- T is 1)), \+ left,
    nest(1000000, Z, P), assertz((left(Z) :- P is 1)), \+ left(z),
    findall(T, member(_, [1]), [W]), W == T,
    with_output_to(atom(A), print(T)), atom_length(A, Len), Len =:= 3000001,
    term_to_atom(R, A), R == T,
    sums(300000, 1, E), assertz((sum(X) :- X is E)), sum(300001), \+ sum(1),
    sums(300000, Y, F), assertz((sum(Y, X) :- X is F, X > 0)), sum(2, 300002),
    minuses(300000, 1, G), assertz((left :- 0 =\= G, 1 =:= G)), left,
    numlist(1, 300000, L), t(L), length(L, _), ground(T), term_variables(T, []),
    print(ok), nl.
:- dynamic kept/1.
:- dynamic left/0, left/1, sum/1, sum/2.
sums(0, E, E) :- !.
sums(N, E0, E) :- M is N - 1, sums(M, E0 + 1, E).
minuses(0, E, E) :- !.
minuses(N, E0, E) :- M is N - 1, minuses(M, -(E0), E).
nest(0, T, T) :- !.
nest(N, T0, T) :- M is N - 1, nest(M, s(T0), T).
size(z, N, N).
size(s(T), N0, N) :- N1 is N0 + 1, size(T, N1, N).
t(L) :- L = [_|_].
