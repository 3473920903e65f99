% SPDX-License-Identifier: MIT
%: args -g main
%> permission_error(create,operator,both)
%> both infix
%> [full,full,full,full,full,full,full,full]
%> alive
% The table of operators is full for all threads alike; a name is not infix and
% postfix at once.
main :-
    catch(clash, error(E, _), true), print(E), nl,
    ( \+ current_op(_, xf, both), current_op(200, xfy, both) -> writeln('both infix') ; true ),
    thread_self(Me),
    findall(Id, ( between(1, 8, T), thread_create(fill(T, Me), Id) ), Ids),
    maplist(outcome, Ids, Os), print(Os), nl,
    writeln(alive).
outcome(Id, O) :- thread_join(Id, true), thread_get_message(O).
fill(T, Me) :-
    catch(forall(between(1, 1000, I), one(T, I)), error(resource_error(operators), _), true),
    ( catch(one(T, 1001), _, fail) -> O = room ; O = full ),
    thread_send_message(Me, O).
one(T, I) :-
    atomic_list_concat([op, T, '_', I], A), op(200, xfx, A),
    ( current_op(200, xfx, A) -> true ; throw(lost(A)) ).
clash :- op(200, xfy, both), op(200, xf, both).
