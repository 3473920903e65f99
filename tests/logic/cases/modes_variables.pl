% SPDX-License-Identifier: MIT
%: args -g main
%> f(A,B,f(A),2)
%> f(A,B,g(A,B),h(B))
% What is kept of one answer beside what is new in another shares its variables
% with the key all the same.
:- table p(_,_,first,last).
p(X, _, f(X), 1).
p(X, _, g(X), 2).
:- table q(_,_,first,last).
q(X, Y, g(X, Y), 1).
q(_, _, k, 2).
q(_, Z, l, h(Z)).

main :-
    p(A, B, C, D), print_answer(f(A, B, C, D)),
    q(E, F, G, H), print_answer(f(E, F, G, H)).
print_answer(T) :- \+ \+ ( numbervars(T, 0, _), print(T), nl ).
