% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2
%> [a]
%> [p,s]
%> [w(1),w(2),w(4)]
%> [g(x)]
%> refused(even)
%> [r(9),r(101),r(105),r(107),r(109)]
% Negation inside a component: a goal that is being evaluated is settled when
% what it waits for is, and only a goal that waits for its own absence is
% refused. An exception in a component takes nothing from older goals.
:- table a/0, b/0, p/0, q/0, r/0, s/0.
a :- tnot(b).
a.
b :- \+ a.

p :- tnot(q).
q :- r, fail.
r :- q.
s :- p, tnot(r).

:- table w/1.
w(X) :- move(X, Y), \+ w(Y).
move(1, 2). move(2, 3). move(1, 3). move(3, 4). move(4, 5).

% Stratified only where the answers are looked at: g(y) depends on g(x).
:- table g/1, h/1.
g(x).
g(X) :- h(X).
h(y) :- g(Z), Z == y, \+ g(z).

:- table even/0, odd/0.
even :- \+ odd.
odd :- \+ even.

:- table t/1, u/1, v/1.
t(1).
t(X) :- catch(u(X), _, X = 5).
t(7).
t(X) :- v(X).
u(X) :- t(Y), Y < 10, X is Y + 1.
u(_) :- throw(oops).
v(9).
v(X) :- t(Y), Y < 100, X is Y + 100.

true_of(L) :- findall(G, ( member(G, L), call(G) ), True), format("~w~n", [True]).
main :-
    true_of([a, b]),
    true_of([p, q, r, s]),
    true_of([w(1), w(2), w(3), w(4), w(5)]),
    true_of([g(_), h(_)]),
    catch(even, error(stratification_error(_, 'a negation'), _),
          format("~w~n", [refused(even)])),
    findall(_, t(_), _),
    findall(r(X), v(X), L0), sort(L0, L), format("~w~n", [L]).
