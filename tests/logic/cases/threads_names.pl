% SPDX-License-Identifier: MIT
%: args -g main
%> type_error(atom,f(x))
%> instantiation_error
%> type_error(atom,f(x))
%> type_error(atom,1.5)
%> type_error(atom,g(1))
%> type_error(atom,7)
%> permission_error(destroy,message_queue,main)
%> permission_error(destroy,message_queue,other)
%> hello
%> detached
%> no time left
% Names are atoms: a term lies on the heap of one thread, and numbers are those
% of what has no name. The queue of a thread is there as long as the thread is.
main :-
    error_of(thread_create(true, _, [alias(f(x))])),
    error_of(thread_create(true, _, [alias(_)])),
    error_of(message_queue_create(f(x))),
    error_of(message_queue_create(1.5)),
    error_of(message_queue_create(_, [alias(g(1))])),
    error_of(message_queue_create(7)),
    error_of(message_queue_destroy(main)),
    thread_create(( thread_get_message(M), writeln(M) ), T, [alias(other)]),
    error_of(message_queue_destroy(other)),
    thread_send_message(other, hello), thread_join(T, true),
    thread_self(Me),
    thread_create(( thread_self(I), thread_detach(I), thread_send_message(Me, detached) ), _),
    thread_get_message(D), writeln(D),
    ( thread_get_message(Me, _, [timeout(-0.5)]) -> true ; writeln('no time left') ).
error_of(G) :- catch(G, error(E, _), ( writeq(E), nl )).
