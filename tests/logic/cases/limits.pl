% SPDX-License-Identifier: MIT
%: args -g main --memory=200M
%> resource_error(memory)
%> resource_error(memory)
%> time_limit_exceeded
%> short limits
%> time_limit_exceeded
%> time_limit_exceeded
%> five waits end
%> time_limit_exceeded
%> resource_error(operators)
%> alive
% A limit that is met is an error like any other, and the machine goes on.
main :-
    catch(runaway(1), error(E, _), true), print(E), nl,
    catch(grow(a), error(F, _), true), print(F), nl,
    catch(call_with_time_limit(0.2, spin), G, true), print(G), nl,
    forall(between(1, 5000, I), short(I)), writeln('short limits'),
    catch(call_with_time_limit(0.1, ( between(1, inf, _), fail )), L1, true), print(L1), nl,
    catch(call_with_time_limit(0.1, endless(_)), L2, true), print(L2), nl,
    message_queue_create(Q), forall(between(1, 300000, I), thread_send_message(Q, m(I))),
    forall(between(1, 5, _), searching(Q)), message_queue_destroy(Q), writeln('five waits end'),
    doubled(45, a, T), catch(call_with_time_limit(0.1, shallow(T)), L3, true), print(L3), nl,
    catch(operators, error(H, _), true), print(H), nl,
    writeln(alive).
short(I) :-
    T is I * 1.0e-8,
    catch(call_with_time_limit(T, numlist(1, 20, _)), E, true),
    ( var(E) -> true ; E == time_limit_exceeded -> true ; throw(E) ).
searching(Q) :- catch(call_with_time_limit(0.005, thread_get_message(Q, m(none))), time_limit_exceeded, true).
doubled(0, T, T) :- !.
doubled(N, T0, T) :- M is N - 1, doubled(M, f(T0, T0), T).
:- table shallow/1 as subgoal_abstract(100).
shallow(_).
runaway(X) :- runaway(X), stop.
stop.
grow(X) :- grow(f(X)).
spin :- spin.
operators :- between(1, 3000, I), atom_concat(op, I, A), op(200, xfx, A), fail.
:- table endless/1.
endless(X) :- between(1, inf, X).
