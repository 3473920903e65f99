% SPDX-License-Identifier: MIT
%: args -g main
%> '|'(a,'|'(b,c))
%> a|b|c
%> [a|b]
%> [1,2,3]
%> [1,2]
%> then
%> cut
%> [a,b]
%> permission_error(modify,static_procedure,('|')/2)
% A bar as an operator is a functor of its own (ISO's second corrigendum); as a
% goal and in grammars it is a disjunction.
main :-
    T = (a|b|c), write_canonical(T), nl, writeq(T), nl, writeq([a|b]), nl,
    findall(X, ( X = 1 | X = 2 | X = 3 ), L), print(L), nl,
    G = (Y = 1 | Y = 2 | fail), findall(Y, G, M), print(M), nl,
    ( true -> writeln(then) | writeln(else) ),
    cut, findall(C, ( member(C, [a, b, c]), phrase(ab, [C]) ), Cs), print(Cs), nl,
    catch(assertz('|'(1, 2)), error(E, _), ( print(E), nl )).
cut :- ( member(_, [1, 2]), ! | writeln(no) ), writeln(cut).
cut :- writeln(not_cut).
ab --> [a] | [b].
