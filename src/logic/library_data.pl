% SPDX-License-Identifier: MIT
%
% Data structures and names that programs of other systems expect: more on
% lists and ordered sets, association lists, records, text, files, tables.

% ---- lists

flatten(T, L) :- '$flatten'(T, [], L0), !, L = L0.
'$flatten'(V, T, [V|T]) :- var(V), !.
'$flatten'([], T, T) :- !.
'$flatten'([X|Xs], T, L) :- !, '$flatten'(X, L1, L), '$flatten'(Xs, T, L1).
'$flatten'(A, T, [A|T]).
subset([], _).
subset([X|Xs], L) :- memberchk(X, L), subset(Xs, L).
is_set(L) :- is_list(L), length(L, N), sort(L, S), length(S, N).
nextto(X, Y, [X,Y|_]).
nextto(X, Y, [_|L]) :- nextto(X, Y, L).
same_length([], []).
same_length([_|Xs], [_|Ys]) :- same_length(Xs, Ys).
proper_length(L, N) :- is_list(L), length(L, N).
prefix([], _).
prefix([X|Xs], [X|Ys]) :- prefix(Xs, Ys).
subseq([], [], []).
subseq([X|Xs], Ys, [X|Zs]) :- subseq(Xs, Ys, Zs).
subseq([X|Xs], [X|Ys], Zs) :- subseq(Xs, Ys, Zs).
max_member(P, M, [X|Xs]) :- '$most'(Xs, P, X, M).
'$most'([], _, M, M).
'$most'([X|Xs], P, M0, M) :- ( call(P, M0, X) -> '$most'(Xs, P, X, M) ; '$most'(Xs, P, M0, M) ).
convlist(_, [], []).
convlist(G, [X|Xs], Ys) :- ( call(G, X, Y) -> Ys = [Y|Ys1] ; Ys = Ys1 ), convlist(G, Xs, Ys1).
partition(_, [], [], [], []).
partition(P, [X|Xs], L, E, G) :-
    call(P, O, X),
    '$partition'(O, X, L, E, G, L1, E1, G1),
    partition(P, Xs, L1, E1, G1).
'$partition'(<, X, [X|L], E, G, L, E, G).
'$partition'(=, X, L, [X|E], G, L, E, G).
'$partition'(>, X, L, E, [X|G], L, E, G).
maplist(G, L, M, N, O, P) :- '$maplist'(L, M, N, O, P, G).
'$maplist'([], [], [], [], [], _).
'$maplist'([V|Vs], [W|Ws], [X|Xs], [Y|Ys], [Z|Zs], G) :-
    call(G, V, W, X, Y, Z), '$maplist'(Vs, Ws, Xs, Ys, Zs, G).
foldl(G, L, M, N, A0, A) :- '$foldl'(L, M, N, G, A0, A).
'$foldl'([], [], [], _, A, A).
'$foldl'([X|Xs], [Y|Ys], [Z|Zs], G, A0, A) :-
    call(G, X, Y, Z, A0, A1), '$foldl'(Xs, Ys, Zs, G, A1, A).
clumped([], []).
clumped([X|Xs], [X-N|Cs]) :- '$clump'(Xs, X, 1, N, Rest), clumped(Rest, Cs).
'$clump'([Y|Ys], X, N0, N, Rest) :- Y == X, !, N1 is N0 + 1, '$clump'(Ys, X, N1, N, Rest).
'$clump'(Rest, _, N, N, Rest).
transpose([], []).
transpose([R|Rs], T) :- '$columns'(R, [R|Rs], T).
'$columns'([], _, []).
'$columns'([_|Xs], Rows, [C|Cs]) :- '$split_heads'(Rows, C, Rest), '$columns'(Xs, Rest, Cs).
'$split_heads'([], [], []).
'$split_heads'([[X|Xs]|Rs], [X|C], [Xs|Rest]) :- '$split_heads'(Rs, C, Rest).
aggregate_all(count, D, G, N) :- !, findall(D, G, L), sort(L, S), length(S, N).
aggregate_all(sum(E), D, G, Sum) :- !,
    findall(D-E, G, L), sort(L, S), pairs_values(S, Es), '$sum'(Es, 0, Sum).
aggregate_all(max(E), D, G, M) :- !, findall(D-E, G, L), sort(L, S), pairs_values(S, Es), max_list(Es, M).
aggregate_all(min(E), D, G, M) :- !, findall(D-E, G, L), sort(L, S), pairs_values(S, Es), min_list(Es, M).
aggregate_all(bag(E), D, G, Es) :- !, findall(D-E, G, L), sort(L, S), pairs_values(S, Es).

aggregate(Spec, G, R) :- bagof(Spec, G, L), aggregate_all(Spec, '$member'(Spec, L), R).
selectchk(X, L, Y, R) :- select(X, L, Y, R), !.
min_member(P, M, [X|Xs]) :- '$least'(Xs, P, X, M).
'$least'([], _, M, M).
'$least'([X|Xs], P, M0, M) :- ( call(P, X, M0) -> '$least'(Xs, P, X, M) ; '$least'(Xs, P, M0, M) ).
map_list_to_pairs(G, L, Ps) :- '$keys_of'(L, G, Ps).
'$keys_of'([], _, []).
'$keys_of'([X|Xs], G, [K-X|Ps]) :- call(G, X, K), '$keys_of'(Xs, G, Ps).
group_pairs_by_key([], []).
group_pairs_by_key([K-V|Ps], [K-[V|Vs]|Gs]) :- '$same_key'(Ps, K, Vs, Rest), group_pairs_by_key(Rest, Gs).
'$same_key'([K1-V|Ps], K, [V|Vs], Rest) :- K1 == K, !, '$same_key'(Ps, K, Vs, Rest).
'$same_key'(Rest, _, [], Rest).
transpose_pairs(Ps, Ts) :- '$flip'(Ps, Fs), keysort(Fs, Ts).
'$flip'([], []).
'$flip'([K-V|Ps], [V-K|Fs]) :- '$flip'(Ps, Fs).
sublist(P, L, R) :- include(P, L, R).
foldl(G, L, M, N, O, A0, A) :- '$foldl'(L, M, N, O, G, A0, A).
'$foldl'([], [], [], [], _, A, A).
'$foldl'([W|Ws], [X|Xs], [Y|Ys], [Z|Zs], G, A0, A) :-
    call(G, W, X, Y, Z, A0, A1), '$foldl'(Ws, Xs, Ys, Zs, G, A1, A).

% ---- solutions in another order, or fewer of them

call_nth(G, N) :- integer(N), !, '$from_one'(N), '$nth_answer'(G, K), K =:= N, !.
call_nth(G, N) :- '$nth_answer'(G, N).
'$nth_answer'(G, N) :- S = count(0), call(G), arg(1, S, N0), N is N0 + 1, nb_setarg(1, S, N).
'$from_one'(N) :- ( N >= 1 -> true ; throw(error(domain_error(not_less_than_one, N), _)) ).
offset(K, G) :- '$nth_answer'(G, N), N > K.
distinct(G) :- distinct(G, G).
distinct(W, G) :- findall(W-G, G, L), '$first_of_each'(L, t, Ps), '$member'(W-G, Ps).
'$first_of_each'([], _, []).
'$first_of_each'([W-G|L], T, Ps) :-
    ( get_assoc(W, T, _) -> Ps = Ps1, T1 = T ; Ps = [W-G|Ps1], put_assoc(W, T, true, T1) ),
    '$first_of_each'(L, T1, Ps1).
order_by(Specs, G) :- term_variables(G, Vs), findall(Vs, G, L), '$order'(Specs, Vs, L, Sorted), '$member'(Vs, Sorted).
'$order'([], _, L, L).
'$order'([Spec|Specs], Vs, L0, L) :-
    '$order'(Specs, Vs, L0, L1), Spec =.. [How, By],
    findall(By-Vs, '$member'(Vs, L1), Ps),
    ( How == asc -> sort(1, @=<, Ps, Qs) ; sort(1, @>=, Ps, Qs) ), pairs_values(Qs, L).

% ---- ordered sets

is_ordset(L) :- is_list(L), sort(L, S), S == L.
ord_intersection([S|Ss], I) :- foldl(ord_intersection, Ss, S, I).
ord_selectchk(X, S, R) :- '$member_eq'(X, S), ord_subtract(S, [X], R).

% ---- graphs: Vertex-Neighbours in order

vertices_edges_to_ugraph(Vs, Es, G) :-
    findall(V-[], ( '$member'(V, Vs) ; '$member'(A-B, Es), ( V = A ; V = B ) ), L0),
    findall(A-[B], '$member'(A-B, Es), L1), '$append'(L0, L1, L), '$ugraph'(L, G).
'$ugraph'(L, G) :- keysort(L, S), group_pairs_by_key(S, Gs), '$union_values'(Gs, G).
'$union_values'([], []).
'$union_values'([V-Ss|Gs], [V-S|G]) :- ord_union(Ss, S), '$union_values'(Gs, G).
vertices(G, Vs) :- pairs_keys(G, Vs).
edges(G, Es) :- findall(V-N, ( '$member'(V-Ns, G), '$member'(N, Ns) ), Es).
add_vertices(G0, Vs, G) :- vertices_edges_to_ugraph(Vs, [], G1), '$append'(G0, G1, L), '$ugraph'(L, G).
add_edges(G0, Es, G) :- vertices_edges_to_ugraph([], Es, G1), '$append'(G0, G1, L), '$ugraph'(L, G).
del_edges(G0, Es, G) :-
    vertices(G0, Vs), edges(G0, Es0), sort(Es, Out), ord_subtract(Es0, Out, Es1), vertices_edges_to_ugraph(Vs, Es1, G).
del_vertices(G0, Vs, G) :-
    sort(Vs, Out), vertices(G0, Vs0), ord_subtract(Vs0, Out, Left), '$only_vertices'(G0, Left, Out, G).
'$only_vertices'(_, [], _, []) :- !.
'$only_vertices'([W-Ns0|G0], [V|Vs], Out, G) :-
    (   W == V
    ->  G = [V-Ns|G1], ord_subtract(Ns0, Out, Ns), '$only_vertices'(G0, Vs, Out, G1)
    ;   '$only_vertices'(G0, [V|Vs], Out, G)
    ).
neighbours(V, G, Ns) :- '$member'(W-Ns, G), W == V, !.
neighbors(V, G, Ns) :- neighbours(V, G, Ns).
transpose_ugraph(G, T) :- vertices(G, Vs), edges(G, Es), '$flip'(Es, Fs), vertices_edges_to_ugraph(Vs, Fs, T).
reachable(V, G, R) :- '$reachable'([V], G, [V], R).
'$reachable'([], _, R, R).
'$reachable'([V|Vs], G, R0, R) :-
    ( neighbours(V, G, Ns) -> true ; Ns = [] ),
    ord_subtract(Ns, R0, New), ord_union(R0, New, R1), '$append'(New, Vs, Vs1),
    '$reachable'(Vs1, G, R1, R).
transitive_closure(G, C) :-
    findall(V-R, ( '$member'(V-Ns, G), '$reachable'(Ns, G, Ns, R) ), C).
% Those that no edge leads to, and when their edges are gone the others.
top_sort(G, L) :-
    vertices(G, Vs), findall(V-0, '$member'(V, Vs), Zeros), list_to_assoc(G, A), list_to_assoc(Zeros, D0),
    findall(N, ( '$member'(_-Ns, G), '$member'(N, Ns) ), Heads), foldl('$edge_to', Heads, D0, D),
    findall(V, ( '$member'(V, Vs), get_assoc(V, D, 0) ), Free), '$top_sort'(Free, A, D, L), same_length(L, Vs).
'$edge_to'(V, D0, D) :- get_assoc(V, D0, N0), N is N0 + 1, put_assoc(V, D0, N, D).
'$top_sort'([], _, _, []).
'$top_sort'([V|Vs], A, D0, [V|L]) :- get_assoc(V, A, Ns), '$drop_edges'(Ns, D0, D, Vs, Ws), '$top_sort'(Ws, A, D, L).
'$drop_edges'([], D, D, Vs, Vs).
'$drop_edges'([N|Ns], D0, D, Vs0, Vs) :-
    get_assoc(N, D0, C0), C is C0 - 1, put_assoc(N, D0, C, D1), ( C =:= 0 -> Vs1 = [N|Vs0] ; Vs1 = Vs0 ),
    '$drop_edges'(Ns, D1, D, Vs1, Vs).

% ---- options

option(O, Os) :- functor(O, N, 1), functor(G, N, 1), ( '$member'(G, Os) -> O = G ; arg(1, O, V), '$member'(N = W, Os) -> V = W ).
option(O, Os, Default) :- functor(O, N, 1), functor(G, N, 1), ( option(G, Os) -> O = G ; arg(1, O, Default) ).
select_option(O, Os, Rest) :- functor(O, N, 1), functor(G, N, 1), selectchk(G, Os, Rest), O = G.
select_option(O, Os, Rest, Default) :- ( select_option(O, Os, Rest) -> true ; arg(1, O, Default), Rest = Os ).
merge_options(New, Old, Os) :-
    findall(O, ( '$member'(O, Old), functor(O, N, 1), functor(G, N, 1), \+ '$member'(G, New) ), Kept),
    '$append'(New, Kept, L), sort(L, Os).

ord_empty([]).
ord_insert(S, X, S1) :- ord_union(S, [X], S1).
ord_add_element(S, X, S1) :- ord_union(S, [X], S1).
ord_del_element(S, X, S1) :- ord_subtract(S, [X], S1).
ord_member(X, S) :- member(X, S).
ord_union(Ls, S) :- '$concatenate'(Ls, L), sort(L, S).
ord_intersection([], _, []) :- !.
ord_intersection(_, [], []) :- !.
ord_intersection([X|Xs], [Y|Ys], S) :- compare(O, X, Y), '$ord_both'(O, X, Xs, Y, Ys, S).
'$ord_both'(<, _, Xs, Y, Ys, S) :- ord_intersection(Xs, [Y|Ys], S).
'$ord_both'(=, X, Xs, _, Ys, [X|S]) :- ord_intersection(Xs, Ys, S).
'$ord_both'(>, X, Xs, _, Ys, S) :- ord_intersection([X|Xs], Ys, S).
ord_setproduct([], _, []).
ord_setproduct([X|Xs], Ys, P) :- '$pair_all'(Ys, X, P, P1), ord_setproduct(Xs, Ys, P1).
'$pair_all'([], _, P, P).
'$pair_all'([Y|Ys], X, [X-Y|P], P1) :- '$pair_all'(Ys, X, P, P1).
ord_subset(A, B) :- ord_subtract(A, B, []).
ord_disjoint(A, B) :- ord_intersection(A, B, []).
ord_seteq(A, B) :- A == B.
ord_symdiff(A, B, S) :- ord_subtract(A, B, X), ord_subtract(B, A, Y), ord_union(X, Y, S).

% ---- association lists: t, or t(Key, Value, Height, Left, Right), balanced

empty_assoc(t).
is_assoc(T) :- nonvar(T), ( T == t ; T = t(_, _, _, _, _) ), !.
get_assoc(K, t(K1, V1, _, L, R), V) :- compare(O, K, K1), '$assoc_get'(O, K, V, V1, L, R).
'$assoc_get'(=, _, V, V, _, _).
'$assoc_get'(<, K, V, _, L, _) :- get_assoc(K, L, V).
'$assoc_get'(>, K, V, _, _, R) :- get_assoc(K, R, V).
put_assoc(K, t, V, t(K, V, 1, t, t)).
put_assoc(K, t(K1, V1, H, L, R), V, T) :- compare(O, K, K1), '$assoc_put'(O, K, V, K1, V1, H, L, R, T).
'$assoc_put'(=, K, V, _, _, H, L, R, t(K, V, H, L, R)).
'$assoc_put'(<, K, V, K1, V1, _, L, R, T) :- put_assoc(K, L, V, L1), '$balance'(K1, V1, L1, R, T).
'$assoc_put'(>, K, V, K1, V1, _, L, R, T) :- put_assoc(K, R, V, R1), '$balance'(K1, V1, L, R1, T).
'$height'(t, 0).
'$height'(t(_, _, H, _, _), H).
'$node'(K, V, L, R, t(K, V, H, L, R)) :- '$height'(L, A), '$height'(R, B), H is max(A, B) + 1.
'$balance'(K, V, L, R, T) :-
    '$height'(L, A), '$height'(R, B), D is A - B,
    (   D > 1 -> '$lean_left'(L, K, V, R, T)
    ;   D < -1 -> '$lean_right'(R, K, V, L, T)
    ;   H is max(A, B) + 1, T = t(K, V, H, L, R)
    ).
'$lean_left'(t(K1, V1, _, A, B), K, V, R, T) :-
    '$height'(A, HA), '$height'(B, HB),
    (   HA >= HB
    ->  '$node'(K, V, B, R, N), '$node'(K1, V1, A, N, T)
    ;   B = t(K2, V2, _, C, D),
        '$node'(K1, V1, A, C, N), '$node'(K, V, D, R, M), '$node'(K2, V2, N, M, T)
    ).
'$lean_right'(t(K1, V1, _, A, B), K, V, L, T) :-
    '$height'(A, HA), '$height'(B, HB),
    (   HB >= HA
    ->  '$node'(K, V, L, A, N), '$node'(K1, V1, N, B, T)
    ;   A = t(K2, V2, _, C, D),
        '$node'(K, V, L, C, N), '$node'(K1, V1, D, B, M), '$node'(K2, V2, N, M, T)
    ).
del_assoc(K, t(K1, V1, _, L, R), V, T) :- compare(O, K, K1), '$assoc_del'(O, K, V, K1, V1, L, R, T).
'$assoc_del'(<, K, V, K1, V1, L, R, T) :- del_assoc(K, L, V, L1), '$balance'(K1, V1, L1, R, T).
'$assoc_del'(>, K, V, K1, V1, L, R, T) :- del_assoc(K, R, V, R1), '$balance'(K1, V1, L, R1, T).
'$assoc_del'(=, _, V, _, V, L, R, T) :-
    (   R == t -> T = L
    ;   '$assoc_take_min'(R, K2, V2, R1), '$balance'(K2, V2, L, R1, T)
    ).
'$assoc_take_min'(t(K, V, _, t, R), K, V, R) :- !.
'$assoc_take_min'(t(K1, V1, _, L, R), K, V, T) :- '$assoc_take_min'(L, K, V, L1), '$balance'(K1, V1, L1, R, T).
list_to_assoc(L, A) :- '$assoc_add'(L, t, A).
ord_list_to_assoc(L, A) :- '$assoc_add'(L, t, A).
'$assoc_add'([], A, A).
'$assoc_add'([K-V|L], A0, A) :- put_assoc(K, A0, V, A1), '$assoc_add'(L, A1, A).
assoc_to_list(A, L) :- '$assoc_list'(A, L, []).
'$assoc_list'(t, L, L).
'$assoc_list'(t(K, V, _, A, B), L, L0) :- '$assoc_list'(A, L, [K-V|L1]), '$assoc_list'(B, L1, L0).
assoc_to_keys(A, Ks) :- assoc_to_list(A, L), pairs_keys(L, Ks).
assoc_to_values(A, Vs) :- assoc_to_list(A, L), pairs_values(L, Vs).
gen_assoc(K, t(_, _, _, L, _), V) :- gen_assoc(K, L, V).
gen_assoc(K, t(K, V, _, _, _), V).
gen_assoc(K, t(_, _, _, _, R), V) :- gen_assoc(K, R, V).
min_assoc(t(K, V, _, t, _), K, V) :- !.
min_assoc(t(_, _, _, L, _), K, V) :- min_assoc(L, K, V).
max_assoc(t(K, V, _, _, t), K, V) :- !.
max_assoc(t(_, _, _, _, R), K, V) :- max_assoc(R, K, V).
map_assoc(_, t).
map_assoc(G, t(_, V, _, L, R)) :- map_assoc(G, L), call(G, V), map_assoc(G, R).
map_assoc(_, t, t).
map_assoc(G, t(K, V, H, L, R), t(K, W, H, L1, R1)) :- map_assoc(G, L, L1), call(G, V, W), map_assoc(G, R, R1).

% ---- errors

instantiation_error(_) :- throw(error(instantiation_error, _)).
type_error(T, X) :- throw(error(type_error(T, X), _)).
domain_error(D, X) :- throw(error(domain_error(D, X), _)).
existence_error(K, X) :- throw(error(existence_error(K, X), _)).
permission_error(A, T, X) :- throw(error(permission_error(A, T, X), _)).
representation_error(W) :- throw(error(representation_error(W), _)).
resource_error(R) :- throw(error(resource_error(R), _)).
is_of_type(T, X) :- '$type_test'(T, X, G), call(G), !.
abort :- throw('$aborted').

% ---- terms

duplicate_term(T, C) :- copy_term(T, C).
copy_term_nat(T, C) :- copy_term(T, C).
same_term(A, B) :- A == B.
sub_term(T, T).
sub_term(X, T) :- compound(T), arg(_, T, A), sub_term(X, A).
mapargs(G, S, T) :- S =.. [F|As], '$maplist'(As, Bs, G), T =.. [F|Bs].
subsumes(G, S) :- subsumes_term(G, S), G = S.
strip_module(T, M, P) :- ( nonvar(T), T = _ : T1 -> strip_module(T1, M, P) ; M = user, P = T ).
'C'([X|Xs], X, Xs).
divmod(A, B, Q, R) :- Q is div(A, B), R is mod(A, B).
comma_list(C, L) :- nonvar(C), !, '$comma_list'(C, L, []).
comma_list(C, [G|Gs]) :- ( Gs == [] -> C = G ; C = (G, C1), comma_list(C1, Gs) ).
'$comma_list'(C, L, T) :- ( nonvar(C), C = (A, B) -> '$comma_list'(A, L, L1), '$comma_list'(B, L1, T) ; L = [C|T] ).

compound_name_arity(T, N, A) :- compound(T), !, functor(T, N, A).
compound_name_arity(T, N, A) :- A > 0, functor(T, N, A).
compound_name_arguments(T, N, As) :- compound(T), !, T =.. [N|As].
compound_name_arguments(T, N, As) :- As = [_|_], T =.. [N|As].
numbervars(T) :- numbervars(T, 0, _).
numbervars(T, S, E, Os) :-
    ( '$member'(singletons(true), Os) -> '$occurrences'(T, L, []), msort(L, L1), '$mark_singletons'(L1) ; true ),
    numbervars(T, S, E).
'$occurrences'(T, [T|L], L) :- var(T), !.
'$occurrences'(T, L0, L) :- T =.. [_|As], foldl('$occurrences', As, L0, L).
'$mark_singletons'([]).
'$mark_singletons'([V|Vs]) :- '$mark_singletons'(Vs, V).
'$mark_singletons'([W|Vs], V) :- W == V, !, '$skip_same'(Vs, V, Rest), '$mark_singletons'(Rest).
'$mark_singletons'(Vs, '$VAR'('_')) :- '$mark_singletons'(Vs).
'$skip_same'([W|Vs], V, Rest) :- W == V, !, '$skip_same'(Vs, V, Rest).
'$skip_same'(Vs, _, Vs).
nonground(T, V) :- term_variables(T, [V|_]).
term_variables(T, Vs, Tail) :- term_variables(T, L), '$append'(L, Tail, Vs).
variant(A, B) :- A =@= B.
subsumes_chk(G, S) :- subsumes_term(G, S).
?=(A, B) :- ( A == B -> true ; A \= B ).
cyclic_term(T) :- \+ acyclic_term(T).
ground_or_var(X) :- ( var(X) -> true ; ground(X) ).

% ---- records and counters: facts of the engine's own

:- dynamic('$record'/3).
:- dynamic('$flag'/2).
recorda(K, T) :- recorda(K, T, _).
recorda(K, T, R) :- flag('$records', N, N + 1), R = '$record'(N), asserta('$record'(K, T, R)).
recordz(K, T) :- recordz(K, T, _).
recordz(K, T, R) :- flag('$records', N, N + 1), R = '$record'(N), assertz('$record'(K, T, R)).
recorded(K, T) :- '$record'(K, T, _).
recorded(K, T, R) :- '$record'(K, T, R).
erase(R) :- retract('$record'(_, _, R)), !.
instance(R, T) :- '$record'(_, T, R), !.
flag(K, Old, New) :-
    with_mutex('$flag', (
        ( '$flag'(K, V) -> true ; V = 0 ), Old = V,
        W is New, retractall('$flag'(K, _)), assertz('$flag'(K, W)) )).
gensym(Base, A) :- atom_concat('$gensym_', Base, K), flag(K, N, N + 1), I is N + 1, atom_concat(Base, I, A).
reset_gensym(Base) :- atom_concat('$gensym_', Base, K), flag(K, _, 0).
reset_gensym :- ( '$flag'(K, _), atom_concat('$gensym_', _, K), flag(K, _, 0), fail ; true ).

% ---- heaps: heap(Tree, Size), a pairing heap of t(Priority, Key, Subtrees)

empty_heap(heap(nil, 0)).
singleton_heap(heap(t(P, K, []), 1), P, K).
add_to_heap(heap(T, N), P, K, heap(T1, N1)) :- '$meld'(T, t(P, K, []), T1), N1 is N + 1.
get_from_heap(heap(t(P, K, Ts), N), P, K, heap(T, N1)) :- N1 is N - 1, '$meld_pairs'(Ts, T).
min_of_heap(heap(t(P, K, _), _), P, K).
peek_at_heap(H, P, K) :- min_of_heap(H, P, K).
heap_size(heap(_, N), N).
list_to_heap(L, H) :- empty_heap(H0), '$add_all'(L, H0, H).
'$add_all'([], H, H).
'$add_all'([P-K|L], H0, H) :- add_to_heap(H0, P, K, H1), '$add_all'(L, H1, H).
heap_to_list(H, L) :- ( get_from_heap(H, P, K, H1) -> L = [P-K|L1], heap_to_list(H1, L1) ; L = [] ).
merge_heaps(heap(T, N), heap(U, M), heap(V, K)) :- '$meld'(T, U, V), K is N + M.
is_heap(H) :- nonvar(H), H = heap(_, N), integer(N).
'$meld'(nil, T, T) :- !.
'$meld'(T, nil, T) :- !.
'$meld'(t(P, K, Ts), t(Q, L, Us), T) :-
    ( P @=< Q -> T = t(P, K, [t(Q, L, Us)|Ts]) ; T = t(Q, L, [t(P, K, Ts)|Us]) ).
'$meld_pairs'(Ts, T) :- '$meld_pairs'(Ts, [], T).
'$meld_pairs'([T, U|Ts], Ms, R) :- !, '$meld'(T, U, M), '$meld_pairs'(Ts, [M|Ms], R).
'$meld_pairs'([T], Ms, R) :- !, '$meld_all'(Ms, T, R).
'$meld_pairs'([], Ms, R) :- '$meld_all'(Ms, nil, R).
'$meld_all'([], T, T).
'$meld_all'([M|Ms], T, R) :- '$meld'(M, T, U), '$meld_all'(Ms, U, R).

% ---- red-black trees: by name; they are association lists

rb_new(t).
rb_empty(t).
rb_lookup(K, V, T) :- get_assoc(K, T, V).
rb_insert(T0, K, V, T) :- put_assoc(K, T0, V, T).
rb_insert_new(T0, K, V, T) :- \+ get_assoc(K, T0, _), put_assoc(K, T0, V, T).
rb_update(T0, K, V, T) :- get_assoc(K, T0, _), put_assoc(K, T0, V, T).
rb_update(T0, K, V0, V, T) :- get_assoc(K, T0, V0), put_assoc(K, T0, V, T).
rb_apply(T0, K, G, T) :- get_assoc(K, T0, V0), call(G, V0, V), !, put_assoc(K, T0, V, T).
rb_delete(T0, K, T) :- del_assoc(K, T0, _, T).
rb_delete(T0, K, V, T) :- del_assoc(K, T0, V, T).
rb_visit(T, Ps) :- assoc_to_list(T, Ps).
rb_keys(T, Ks) :- assoc_to_keys(T, Ks).
rb_in(K, V, T) :- ( nonvar(K) -> get_assoc(K, T, V) ; gen_assoc(K, T, V) ).
rb_min(T, K, V) :- min_assoc(T, K, V).
rb_max(T, K, V) :- max_assoc(T, K, V).
rb_map(T0, G, T) :- map_assoc(G, T0, T).
rb_size(T, N) :- assoc_to_keys(T, Ks), length(Ks, N).
list_to_rbtree(Ps, T) :- '$rb_add'(Ps, t, T).
'$rb_add'([], T, T).
'$rb_add'([K-V|Ps], T0, T) :- put_assoc(K, T0, V, T1), '$rb_add'(Ps, T1, T).
ord_list_to_rbtree(Ps, T) :- list_to_rbtree(Ps, T).

% ---- text

string(_) :- fail.
text_to_string(T, A) :- '$text_atom'(T, A).
text_concat(A, B, C) :- string_concat(A, B, C).
sub_string(S, B, L, A, Sub) :- '$text'(S, T), '$text'(Sub, U), sub_atom(T, B, L, A, U).
string_code(I, S, C) :- I > 0, J is I - 1, sub_string(S, J, 1, _, A), char_code(A, C).
string_lower(S, L) :- '$text'(S, A), downcase_atom(A, L).
string_upper(S, U) :- '$text'(S, A), upcase_atom(A, U).
term_string(T, S) :- term_to_atom(T, S).
term_string(T, S, _) :- term_to_atom(T, S).
sformat(S, F, As) :- format(atom(S), F, As).
concat_atom(L, A) :- atomic_list_concat(L, A).
concat_atom(L, Sep, A) :- atomic_list_concat(L, Sep, A).
name(X, Codes) :- nonvar(X), !, atom_codes(X, Codes).
name(X, Codes) :- atom_codes(A, Codes), ( atom_number(A, N) -> X = N ; X = A ).
'$text_atom'(T, A) :- ( is_list(T), T \== [] -> catch(atom_codes(A, T), _, atom_chars(A, T)) ; T == [] -> A = '' ; atomic(T) -> atomic_list_concat([T], A) ).
% What pads the whole is left out first; where separators pad, those that
% follow each other are one.
split_string(Text, Seps, Pad, Parts) :-
    '$text_codes'(Text, Cs0), '$text_codes'(Seps, Ss), '$text_codes'(Pad, Ps),
    '$strip_both'(Cs0, Ps, Cs), '$split_codes'(Cs, Ss, Fields0),
    ( Cs \== [], sort(Ss, Set), sort(Ps, Set) -> exclude(==([]), Fields0, Fields) ; Fields = Fields0 ),
    '$strip_fields'(Fields, Ps, Parts).
'$text_codes'(T, Cs) :- '$text_atom'(T, A), atom_codes(A, Cs).
'$split_codes'(Cs, Ss, [F|Fs]) :- '$field'(Cs, Ss, F, Rest), '$split_rest'(Rest, Ss, Fs).
'$split_rest'(none, _, []).
'$split_rest'(some(Cs), Ss, Fs) :- '$split_codes'(Cs, Ss, Fs).
'$field'([], _, [], none).
'$field'([C|Cs], Ss, F, Rest) :-
    ( '$member_eq'(C, Ss) -> F = [], Rest = some(Cs) ; F = [C|F1], '$field'(Cs, Ss, F1, Rest) ).
'$strip_fields'([], _, []).
'$strip_fields'([F|Fs], Ps, [A|As]) :-
    '$strip_both'(F, Ps, F1), atom_codes(A, F1), '$strip_fields'(Fs, Ps, As).
'$strip_both'(Cs, Ps, R) :- '$strip'(Cs, Ps, Cs1), reverse(Cs1, Cs2), '$strip'(Cs2, Ps, Cs3), reverse(Cs3, R).
'$strip'([C|Cs], Ps, R) :- '$member_eq'(C, Ps), !, '$strip'(Cs, Ps, R).
'$strip'(Cs, _, Cs).

% ---- files and streams

see(F) :- '$edinburgh'(F, user_input, read, S), set_input(S).
seen :- current_input(S), close(S), set_input(user_input).
seeing(S) :- current_input(S0), '$edinburgh_name'(S0, user_input, S).
tell(F) :- '$edinburgh'(F, user_output, write, S), set_output(S).
append(F) :- '$edinburgh'(F, user_output, append, S), set_output(S).
told :- current_output(S), close(S), set_output(user_output).
telling(S) :- current_output(S0), '$edinburgh_name'(S0, user_output, S).
'$edinburgh'(F, User, Mode, S) :-
    ( F == user -> S = User ; is_stream(F) -> S = F ; open(F, Mode, S) ).
'$edinburgh_name'(S0, User, S) :- ( stream_property(S0, alias(User)) -> S = user ; S = S0 ).
put(C) :- put_char(C).
get0(C) :- get_code(C).
get(C) :- get_code(C0), ( C0 =\= -1, C0 =< 32 -> get(C) ; C = C0 ).
skip(C) :- ( atom(C) -> char_code(C, C1) ; C1 is C ), '$skip'(C1).
'$skip'(C) :- get_code(C0), ( ( C0 =:= C ; C0 =:= -1 ) -> true ; '$skip'(C) ).
ttyflush :- flush_output.
prompt(_, _).
is_stream(S) :- nonvar(S), catch('$stream_properties'(S, _), _, fail).
stream_property(S, _) :-
    nonvar(S), \+ S = '$stream'(_), throw(error(domain_error(stream, S), _)).
stream_property(_, P) :-
    nonvar(P),
    \+ '$member'(P, [input, output, type(_), mode(_), alias(_), file_name(_), position(_),
                     end_of_stream(_), eof_action(_), reposition(_)]),
    throw(error(domain_error(stream_property, P), _)).
stream_property(S, P) :-
    nonvar(P), P = alias(A), atom(A), !,
    '$streams'(L), '$member'(S, L), '$stream_properties'(S, Ps), '$member'(alias(B), Ps), A == B, !.
stream_property(S, P) :-
    ( nonvar(S) -> true ; '$streams'(L), '$member'(S, L) ),
    '$stream_properties'(S, Ps), '$member'(P, Ps).
current_stream(O, M, S) :-
    stream_property(S, mode(M)), ( stream_property(S, file_name(F)) -> O = F ; O = [] ).
character_count(S, N) :- '$stream_count'(S, 0, N).
line_count(S, N) :- '$stream_count'(S, 1, N).
line_position(S, N) :- '$stream_count'(S, 2, N).
byte_count(S, N) :- '$stream_count'(S, 3, N).
stream_position_data(F, '$stream_position'(C, L, P, B), V) :-
    '$member'(F-V, [char_count-C, line_count-L, line_position-P, byte_count-B]).
portray_clause(S, T) :- '$output_to'(S), ( portray_clause(T) -> '$output_back' ).
read_stream_to_codes(S, Cs) :-
    get_code(S, C), ( C == -1 -> Cs = [] ; Cs = [C|Cs1], read_stream_to_codes(S, Cs1) ).
read_line_to_string(S, L) :-
    read_line_to_codes(S, Cs), ( Cs == end_of_file -> L = end_of_file ; Cs == -1 -> L = end_of_file ; atom_codes(L, Cs) ).
'$with_file'(F, S, G) :- open(F, read, S), call_cleanup(G, close(S)).
phrase_from_file(G, F) :- read_file_to_codes(F, Cs, []), phrase(G, Cs).
read_file_to_codes(F, Cs, _) :- '$with_file'(F, S, read_stream_to_codes(S, Cs)).
read_file_to_string(F, A, O) :- read_file_to_codes(F, Cs, O), atom_codes(A, Cs).
read_file_to_terms(F, Ts, _) :- '$with_file'(F, S, '$read_terms'(S, Ts)).
'$read_terms'(S, Ts) :- read(S, T), ( T == end_of_file -> Ts = [] ; Ts = [T|Ts1], '$read_terms'(S, Ts1) ).
file_base_name(P, B) :- '$path_parts'(P, _, B).
file_directory_name(P, D) :- '$path_parts'(P, D, _).
% Read from the end, where slashes may follow the last name.
'$path_parts'(P, D, B) :-
    atom_codes(P, Cs), reverse(Cs, Rs), '$skip_slashes'(Rs, Ns), '$until_slash'(Ns, Bs, Ds0), '$skip_slashes'(Ds0, Ds),
    '$path_name'(Bs, Cs, B), '$path_folder'(Ds, Ds0, Bs, Cs, D).
'$skip_slashes'([0'/|Cs], Ds) :- !, '$skip_slashes'(Cs, Ds).
'$skip_slashes'(Cs, Cs).
'$until_slash'([C|Cs], [C|Bs], Rest) :- C \== 0'/, !, '$until_slash'(Cs, Bs, Rest).
'$until_slash'(Rest, [], Rest).
'$path_name'([], [_|_], /) :- !.
'$path_name'(Bs, _, B) :- reverse(Bs, Cs), atom_codes(B, Cs).
'$path_folder'([], [], Bs, Cs, D) :- !, ( Bs == [], Cs = [_|_] -> D = / ; D = '.' ).
'$path_folder'([], _, _, _, /) :- !.
'$path_folder'(Ds, _, _, _, D) :- reverse(Ds, Cs), atom_codes(D, Cs).
file_name_extension(B, E, F) :- nonvar(F), !,
    ( '$extension'(F, B0, E0) -> true ; B0 = F, E0 = '' ), ( var(E) -> E1 = E ; '$without_dot'(E, E1) ), E1 = E0, B = B0.
file_name_extension(B, E, F) :-
    '$without_dot'(E, E1), ( ( E1 == '' ; '$extension'(B, _, E1) ) -> F = B ; atomic_list_concat([B, E1], '.', F) ).
'$without_dot'(E, E1) :- ( atom_concat('.', E0, E) -> E1 = E0 ; E1 = E ).
% Behind the last dot of the last name.
'$extension'(F, B, E) :-
    atomic_list_concat(L, '.', F), '$append'(Bs, [E], L), Bs = [_|_], \+ sub_atom(E, _, _, _, /), !,
    atomic_list_concat(Bs, '.', B).

directory_files(D, Fs) :- '$directory_files'(D, L), sort(L, Fs).
absolute_file_name(F, P) :- absolute_file_name(F, P, []).
% The first of the names that the extensions make for which there is what the options ask for.
absolute_file_name(F, P, Os) :-
    '$must_be'(nonvar, F), '$must_be'(list, Os),
    (   '$file_of'(F, Os, P0) -> P = P0
    ;   option(file_errors(fail), Os) -> fail
    ;   throw(error(existence_error(source_sink, F), _))
    ).
'$file_of'(F, Os, P) :-
    \+ compound(F), '$must_be'(atom, F),
    option(file_type(T), Os, txt), option(access(A), Os, none), '$file_extensions'(T, Es0), option(extensions(Es), Os, Es0),
    working_directory(D, D), option(relative_to(R), Os, D), '$absolute_path'(R, D, R1),
    '$member'(E, Es), file_name_extension(F, E, G), '$absolute_path'(G, R1, P), '$file_is_fit'(T, A, P), !.
'$file_extensions'(T, Es) :- ( '$member'(T, [prolog, source]) -> Es = [pl, prolog, ''] ; Es = [''] ).
'$file_is_fit'(directory, A, P) :- !, exists_directory(P), access_file(P, A).
'$file_is_fit'(_, none, _) :- !.
'$file_is_fit'(_, A, P) :- \+ exists_directory(P), access_file(P, A).
'$absolute_path'(F, D, P) :-
    ( atom_concat(/, _, F) -> F1 = F ; atomic_list_concat([D, F], /, F1) ),
    atomic_list_concat(Ns, /, F1), '$plain_path'(Ns, [], Rs), reverse(Rs, Ps),
    ( Ps == [] -> P = / ; atomic_list_concat([''|Ps], /, P) ).
'$plain_path'([], Rs, Rs).
'$plain_path'([''], Rs, [''|Rs]) :- !.
'$plain_path'([N|Ns], Rs0, Rs) :- '$path_step'(N, Rs0, Rs1), '$plain_path'(Ns, Rs1, Rs).
'$path_step'('', Rs, Rs) :- !.
'$path_step'('.', Rs, Rs) :- !.
'$path_step'(.., Rs0, Rs) :- !, ( Rs0 = [_|Rs] -> true ; Rs = [] ).
'$path_step'(N, Rs, [N|Rs]).

% ---- loading

expand_term(T, X) :- '$expand_term'(T, X0), !, X = X0.
'$expand_term'(T, X) :- '$user_expansion'(T, X).
'$expand_term'((H --> B), X) :- dcg_translate_rule((H --> B), X).
'$expand_term'(T, T).
'$user_expansion'(T, X) :-
    current_predicate(term_expansion/2), G = term_expansion(T, X), call(G), !.
expand_goal(G, G).
load_files(F, _) :- consult(F).
make.
:- dynamic('$loaded'/1).
'$load_once'(F) :-
    '$source_path'(F, P),
    ( '$loaded'(P) -> true ; assertz('$loaded'(P)), consult(P) ).
ensure_loaded(F) :-
    ( nonvar(F), F = library(_) -> true ; '$source_path'(F, _) -> '$load_once'(F) ; throw(error(existence_error(source_sink, F), _)) ).
use_module(M) :- ( atom(M), '$source_path'(M, _) -> '$load_once'(M) ; true ).
use_module(M, _) :- use_module(M).
import(Ps) :- ( nonvar(Ps), Ps = (_ from M) -> use_module(M) ; true ).
prolog_load_context(K, V) :- '$load_context'(D, F, L), '$member'(K-V, [directory-D, source-F, file-F, line-L, module-user, dialect-leaflog]).
initialization(G) :- call(G).
initialization(G, main) :- !, '$main'(G).
initialization(G, _) :- call(G).
'$main'(G) :-
    catch(( call(G) -> S = 0 ; S = 1 ), E, ( '$print_error'(E), S = 2 )),
    halt(S).
prolog_flag(F, V) :- current_prolog_flag(F, V).
current_predicate(N, H) :- var(H), !, current_predicate(N/A), functor(H, N, A).
current_predicate(N, M : H) :- nonvar(M), !, current_predicate(N, H).
current_predicate(N, H) :- functor(H, N, A), ( current_predicate(N/A) -> true ; fail ).
garbage_collect_atoms.
license(_).
meta_predicate(_).
module_transparent(_).
public(_).
mode(_).
volatile(_).
noprotocol.
char_conversion(A, B) :-
    ( ( var(A) ; var(B) ) -> throw(error(instantiation_error, _)) ; true ).
current_char_conversion(C, C).
compiler_options(_).
index(_).
index(_, _).
index(_, _, _).
use_variant_tabling(_).
use_subsumptive_tabling(_).
local(_).
suppl_table.
suppl_table(_).
tabling_mode(_, _).
yap_flag(tabling_mode, _).
garbage_collection(_).
expects_dialect(_).
module(_, _, _).
use_package(_).
reexport(F) :- use_module(F).
reexport(F, L) :- use_module(F, L).
display(T) :- write_term(T, [ignore_ops(true)]).
display(S, T) :- write_term(S, T, [ignore_ops(true)]).
noprofile(_).
det(_).
ensure_dync_loaded(F) :- consult(F).
load_dyn(F) :- consult(F).
load_dync(F) :- consult(F).

% ---- debug messages, by topic

:- dynamic('$debugged'/1).
debug.
nodebug.
debug(T) :- nodebug(T), assertz('$debugged'(T)).
nodebug(T) :- retractall('$debugged'(T)).
debugging(T) :- '$debugged'(T), !.
debugging(T, B) :- ( '$debugged'(T) -> B = true ; B = false ).
debug(T, F, As) :-
    (   \+ '$debugged'(T)
    ->  true
    ;   format(user_error, '% ', []), format(user_error, F, As), nl(user_error)
    ).

% ---- threads

thread_statistics(_, cputime, T) :- statistics(thread_cputime, T).
is_thread(Id) :- thread_property(Id, _), !.

% ---- tables, by the names of other systems

dynamic(Ps, Os) :-
    ( '$member'(O, Os), ( O = incremental(true) ; O = monotonic(true) ) -> dynamic(Ps as incremental) ; dynamic(Ps) ).
incr_assert(C) :- assertz(C).
incr_assertz(C) :- assertz(C).
incr_asserta(C) :- asserta(C).
incr_retract(C) :- retract(C).
incr_retractall(H) :- retractall(H).
incr_table_update.
incr_table_update(_).
incr_invalidate_calls(G) :- '$abolish_call'(G).
incr_propagate_calls(_).
incr_is_invalid(G) :- \+ '$has_table'(G).
'$has_table'(G) :- tabled_call(V, _), V =@= G, !.
gc_tables(0).
abolish_table_info.
fail_if(G) :- \+ call(G).
cputime(T) :- statistics(cputime, T).
walltime(T) :- get_time(T).

xsb_error_get_tag(error(T, _), T).
xsb_error_get_message(error(_, C), M) :- ( nonvar(C), C = context(_, M0) -> M = M0 ; M = '' ).
sk_not(G) :- tnot(G).
not_exists(G) :- tnot(G).
undefined :- throw(error(stratification_error(undefined, 'a negation'), _)).
call_delays(G, true) :- call(G).
delays_residual_program(true, []).
call_residual_program(G, []) :- call(G).
answer_residual(G, true) :- call(G).
close_open_tables(_).
context_module(user).
tfindall(T, G, L) :- findall(T, G, L).
current_table(G, '$table'(V)) :- tabled_call(V, _), G = V.
abolish_table_pred(T) :- ( T = _ / _ -> abolish_table(T) ; functor(T, N, A), abolish_table(N/A) ).
untable(Ps) :- var(Ps), throw(error(instantiation_error, _)).
untable((P, Q)) :- !, untable(P), untable(Q).
untable(Ps) :- is_list(Ps), !, maplist(untable, Ps).
untable(P) :- '$untable'(P).
abolish_table_call(G) :- '$abolish_call'(G).
abolish_table_call(G, _) :- '$abolish_call'(G).
abolish_table_subgoals(G) :- '$abolish_call'(G).
abolish_private_tables :- abolish_all_tables.
abolish_shared_tables :- abolish_all_tables.
abolish_module_tables(_) :- abolish_all_tables.
abolish_nonincremental_tables :- abolish_all_tables.
abolish_nonincremental_tables(_) :- abolish_all_tables.
get_calls(G, '$call'(V, R0), R) :-
    tabled_call(V, _), term_variables(V, Vs), R0 =.. [ret|Vs],
    copy_term(V-R0, G-R).
get_returns('$call'(V0, R0), R) :- copy_term(V0-R0, V-R), call(V).
get_returns(C, R, R) :- get_returns(C, R).
get_returns_and_tvs(C, R, t) :- get_returns(C, R).
get_returns_for_call(G, T) :- tabled_call(V, _), V =@= G, !, call(G), T = G.
get_call(G, C, R) :- get_calls(V, C, R), V =@= G, !, V = G.
get_residual(G, []) :- tabled_call(V, _), G = V, call(V).

% classes of characters
char_type(C, T) :- integer(C), !, char_code(H, C), '$char_type'(T, H).
char_type(C, T) :- nonvar(C), !, '$char_type'(T, C).
char_type(C, T) :- between(1, 255, N), char_code(C, N), '$char_type'(T, C).
code_type(C, T) :- integer(C), !, char_code(H, C), '$code_type'(T, H).
code_type(C, T) :- nonvar(C), !, '$code_type'(T, C).
code_type(C, T) :- between(1, 255, C), char_code(H, C), '$code_type'(T, H).
'$code_type'(T, H) :- nonvar(T), T =.. [F, X], '$case_type'(F), !, G =.. [F, Y], '$char_type'(G, H), char_code(Y, X).
'$code_type'(T, H) :- '$char_type'(T, H).
'$case_type'(upper).
'$case_type'(lower).
'$case_type'(to_lower).
'$case_type'(to_upper).
'$char_type'(T, C) :-
    var(T), !,
    member(T, [alnum, alpha, ascii, cntrl, csym, csymf, digit, end_of_line, graph, lower, newline,
               paren, period, print, punct, quote, space, upper, white]),
    '$char_class'(C, T).
'$char_type'(digit(W), C) :- !, '$char_class'(C, digit), char_code(C, N), W is N - 0'0.
'$char_type'(xdigit(W), C) :- !,
    downcase_atom(C, D), nth0(W, ['0','1','2','3','4','5','6','7','8','9',a,b,c,d,e,f], D), !.
'$char_type'(upper(L), C) :- !, '$char_class'(C, upper), downcase_atom(C, L).
'$char_type'(lower(U), C) :- !, '$char_class'(C, lower), upcase_atom(C, U).
'$char_type'(to_lower(L), C) :- !, downcase_atom(C, L).
'$char_type'(to_upper(U), C) :- !, upcase_atom(C, U).
'$char_type'(T, C) :- '$char_class'(C, T).
