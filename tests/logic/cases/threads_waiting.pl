% SPDX-License-Identifier: MIT
%: args -g main
%> sleep
%> queue
%> full queue
%> thread
%> mutex
%> shell
% A thread that waits keeps no memory of the shared tables that others make:
% sets that larger ones replace are freed, however it waits.
:- table seen/1 as shared, many/2 as shared.
seen(1).
many(N, X) :- between(1, N, X).
main :-
    mutex_lock(held), memory(200000, B0),
    forall(member(W, [sleep, queue, 'full queue', thread, mutex, shell]), ( begin(W, T), memory(200001, B), report(W, B0, B), thread_detach(T) )), halt.
report(W, B0, B) :- ( B < B0 * 1.2 -> writeln(W) ; print(W-B0-B), nl ).
begin(W, T) :-
    thread_self(Me), thread_create(( seen(_), thread_send_message(Me, ready), wait(W) ), T),
    thread_get_message(ready), sleep(0.1).
wait(sleep) :- sleep(100).
wait(queue) :- thread_get_message(never).
wait('full queue') :- message_queue_create(Q, [max_size(1)]), thread_send_message(Q, a), thread_send_message(Q, b).
wait(thread) :- thread_create(sleep(100), T), thread_join(T, _).
wait(mutex) :- mutex_lock(held).
wait(shell) :- shell('exec sleep 5 >/dev/null 2>&1').
memory(N, B) :-
    abolish_all_tables, ( many(N, _), fail ; with_output_to(atom(A), tabling_statistics) ),
    split_string(A, "\n", "", Ls), member(L, Ls), split_string(L, " ", " ", [all, _, B0, _, _]), !, atom_number(B0, B).
