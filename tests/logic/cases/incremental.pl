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
%> assertz [1,5] [1,5]
%> retract [1,5] [1,5]
%> retractall [1,5] [1,5]
%> abolish [1,5] [1,5]
%> load_csv [1,5] [1,5]
%> nothing [1,5] [1,5]
%> loads [1,5,6,7] [8]
%> kept [1]
%> in part [1,2] [2]
%> static [1] [1,9]
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
    format("error ~q ~q~n", [E, L]), within, loads, kept,
    in_part, static.

% Within an evaluation neither the clauses change nor the tables.
:- dynamic d/1 as incremental.
:- table p/1, q/1.
d(1).
d(5).
p(X) :- d(X).
q(assertz) :- refused(assertz(d(2))).
q(retract) :- refused(retract(d(1))).
q(retractall) :- refused(retractall(d(_))).
q(abolish) :- refused(abolish(d/1)).
q(load_csv) :- tmp_file('9\n', F), refused(load_csv(F, d)), delete_file(F).
q(nothing) :- \+ retract(d(9)), retractall(d(9)).
refused(G) :- catch(( G, fail ), error(permission_error(modify, table, being_evaluated), _), true).
within :-
    ps(_), member(W, [assertz, retract, retractall, abolish, load_csv, nothing]),
    q(W), ps(L), findall(X, d(X), M), format("~q ~q ~q~n", [W, L, M]), fail.
within.
ps(L) :- findall(X, p(X), L0), sort(L0, L).
loads :-
    tmp_file('6\n7\n', F), load_csv(F, d), ps(L), delete_file(F),
    tmp_file(':- retractall(d(_)), p(_) -> true ; true.\nd(8).\n', G), consult(G), ps(M), delete_file(G),
    format("loads ~q ~q~n", [L, M]).
% a retractall/1 that finds nothing changes nothing
:- dynamic pair/2 as incremental.
:- dynamic seen/1.
:- table first/1.
pair(1, 2).
first(X) :- pair(X, _), assertz(seen(X)).
kept :- first(1), retractall(pair(X, X)), first(1), findall(Y, seen(Y), L), format("kept ~w~n", [L]).
% one that an error ends: what it has erased is gone from the tables too
half(1).
half(X) :- X = 2.
:- dynamic half/1 as incremental.
:- table part/1.
part(X) :- half(X).
in_part :-
    findall(X, part(X), L), catch(retractall(half(_)), error(permission_error(_, _, _), _), true),
    findall(X, part(X), M), format("in part ~w ~w~n", [L, M]).
% as a file that is loaded does, rows drop tables of what was there
fact(1).
:- table of_facts/1.
of_facts(X) :- fact(X).
static :-
    findall(X, of_facts(X), L), tmp_file('9\n', F), load_csv(F, fact), delete_file(F),
    findall(X, of_facts(X), M), format("static ~w ~w~n", [L, M]).
tmp_file(Text, F) :-
    N is random(1000000000), atom_concat('/tmp/leaflog-incremental-', N, F),
    open(F, write, S), write(S, Text), close(S).
