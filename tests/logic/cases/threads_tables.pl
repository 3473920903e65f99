% SPDX-License-Identifier: MIT
%: args -g main
%> shared [1] [1,2] [1,2]
%> calls [1] [1,2] [1,2]
%> kept [1,2] [1,2,3]
%> abolished [1,2,3,4]
% What one thread drops of a shared table the others see no longer either: each
% from the next call on that it makes while it evaluates nothing.
:- table p/1 as shared, q/1 as subgoal_shared, r/1 as shared.
:- dynamic d/1 as incremental.
:- dynamic e/1.
d(1).
e(1).
p(X) :- d(X).
q(X) :- d(X).
r(X) :- e(X).
main :-
    thread_self(Me), thread_create(serve(Me), T),
    forall(member(K-G, [shared-p, calls-q]), (
        ask(T, all(G), L), call(G, 1), assertz(d(2)), all(G, M), ask(T, all(G), N), retract(d(2)),
        format("~w ~w ~w ~w~n", [K, L, M, N]) )),
    assertz(d(2)), ask(T, both(Me), go), assertz(d(3)), thread_send_message(T, went),
    thread_get_message(answer(L1-L2)), format("kept ~w ~w~n", [L1, L2]),
    forall(member(X, [2, 3]), assertz(e(X))), ask(T, all(r), _),
    assertz(e(4)), abolish_all_tables, ask(T, all(r), L3), format("abolished ~w~n", [L3]),
    thread_send_message(T, do(stop)), thread_join(T, S), S == exited(stop).
ask(T, G, Answer) :- thread_send_message(T, do(G)), thread_get_message(answer(Answer)).
serve(To) :- repeat, thread_get_message(do(G)), call(G, Answer), thread_send_message(To, answer(Answer)), fail.
stop(_) :- thread_exit(stop).
all(G, L) :- findall(X, call(G, X), L0), sort(L0, L).
% a goal that was called before has the answers that it had then
both(To, L-M) :-
    findall(X-Y, ( p(X), ( X =:= 1 -> changed(To) ; true ), all(p, Y) ), Ps),
    findall(X, member(X-_, Ps), L), last(Ps, _-M).
changed(To) :- thread_send_message(To, answer(go)), thread_get_message(went).
