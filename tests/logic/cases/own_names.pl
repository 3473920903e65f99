% SPDX-License-Identifier: MIT
%: args -g main
% A program may define predicates that have the names of ours, wherever it
% calls them from; what is ours goes on working.
%> mine 7
%> succ(1,0)
%> [1,2,3]
%> between(none)
%> member(1)
%> [1,2]
%> [b]
%> e(1) e(2) .
%> permission
%> 6
main :-
    writeln(7),
    succ(1, X), write(succ(1, X)), nl,
    findall(Y, code_type_count(Y), L), write(L), nl,
    between(1, 2, Z), write(between(Z)), nl,
    ( member(V, [1]), write(V), nl ; true ), !,
    list_to_ord_set([2, 1, 2], S), write(S), nl,
    subtract([a, b], [a], D), write(D), nl,
    ( public(P), write(e(P)), write(' '), fail ; write('.'), nl ),
    catch(assertz(atom_length(a, 1)), error(permission_error(_, _, _), _), (write(permission), nl)),
    sum_list([1, 2, 3], Sum), write(Sum), nl.

writeln(X) :- write(mine), write(' '), write(X), nl.
succ(X, Y) :- Y is X - 1.
between(_, _, none).
member(X, [Y|_]) :- X = member(Y).
memberchk(_, _) :- fail.
append(_, _, _) :- fail.
length(_, none).
msort(_, none).
code_type_count(N) :- nth1(N, [a, b, c], _).
:- assertz(public(1)), assertz(public(2)).
