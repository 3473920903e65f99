% SPDX-License-Identifier: MIT
%: args -g main --table-memory=20M
%: designs
%> calls resource_error(table_space)
%> answers resource_error(table_space)
%> modes resource_error(table_space)
%> [1,2,3]
% The limit of the tables is met by calls without answers, and by few answers
% that are large, as by many small ones.
:- table up/1, list/1, longest(lattice(longer/3)), some/1.
up(N) :- M is N + 1, up(M).
list(L) :- between(1, 3000, N), numlist(1, N, L0), reverse(L0, L).
longest(L) :- list_of(L).
list_of(L) :- between(1, 3000, N), numlist(1, N, L0), reverse(L0, L).
longer(_, L, L).
some(X) :- member(X, [1, 2, 3]).
main :-
    ends(calls, up(0)), ends(answers, list(_)), ends(modes, longest(_)),
    findall(X, some(X), L), print(L), nl.
ends(What, G) :-
    catch(( G -> R = true ; R = false ), error(R, _), true),
    abolish_all_tables, format("~w ~w~n", [What, R]).
