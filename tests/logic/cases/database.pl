% SPDX-License-Identifier: MIT
%: args -g main
%> [1,2,3]
%> [0,1,2,3]
%> [0,2,3]
%> rule(3)
%> b(A):-a(A),A>2
%> 100000
%> [1,2,3]-[1,2,3,4,5,6]
%> [1,2,3,4,5,6]-[1,2,3,4,5,6]-[]
%> 220000
%> type_error(callable,4)-existence_error(procedure,e/1)
%> [1,2]
:- dynamic a/1, b/1, c/1, d/1, q/1.
main :-
    assertz(a(1)), assertz(a(2)), assertz(a(3)), show,
    asserta(a(0)), show,
    retract(a(1)), show,
    assertz((b(X) :- a(X), X > 2)), b(Y), writeln(rule(Y)),
    clause(b(Z), B), copy_term((b(Z) :- B), C), numbervars(C, 0, _), print(C), nl,
    count(100000),
    assertz(d(1)), assertz(d(2)), assertz(d(3)),
    % the logical update view: what comes later is not seen
    findall(V, ( d(V), W is V + 3, assertz(d(W)) ), Vs),
    findall(V, d(V), All), writeln(Vs-All),
    findall(V, clause(d(V), true), Cs), findall(V, retract(d(V)), Rs),
    findall(V, d(V), None), writeln(Cs-Rs-None),
    forall(between(1, 20000, I), assertz(q(I))), rotate(200000),
    aggregate_all(max(Q), q(Q), Max), writeln(Max),
    % what is no clause makes nothing of its predicate
    catch(assertz((e(1) :- 4)), error(E1, _), true), catch(e(1), error(E2, _), true), print(E1-E2), nl,
    catch(assertz((append(_, _, _) :- 4)), _, true), append([1], [2], App), print(App), nl.
% a queue: first out, last in
rotate(0) :- !.
rotate(N) :- retract(q(X)), !, Y is X + 20000, assertz(q(Y)), M is N - 1, rotate(M).
show :- findall(X, a(X), L), writeln(L).
count(N) :- assertz(c(0)), between(1, N, _), retract(c(I)), J is I + 1, assertz(c(J)), fail.
count(_) :- c(X), writeln(X).
