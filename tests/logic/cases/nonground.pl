% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2
%> [p(a,b),p(A,A),p(A,f(A)),p(A,g(B,A,B))]
%> [p(b,b),p(b,f(b)),p(b,g(A,b,A))]
%> 1
% Answers that are not ground are kept up to renaming of variables.
:- table p/2, q/1.
p(X, X).
p(Y, Y).
p(X, f(X)).
p(X, g(Y, X, Y)).
p(X, g(Z, X, Z)).
p(a, b).
q(f(X, Y, X)) :- q(f(X, Y, X)).
q(f(A, _, A)).
main :-
    findall(p(X, Y), p(X, Y), L0), sorted(L0, L),
    findall(p(b, Y), p(b, Y), M0), sorted(M0, M),
    findall(x, q(_), Q), length(Q, N),
    with_output_to(atom(A), (show(L), show(M), print(N), nl)), write(A).
sorted(L0, L) :- findall(K-T, (member(T, L0), copy_term(T, C), numbervars(C, 0, _), K = C), K0),
    keysort(K0, K1), pairs_values(K1, L).
show(L) :- \+ \+ ( names(L), print(L), nl ).
names([]).
names([T|Ts]) :- numbervars(T, 0, _), names(Ts).
