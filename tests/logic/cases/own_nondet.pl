% SPDX-License-Identifier: MIT
%: args -g main
%> [3,4]
%> [c,b,a]
% Builtins with several solutions, called before the program defines them.
domain(X) :- between(3, X, 4).
pieces(L) :- findall(X, select(X, [a, b, c], _), L).
between(L, L, H) :- L =< H.
between(L, M, H) :- L < H, L1 is L + 1, between(L1, M, H).
select(X, [_|L], R) :- select(X, L, R).
select(X, [X|R], R).
main :- findall(X, domain(X), L), writeln(L), pieces(P), writeln(P).
