% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%> stratification_error(p)
%> stratification_error(r(1))
%> [s(1)]
%> stratification_error(u) [set_up,cleaned_up]
%> refused [limit,call_nth,first_solution]
%> whole [[0,1],[1],[0]]
% A program that is not stratified is an error, and the tables are as if the
% goal had never been called.
:- table p/0, q/0, r/1, s/1, u/0, few/2, whole/1.
p :- \+ q.
q :- \+ p.
r(X) :- e(X), ( r(X) -> fail ; true ).
s(X) :- e(X).
u :- setup_call_cleanup(note(set_up), u, note(cleaned_up)), note(used).
note(X) :- thread_self(Me), thread_send_message(Me, X).
% counted within its own component a goal could have more answers than asked for
few(limit, X) :- limit(1, few(limit, Y)), Y < 3, X is Y + 1.
few(call_nth, X) :- call_nth(few(call_nth, Y), 1), Y < 3, X is Y + 1.
few(first_solution, X) :- first_solution(Y, [few(first_solution, Y)], []), Y < 3, X is Y + 1.
few(_, 0).
whole(X) :- member(X, [0, 1, 2]).
notes(L) :- thread_self(Me), findall(X, ( repeat, ( thread_peek_message(Me, _) -> thread_get_message(Me, X) ; !, fail ) ), L).
e(1).
main :-
    catch(p, error(stratification_error(G, _), _), (print(stratification_error(G)), nl)),
    catch(r(_), error(stratification_error(_, _), _), (print(stratification_error(r(1))), nl)),
    findall(s(X), s(X), L), print(L), nl,
    catch(u, error(stratification_error(U, _), _), true), notes(Ns), format("~w ~w~n", [stratification_error(U), Ns]),
    findall(K, ( member(K, [limit, call_nth, first_solution]), catch(( few(K, _), fail ), error(stratification_error(_, _), _), true) ), Ks),
    format("refused ~w~n", [Ks]),
    findall(X, limit(2, whole(X)), W1), findall(X, call_nth(whole(X), 2), W2),
    findall(X, first_solution(X, [whole(X)], []), W3), format("whole ~w~n", [[W1, W2, W3]]).
