% SPDX-License-Identifier: MIT
%: args -g main
%> permission_error(join,thread,main)
%> permission_error(join,thread,self)
%> permission_error(create,thread,a)
%> running true existence_error(thread,a)
%> 200
%> time_limit_exceeded time_limit_exceeded
%> locked
%> exited(bye(1))
%> exception(oops)
%> existence_error(thread,gone)
%> 2 [1,2,3,4,5,6,7,8,9,10]
%> permission_error(create,message_queue,q)
%> 100
%! leaflog: error: uncaught exception: nobody_joins
% How threads and queues end: those that wait at a queue that is destroyed are
% told, what waits for a thread or a mutex ends at a limit, nobody joins himself.
main :-
    error_of(( thread_self(Me), thread_join(Me, _) )),
    thread_create(error_of(( thread_self(I), thread_join(I, _) )), S, [alias(self)]), thread_join(S, true),
    thread_create(thread_get_message(stop), _, [alias(a)]),
    error_of(thread_create(true, _, [alias(a)])),
    thread_property(a, status(P)), thread_send_message(a, stop), thread_join(a, J),
    write(P), write(' '), write(J), write(' '), error_of(thread_join(a, _)),
    aggregate_all(count, ( between(1, 200, _), destroyed ), N), writeln(N),
    limits, ends.
error_of(G) :- catch(G, error(E, _), ( writeq(E), nl )).
destroyed :-
    message_queue_create(Q), findall(T, ( between(1, 4, _), thread_create(wait(Q), T) ), Ts),
    thread_send_message(Q, a), thread_send_message(Q, b), message_queue_destroy(Q),
    forall(member(T, Ts), thread_join(T, true)).
wait(Q) :- catch(( repeat, thread_get_message(Q, _), fail ), error(existence_error(_, _), _), true).
limits :-
    thread_create(thread_get_message(stop), T), within(thread_join(T, _)),
    thread_send_message(T, stop), thread_join(T, true), write(' '),
    mutex_create(M), thread_self(Me),
    thread_create(( mutex_lock(M), thread_send_message(Me, locked), thread_get_message(go), mutex_unlock(M) ), L),
    thread_get_message(locked), within(mutex_lock(M)), nl,
    ( mutex_trylock(M) -> true ; writeln(locked) ),
    thread_send_message(L, go), thread_join(L, true), mutex_lock(M), mutex_unlock(M).
within(G) :- catch(call_with_time_limit(0.1, G), E, write(E)).
ends :-
    thread_create(thread_exit(bye(1)), T), thread_join(T, S), writeln(S),
    thread_create(throw(oops), X), thread_join(X, E), writeln(E),
    thread_create(thread_self(_), _, [alias(gone)]), thread_detach(gone), sleep(0.2),
    error_of(thread_join(gone, _)),
    thread_create(throw(nobody_joins), _, [detached(true)]),
    forall(between(1, 300, _), thread_create(true, _, [detached(true)])),
    message_queue_create(q, [max_size(2)]),
    thread_create(forall(between(1, 10, I), thread_send_message(q, I)), Sender), sleep(0.1),
    message_queue_property(q, size(N)),
    findall(I, ( between(1, 10, _), thread_get_message(q, I) ), Is), thread_join(Sender, true),
    write(N), write(' '), writeln(Is), error_of(message_queue_create(q)),
    balls(100, Ts), repeat, aggregate_all(count, thread_property(_, status(exception([_|_]))), M),
    ( M =:= 100 -> true ; sleep(0.05), fail ), !,
    forall(member(B, Ts), thread_join(B, _)), writeln(M).
% that are not joined, with what they threw
balls(N, Ts) :- findall(T, ( between(1, N, _), thread_create(( length(L, 4000), throw(L) ), T) ), Ts).
