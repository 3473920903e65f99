% SPDX-License-Identifier: MIT
%: args -g main
%> abc
%> 0-3-he
%> [a,b,c]
%> a1x
%> [a-1,a-2,b-1]
%> 1-[a]
%> 2-[b]
%> abc A b 'A b' 42 12.34 1,234,567
%>    123   456
%> abc       def
%> f(X)
%> [1,2.0,a,b,c,f(x)]
%> [3,3,2,1]
%> 3-6-3-max(3,b)
%> world
%> 1-2-4-512-0.5
%> yes
%> [3,2,1]
%> [b,c]
%> t(1,z)
%> "quoted" done
%> [x=1,y=2]
%> 1-y-n
%> [2] [1-x,2-2]
% A sample of what programs use.
:- op(700, xfx, ===>).
main :-
    atom_codes(A1, "abc"), writeln(A1),
    once((sub_atom(hello, B2, 2, A2, S2), S2 == he)), writeln(B2-A2-S2),
    atomic_list_concat(L3, ',', 'a,b,c'), writeq(L3), nl,
    atomic_list_concat([a, 1, x], R4), writeq(R4), nl,
    setof(X5-Y5, member(X5-Y5, [b-1, a-2, a-1]), L5), writeq(L5), nl,
    forall(bagof(X6, member(X6-Y6, [a-1, b-2]), L6), (writeq(Y6-L6), nl)),
    format("~a ~w ~q ~d ~2d ~D~n", [abc, 'A b', 'A b', 42, 1234, 1234567]),
    format("~t~d~6|~t~d~12|~n", [123, 456]),
    format("~w~t~10|~w~n", [abc, def]),
    copy_term(f(_), C7), numbervars(C7, 23, _), print(C7), nl,
    msort([c, 1, b, 2.0, f(x), a], L8), print(L8), nl,
    sort(0, @>=, [1, 3, 2, 3], L9), print(L9), nl,
    aggregate_all(count, member(_, [a, b, c]), N10),
    aggregate_all(sum(X11), member(X11, [1, 2, 3]), S11),
    aggregate_all(max(X12), member(X12, [1, 3, 2]), M12),
    aggregate_all(max(X13, Y13), member(X13-Y13, [1-a, 3-b]), M13),
    writeq(N10-S11-M12-M13), nl,
    phrase(greeting(W14), [hello, world]), writeq(W14), nl,
    X15 is 7 mod 2, Y15 is 8 // 4, Z15 is 2 ** 2, U15 is 2 ^ 9, V15 is 1 / 2,
    writeq(X15-Y15-Z15-U15-V15), nl,
    ( \+ member(4, [1, 2, 3]) -> writeln(yes) ; writeln(no) ),
    foldl([X16, A16, [X16|A16]]>>true, [1, 2, 3], [], R16), writeq(R16), nl,
    exclude(==(a), [a, b, c], L17), writeq(L17), nl,
    T18 = t(1, 2), setarg(2, T18, z), writeq(T18), nl,
    format("\"quoted\" ~s~n", ["done"]),
    maplist([K=V, K-V]>>true, L19, [x-1, y-2]), writeq(L19), nl,
    term_to_atom(f(X20), 'f(1)'),
    ( term_to_atom(f(1), 'f( 1)') -> Y20 = y ; Y20 = n ),
    ( term_to_atom(f(2), 'f(1)') -> Z20 = y ; Z20 = n ),
    writeln(X20 - Y20 - Z20),
    findall(N21, arg(N21, f(b, 2), N21), L21), findall(N22-X22, ( arg(N22, f(X22, 2), X22), X22 = x ; arg(N22, f(_, 2), 2), X22 = N22, N22 == 2 ), L22),
    print(L21), write(' '), print(L22), nl.
greeting(W) --> [hello], word(W).
word(world) --> [world].
