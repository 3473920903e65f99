% SPDX-License-Identifier: MIT
%: args -g main --memory=60M
%> s(385177,147640)
%> [done,1,a]
% A loop that never backtracks and drops what it builds: the heap is collected.
main :-
    keep(K, V), loop(5000000, s(0, 1), R), print(R), nl,
    K = [_|V], V = [1, a], arg(1, f(done), D), K = [D|_], print(K), nl.
keep([_|T], T).
loop(0, S, S) :- !.
loop(N, S, R) :- M is N - 1, step(f(N, g(M), [a, b|S]), S1), loop(M, S1, R).
step(f(_, _, [_, _|s(A, B)]), s(B, D)) :- C is A + B, D is C mod 1000007.
