% SPDX-License-Identifier: MIT
%: args -g main
%> message time_limit_exceeded
% A limit that is met is not lost.
main :-
    messages.
% the limit is met while messages are looked through
messages :-
    message_queue_create(Q), forall(between(1, 100000, I), thread_send_message(Q, m(I))),
    thread_create(( sleep(0.5), thread_send_message(Q, m(none)) ), T),
    catch(call_with_time_limit(0.0007, thread_get_message(Q, m(none))), E, true), thread_join(T, true),
    format("message ~q~n", [E]).
