% SPDX-License-Identifier: MIT
%: args -g main
%> joined(true)
%> [1,4,9,16]
%> pong(ping)
%> forall
%> exception(oops)
%> 4000
%> late
:- dynamic counter/1.
counter(0).
main :-
    thread_create(true, Id), thread_join(Id, S), writeln(joined(S)),
    concurrent_maplist([X, Y]>>(Y is X * X), [1, 2, 3, 4], L), writeln(L),
    thread_self(Me),
    thread_create(echo(Me), E), thread_send_message(E, ping),
    thread_get_message(pong(P)), writeln(pong(P)), thread_join(E, _),
    ( concurrent_forall(between(1, 50, N), N < 51), \+ concurrent_forall(member(M, [1, 2]), M < 2)
    -> writeln(forall) ; true ),
    thread_create(throw(oops), T), thread_join(T, ST), writeln(ST),
    findall(I, ( between(1, 4, _), thread_create(bump(1000), I) ), Is),
    forall(member(I, Is), thread_join(I, true)), counter(C), writeln(C),
    ( thread_get_message(Me, never, [timeout(0.05)]) -> true ; writeln(late) ).
echo(To) :- thread_get_message(M), thread_send_message(To, pong(M)).
bump(0) :- !.
bump(N) :- with_mutex(m, ( retract(counter(C)), D is C + 1, assertz(counter(D)) )),
    M is N - 1, bump(M).
