% SPDX-License-Identifier: MIT
%: args -g main
%> 5000
%> 5000
%> 50000
%> f(1,A,B,A)
%> f(1,A,B,A)
%> 255
%> representation_error(max_arity)
% Terms of many arguments, in tables too; predicates have at most 255.
:- table call_term/1, answer_term/1, answer_vars/1, one/2.
call_term(_).
answer_term(X) :- functor(X, f, 5000), numbervars(X, 0, _).
answer_vars(X) :- functor(X, f, 50000).
one(X, f(X, Y, _, Y)).
main :-
    functor(T, f, 5000), call_term(T), numbervars(T, 0, E), print(E), nl,
    answer_term(A), functor(A, _, AN), print(AN), nl,
    answer_vars(V), functor(V, _, VN), print(VN), nl, answer_vars(V2), V2 =@= V,
    % the only answer of a table that is complete
    one(1, O1), show(O1), one(1, O2), show(O2),
    functor(P, p, 255), assertz(P), P =.. [_|As], length(As, N), print(N), nl,
    functor(Q, p, 256), catch(assertz(Q), error(F, _), true), print(F), nl.
show(T) :- \+ \+ ( numbervars(T, 0, _), print(T), nl ).
