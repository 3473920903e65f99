% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2 8
%> [0,2,4,6,8,10]-[1,3,5,7,9]
%> 100
% Two predicates in one component, and a component of a hundred goals.
:- table even/1, odd/1, r/2.
even(0).
even(N) :- odd(M), M < 10, N is M + 1.
odd(N) :- even(M), M < 10, N is M + 1.
r(X, Y) :- Z is (X + 1) mod 100, r(Z, Y).
r(X, X).
main :-
    findall(X, even(X), E0), msort(E0, E), findall(X, odd(X), O0), msort(O0, O),
    findall(Y, r(7, Y), Ys), length(Ys, N),
    with_output_to(atom(A), (print(E-O), nl, print(N), nl)), write(A).
