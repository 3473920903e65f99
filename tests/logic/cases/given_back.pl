% SPDX-License-Identifier: MIT
%: args -g main
%> output
%> mutexes
%> cleanups
%> time_limit_exceeded
%> message time_limit_exceeded
%> threads [main] [1,4,9]
%> sleep
%> inner true deaf true
% What a goal has while it runs is given back however a limit ends it: the place
% of its output, a mutex, its threads. Nor is the limit itself lost.
main :-
    current_output(S), rounds(( with_output_to(atom(_), write(lost)), portray(user_error) )),
    ( current_output(S), stream_property(X, output), \+ stream_property(X, alias(_)) -> true ; writeln(output) ),
    rounds(( with_mutex(m, true), flag(k, N, N + 1) )), free(m), free('$flag'), writeln(mutexes),
    rounds(setup_call_cleanup(mutex_lock(m), true, mutex_unlock(m))), free(m),
    rounds(\+ setup_call_cleanup(mutex_lock(m), fail, mutex_unlock(m))), free(m), writeln(cleanups),
    outer, messages, threads, thread_create(inner, Inner), thread_create(deaf, Deaf),
    thread_create(catch(call_with_time_limit(0.02, sleep(100)), time_limit_exceeded, writeln(sleep)), T),
    thread_join(T, _), thread_join(Inner, Status), thread_join(Deaf, Heard), format("inner ~w deaf ~w~n", [Status, Heard]).
% a cleanup that has a limit of its own
outer :-
    catch(call_with_time_limit(0.02, ( setup_call_cleanup(true, true, ( sleep(0.1), within(5, true) )), endless )), E, true), writeln(E).
% a cleanup that meets the limit itself, and runs for an error
inner :-
    catch(call_with_time_limit(0.02, ( catch(setup_call_cleanup(true, throw(x), ( repeat, fail )), x, true), endless )), E, true), E == time_limit_exceeded.
% threads that catch every interrupt are left alone
deaf :-
    catch(call_with_time_limit(0.02, concurrent_forall(member(_, [1, 2]), ( repeat, catch(sleep(100), _, true), fail ))), E, true), E == time_limit_exceeded.
endless :- between(1, 10000000, _), fail.
endless :- writeln(endless).
rounds(G) :- forall(between(1, 100, I), ( T is 0.0001 + I * 3.0e-6, within(T, ( repeat, G, fail )) )).
within(T, G) :- catch(call_with_time_limit(T, G), time_limit_exceeded, true).
portray(S) :- with_output_to(atom(_), ( current_output(M), S \== M, portray_clause(M, a) )).
free(M) :- thread_create(mutex_trylock(M), T), thread_join(T, true).
% the limit is met while messages are looked through
messages :-
    message_queue_create(Q), forall(between(1, 100000, I), thread_send_message(Q, m(I))),
    thread_create(( sleep(0.5), thread_send_message(Q, m(none)) ), T),
    catch(call_with_time_limit(0.0007, thread_get_message(Q, m(none))), E, true), thread_join(T, true),
    format("message ~q~n", [E]).
threads :-
    forall(between(1, 9, _), within(0.01, concurrent_forall(between(1, 32, _), sleep(100), [threads(32)]))),
    findall(T, thread_property(T, _), L), concurrent_maplist([X, Y]>>(Y is X * X), [1, 2, 3], M),
    format("threads ~w ~w~n", [L, M]).
