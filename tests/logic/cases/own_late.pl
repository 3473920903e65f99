% SPDX-License-Identifier: MIT
%: args -g main
% Clauses that were compiled with a builtin call the program's predicate from
% its definition on; who is in the middle of one goes on with the builtin.
%> A
%> X
%> still A
%> mine(b)
%> mine(downcase)
%> [large(list,[1,2,3],of(terms))]
%> 2000 mine
main :-
    use(a), twice(x), !, define, use(b), twice(c),
    findall(X, repeated(2000, X), L), sort(L, [One]), length(L, N),
    write(N), write(' '), write(One), nl.

use(X) :- upcase_atom(X, Y), write(Y), nl.
define :- upcase_atom(a, B), dynamic(upcase_atom/2), assertz(upcase_atom(X, mine(X))),
    write('still '), write(B), nl.
:- dynamic twice/1.
twice(x) :- upcase_atom(x, Y), write(Y), nl.
twice(_) :-
    downcase_atom('DOWNCASE', D), upcase_atom(D, Y), write(Y), nl,
    L = [large(list, [1, 2, 3], of(terms))], is_list(L), write(L), nl.
repeated(N, Name) :- between(1, N, _), upcase_atom(_, Mine), functor(Mine, Name, _).
