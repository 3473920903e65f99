% SPDX-License-Identifier: MIT
%: args -g main
%> 20000
%> 20000
%> 300
%> det
% Facts by the ten thousand: calls with the second or both arguments bound.
main :-
    forall(between(1, 20000, I), ( J is I mod 100, K is 20001 - I, assertz(f(I, J, K)) )),
    second(0, N), writeln(N), third(1, 0, M), writeln(M),
    findall(I, ( member(J, [7, 8, 9]), f(I, J, K), K < 10001 ), L), length(L, P), writeln(P),
    ( g(b, X), ! , ( X == 2 -> writeln(det) ; true ) ).
:- dynamic f/3.
second(N, R) :- findall(x, ( between(0, 99, J), f(_, J, _) ), L), length(L, N1), R is N + N1.
third(20001, N, N) :- !.
third(K, N0, N) :- ( f(_, _, K) -> N1 is N0 + 1 ; N1 = N0 ), K1 is K + 1, third(K1, N1, N).
g(a, 1). g(b, 2). g(c, 3).
