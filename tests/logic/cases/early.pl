% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2
%> first(true)
%> inner(true)
%> open([1,2])
%> cleanup(1)
%> resumed(true)
%> condition(true)
%> others([1,2,3])
%> least([1])
% A goal without variables is complete with its first answer: what else its
% clauses could do is not done, in a component neither.
late :- throw(came_too_late).

:- table first/0, inner/1, open/1.
first.
first :- late.
inner(_) :- member(X, [1, 2, 3]), ( X > 1 -> late ; true ).
open(1).
open(2).

:- table clean/0 as private.
clean :- setup_call_cleanup(true, member(_, [1, 2]), count).
count :- nb_getval(cleanups, N), N1 is N + 1, nb_setval(cleanups, N1).

% s(1) depends on all others: its answer comes while consumers are resumed,
% and those that come after it still get theirs.
:- table s/1, t/1, other/1.
s(1) :- t(X), ( X > 2 -> late ; true ), X > 1.
t(X) :- other(X).
t(X) :- s(1), X = 9.
other(1).
other(X) :- other(Y), Y < 3, X is Y + 1.

% a(1) has its answer before the older goal it depends on is complete: a
% condition may ask for it.
:- table a/1, b/1.
b(X) :- ( a(X) -> true ; fail ).
a(X) :- b(X).
a(1).

:- table least/2, least(_, min).
least(x, 3).
least(x, 1).

true_of(G) :- ( catch(G, E, true) -> ( var(E) -> R = true ; R = E ) ; R = false ),
    functor(G, Name, _), T =.. [Name, R], show(T).
show(T) :- format("~w~n", [T]).
main :-
    true_of(first),
    true_of(inner(1)),
    findall(X, open(X), L1), sort(L1, S1), show(open(S1)),
    nb_setval(cleanups, 0),
    clean, nb_getval(cleanups, N), show(cleanup(N)),
    ( catch(s(1), E, true), var(E) -> show(resumed(true)) ; show(resumed(E)) ),
    ( b(1) -> show(condition(true)) ; show(condition(false)) ),
    findall(X, other(X), L2), sort(L2, S2), show(others(S2)),
    findall(X, least(x, X), S3), show(least(S3)).
