% SPDX-License-Identifier: MIT
%: args -g main
%> [a-0,b-7,c-9,d-20,e-20,f-11]
%> [1-a,2-b,3-c]
%> 1-a 3 0-z
%> [x,y]-5 [foo,bar,end_of_file]
%> sorted
% Heaps, trees by their names in SWI-Prolog, and text as a stream.
:- use_module(library(heaps)).
:- use_module(library(rbtrees)).
shortest(S, D) :- list_to_heap([0-S], H), rb_new(T), step(H, T, T1), rb_visit(T1, D).
step(H, T, T) :- heap_size(H, 0), !.
step(H, T0, T) :-
    get_from_heap(H, C, X, H1),
    (   rb_lookup(X, _, T0) -> step(H1, T0, T)
    ;   rb_insert_new(T0, X, C, T1),
        findall(D-Y, ( ( e(X, Y, W) ; e(Y, X, W) ), D is C + W ), L),
        foldl([P-K, A, B]>>add_to_heap(A, P, K, B), L, H1, H2), step(H2, T1, T)
    ).
e(a, b, 7). e(a, c, 9). e(a, f, 14). e(b, c, 10). e(b, d, 15). e(c, d, 11). e(c, f, 2).
e(d, e, 6). e(f, e, 9).
main :-
    shortest(a, D), writeln(D),
    list_to_heap([3-c, 1-a, 2-b], H), heap_to_list(H, L), writeln(L),
    min_of_heap(H, P, K), heap_size(H, N), add_to_heap(H, 0, z, H1), min_of_heap(H1, P1, K1),
    format("~w ~w ~w~n", [P-K, N, P1-K1]),
    list_to_rbtree([x-1, y-2], T), rb_update(T, x, 5, T2), rb_keys(T2, Ks), rb_lookup(x, V, T2),
    open_string("foo. bar.", S), read(S, A1), read(S, A2), read(S, A3), close(S),
    format("~w ~w~n", [Ks-V, [A1, A2, A3]]),
    findall(Q-z, ( between(1, 2000, I), Q is (I * 7919) mod 2003 ), Ps),
    list_to_heap(Ps, H2), heap_to_list(H2, Sorted), ( msort(Sorted, Sorted) -> writeln(sorted) ; true ).
