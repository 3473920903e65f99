% SPDX-License-Identifier: MIT
%: args -g main
%> 2
%> resource_error(lattices)
%> resource_error(lattices)
%> 2
% Lattices and orders whose predicates ask for others come to an end.
:- table d(_, lattice(join/3)).
d(N, s(N, 1)).
d(N, s(N, 2)).
join(s(N, A), s(N, B), s(N, C)) :-
    ( N > 0 -> M is N - 1, d(M, s(M, _)) ; true ),
    C is max(A, B).

:- table o(_, po(before/2)).
o(N, s(N, 1)).
o(N, s(N, 2)).
before(s(N, _), _) :- M is N + 1, o(M, _).

main :-
    d(50, s(_, I)), writeln(I),
    error_of(d(100000, _)), error_of(o(1, _)),
    d(20, s(_, J)), writeln(J).
error_of(G) :- catch(G, error(E, _), ( print(E), nl )).
