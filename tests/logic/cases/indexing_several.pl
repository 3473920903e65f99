% SPDX-License-Identifier: MIT
%: args --time=20 -g main
%> 20000
%> 30000
%> 20001
%> [7,20001]
%> 0
% Calls that no single argument answers: two arguments of few values each, and
% what stands inside a compound argument. Looking at each clause that one
% argument leaves takes minutes.
:- dynamic n/2, f/3.
main :-
    forall(between(1, 20000, I), ( assertz(n(leaf(I), I)), assertz(n([I, b], I)) )),
    asks(A), writeln(A),
    forall(between(0, 29999, I), ( J is I mod 173, K is I // 173, assertz(f(J, K, I)) )),
    pairs(B), writeln(B),
    assertz(n(leaf(7), 20001)), asks(C), writeln(C),
    findall(Y, n(leaf(7), Y), D), writeln(D),
    retractall(n(leaf(_), _)), retractall(n([_|_], _)), asks(E), writeln(E).
% both the list and the leaf, one inside bound
asks(N) :- aggregate_all(count, ( between(1, 20000, I), n(leaf(I), Y), once(n([I|_], _)), integer(Y) ), N).
pairs(N) :- aggregate_all(count, ( between(0, 29999, I), J is I mod 173, K is I // 173, f(J, K, I) ), N).
