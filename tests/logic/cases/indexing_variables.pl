% SPDX-License-Identifier: MIT
%: args -g main --memory=60M
%> 6001 0 6000
% Clauses that match every key, by the thousand, among facts by the ten thousand:
% an index in which each key had all of them would not fit in memory.
:- dynamic p/2.
main :-
    forall(between(1, 80000, I), assertz(p(I, x))), forall(between(1, 6000, I), assertz(p(_, I))),
    aggregate_all(count, p(7, _), N), aggregate_all(count, p(7, y), K),
    aggregate_all(count, ( p(z, X), X \== x ), Z), format("~w ~w ~w~n", [N, K, Z]).
