% SPDX-License-Identifier: MIT
%: args -g main
%: designs
% Tables follow the facts that are declared incremental.
%> [2,3]
%> [2,3,4]
%> [3,4]
%> [4]
%> []
%> error permission_error(modify,table,being_evaluated) [4,5]
:- table reach/2 as incremental, late/1 as (incremental, subsumptive).
:- dynamic edge/2 as incremental.
:- dynamic([other/1, more/1], [incremental(true)]).
reach(X, Y) :- edge(X, Y).
reach(X, Y) :- reach(X, Z), edge(Z, Y).
late(X) :- more(X), assertz(other(X)).
edge(1, 2).
edge(2, 3).
show :- findall(Y, reach(1, Y), L0), sort(L0, L), print(L), nl.
main :-
    show, assertz(edge(3, 4)), show,
    retract(edge(1, 2)), assertz(edge(1, 3)), show,
    retractall(edge(1, _)), assertz(edge(1, 4)), show,
    abolish(edge/2), show,
    assertz(more(1)), catch(late(_), error(E, _), true),
    assertz(edge(1, 4)), assertz(edge(4, 5)), findall(Y, reach(1, Y), L),
    format("error ~q ~q~n", [E, L]).
