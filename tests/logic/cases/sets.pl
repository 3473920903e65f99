% SPDX-License-Identifier: MIT
%: args -g main
%> [a,b,_,1,1.0,_]
%> [a,c] [b] [a] []
%> true false
%> [a,d]
%> [b,d,a,c] [1,3,2] no
%> [1-[3],3-[]] [1-[2],2-[],3-[]]
%> list_to_set yes
%> ord_subtract yes
%> ord_subset yes
%> top_sort yes
% Sets and graphs: what they are, and that large ones take no square of steps.
main :-
    list_to_set([a, b, X, a, 1, X, 1.0, _], S), \+ \+ ( numbervars(S, 0, _, [singletons(true)]), S = [A0, B0, _, N, F, _], print([A0, B0, '$VAR'('_'), N, F, '$VAR'('_')]) ), nl,
    ord_subtract([a, b, c, d], [b, d, e], D1), ord_subtract([b], [], D2), ord_subtract([a], [b], D3), ord_subtract([], [a], D4),
    format("~w ~w ~w ~w~n", [D1, D2, D3, D4]),
    ( ord_subset([a, c], [a, b, c]) -> write(true) ; write(false) ), ( ord_subset([a, d], [a, b, c]) -> writeln(' true') ; writeln(' false') ),
    ord_symdiff([a, b, c], [b, c, d], D5), writeln(D5),
    top_sort([a-[c], b-[c], c-[], d-[a]], T1), top_sort([1-[2, 3], 2-[], 3-[]], T2),
    ( top_sort([a-[b], b-[a]], _) -> T3 = yes ; T3 = no ), format("~w ~w ~w~n", [T1, T2, T3]),
    del_vertices([1-[2, 3], 2-[3], 3-[]], [2, 4], G1), del_edges([1-[2, 3], 2-[3], 3-[]], [2-3, 1-3, 2-9], G2),
    format("~w ~w~n", [G1, G2]),
    numlist(1, 20000, L), findall(I-[J], ( member(I, L), I < 20000, J is I + 1 ), G), append(G, [20000-[]], Chain),
    cheap(list_to_set, list_to_set(L, _)), cheap(ord_subtract, ord_subtract(L, L, [])),
    cheap(ord_subset, ord_subset(L, L)), cheap(top_sort, top_sort(Chain, L)).
cheap(What, G) :-
    statistics(inferences, I0), call(G), statistics(inferences, I1),
    ( I1 - I0 < 10000000 -> format("~w yes~n", [What]) ; format("~w no~n", [What]) ).
