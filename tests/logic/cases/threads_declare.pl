% SPDX-License-Identifier: MIT
%: args -g main
%> true
% A predicate is declared anew while other threads evaluate it: their goals go
% on under the modes that they were called with.
:- table p/2.
p(X, Y) :- numlist(1, 300, L), member(X, L), X < 4, q(Y).
q(1).
q(2).
main :-
    findall(T, ( member(G, [work(2000), work(2000), declare(2000)]), thread_create(once(G), T) ), Ts),
    findall(S, ( member(T, Ts), thread_join(T, S) ), Ss), sort(Ss, [One]), print(One), nl.
work(0) :- !.
work(N) :-
    once(p(1, 2)), findall(X, p(X, _), [_|_]), findall(X, p(_, X), [_|_]),
    abolish_all_tables, M is N - 1, work(M).
declare(0) :- !.
declare(N) :-
    table(p(_, lattice(keep/3))), table(p/2), M is N - 1, declare(M).
keep(_, B, B).
