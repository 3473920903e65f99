% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2
%> [a,c]
%> [2,3,4,5]
% Negation of tabled goals: a game without draws, and a difference of closures.
:- table win/1, reach/2, unreach/2.
win(X) :- move(X, Y), \+ win(Y).
move(a, b). move(b, c). move(c, d). move(a, d).
reach(X, Y) :- edge(X, Y).
reach(X, Z) :- reach(X, Y), edge(Y, Z).
edge(1, 2). edge(2, 3). edge(3, 4). edge(4, 5).
node(1). node(2). node(3). node(4). node(5).
unreach(X, Y) :- node(X), node(Y), tnot(reach(X, Y)).
main :-
    findall(X, win(X), W0), sort(W0, W),
    findall(Y, unreach(Y, 2), U0), sort(U0, U),
    with_output_to(atom(A), (print(W), nl, print(U), nl)), write(A).
