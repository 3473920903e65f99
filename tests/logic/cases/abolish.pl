% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%> 1-[1,2,3,4]
%> 2-[1,2,3,4]
%> 3-[1,2,3,4]
%> cut-[1,2,3,4]
%> q(1,f('_',1))
%> q(2,f('_',2))
%> soon [0,1,2,3,4,5,6,7,8] []
%> after an error [1,2] [1,2,3]
%> older 1 [1,2,3,4]
%> older 2 [1,2,3,4]
%> older 3 [1,2,3,4]
%> absent
% A goal called before its table was abolished has the answers it had then; a
% new call is evaluated anew.
:- table p/1, q/2.
:- dynamic e/1.
p(X) :- e(X).
q(1, f(_, 1)).
q(2, f(_, 2)).
e(1). e(2). e(3).
main :-
    p(X), ( e(4) -> true ; assertz(e(4)) ), abolish_all_tables,
    findall(Y, p(Y), L), print(X-L), nl, fail.
main :-
    forall(between(1, 50, _), once(( p(_), abolish_table(p/1) ))),
    once(( p(_), abolish_table(p/1), findall(Y, p(Y), L), print(cut-L), nl )),
    ( q(A, B), abolish_all_tables, \+ \+ ( B = f(_, C), C == A ),
      B = f('_', _), writeq(q(A, B)), nl, fail ; true ),
    while_running.

% While goals are being evaluated: when they are complete, or given up.
:- table up/1, down/1, bad/1, g/1, none/1.
up(Y) :- down(X), X < 8, Y is X + 1.
up(0).
down(Y) :- up(X), X < 8, ( X =:= 5 -> abolish_all_tables ; true ), Y is X + 1.
down(0).
:- dynamic f/2.
g(X) :- thread_self(Me), f(Me, X).
bad(X) :- g(X), abolish_all_tables, throw(oops).
none(_) :- abolish_all_tables, fail.
while_running :-
    thread_self(Me), assertz(f(Me, 1)), assertz(f(Me, 2)),
    findall(X, up(X), L1), sort(L1, S1), findall(V, own_call(V), Vs), out([soon, S1, Vs]),
    findall(X, g(X), L2), assertz(f(Me, 3)), catch(bad(_), oops, true),
    findall(X, g(X), L3), out(['after an error', L2, L3]),
    ( g(X), ( X =:= 1 -> assertz(f(Me, 4)) ; true ), catch(bad(_), oops, true),
      findall(Y, g(Y), L4), out([older, X, L4]), fail ; true ),
    ( \+ none(1) -> out([absent]) ; true ).
own_call(V) :- member(V, [up(_), down(_)]), tabled_call(V, _).
out([W|L]) :-
    with_output_to(atom(T), ( write(W), forall(member(X, L), ( write(' '), print(X) )) )),
    writeln(T).
