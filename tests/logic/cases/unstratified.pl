% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%> stratification_error(p)
%> stratification_error(r(1))
%> [s(1)]
%> stratification_error(u) [set_up,cleaned_up]
% A program that is not stratified is an error, and the tables are as if the
% goal had never been called.
:- table p/0, q/0, r/1, s/1, u/0.
p :- \+ q.
q :- \+ p.
r(X) :- e(X), ( r(X) -> fail ; true ).
s(X) :- e(X).
u :- setup_call_cleanup(note(set_up), u, note(cleaned_up)), note(used).
note(X) :- thread_self(Me), thread_send_message(Me, X).
notes(L) :- thread_self(Me), findall(X, ( repeat, ( thread_peek_message(Me, _) -> thread_get_message(Me, X) ; !, fail ) ), L).
e(1).
main :-
    catch(p, error(stratification_error(G, _), _), (print(stratification_error(G)), nl)),
    catch(r(_), error(stratification_error(_, _), _), (print(stratification_error(r(1))), nl)),
    findall(s(X), s(X), L), print(L), nl,
    catch(u, error(stratification_error(U, _), _), true), notes(Ns), format("~w ~w~n", [stratification_error(U), Ns]).
