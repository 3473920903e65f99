% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2 8
%> [1-2,1-3,1-4,2-2,2-3,2-4,3-2,3-3,3-4]
%> [2,3,4]
%> yes
:- table left/2, right/2, double/2.
left(X, Z) :- left(X, Y), edge(Y, Z).
left(X, Z) :- edge(X, Z).
right(X, Z) :- edge(X, Y), right(Y, Z).
right(X, Z) :- edge(X, Z).
double(X, Z) :- double(X, Y), double(Y, Z).
double(X, Z) :- edge(X, Z).
edge(1, 2). edge(2, 3). edge(3, 2). edge(3, 4).
main :-
    findall(X-Y, left(X, Y), L0), sort(L0, L),
    findall(X-Y, right(X, Y), R0), sort(R0, R), L == R,
    findall(X-Y, double(X, Y), D0), sort(D0, D), L == D,
    findall(Y, right(1, Y), Ys0), sort(Ys0, Ys),
    with_output_to(atom(A), (print(L), nl, print(Ys), nl, answer)),
    write(A).
answer :- ( left(1, 4), \+ left(4, _) -> write(yes) ; write(no) ), nl.
