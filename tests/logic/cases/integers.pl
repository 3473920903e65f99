% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2
%> fib 43466557686937456435688527675040625802564660517371780402481729089536555417949051890403879840079255169295922593080322634775209689623239873322471161642996440906533187938298969649928516003704476137795166849228875
%> paths 1267650600228229401496703205376 100
%> keys [1267650600228229401496703205376]
%> longest 36893488147419103234
%> lookup b [b] none
%> order [-1267650600228229401496703205376,1.5,7,1.0e30,1267650600228229401496703205376,a]
%> exact < > =
%> format 12,345,678,901,234,567,890,123 123456789012345678901.23 29d42b64e76714244cb -BYW97UM9S91DLZ68TSI
%> f 12345678901234567890123.00 1.234568e+22
%> read 79228162514264337593543950335 -1267650600228229401496703205376 1152921504606846976 -1152921504606846976
%> write [-(1267650600228229401496703205376),1- -1267650600228229401496703205376,-a]
%> next 1152921504606846976 1152921504606846975 [1152921504606846974,1152921504606846975,1152921504606846976]
%> flags false 1152921504606846975
%> text 24 '100000000000000000000000x'
%> types yes
%> same yes
%> divided 10.0 10000000000000000000 -2 6
%> dynamic [1267650600228229401496703205376-x] []
% Integers beyond a word, in tables, clauses, text and arithmetic.
:- table fib/2, paths/2, reached/1.
:- table weight(_, max).
fib(0, 0).
fib(1, 1).
fib(N, F) :- N > 1, M is N - 1, L is N - 2, fib(M, G), fib(L, H), F is G + H.
% 2^N ways through a chain of N diamonds
paths(0, 1).
paths(N, P) :- N > 0, M is N - 1, paths(M, Q), P is Q + Q.
reached(X) :- X is 2 ** 100.
reached(X) :- reached(Y), X is max(Y, 2 ** 99).
weight(a, 18446744073709551617).
weight(a, 5).
weight(X, W) :- weight(X, V), V < 30000000000000000000, W is V * 2.
fact(1267650600228229401496703205376, b).
fact(1267650600228229401496703205377, c).
fact(-1267650600228229401496703205376, d).
fact(1, e).
fact(1.0e30, f).
fact(x, g).
fact(1208925819614629174706176, h).
fact(20000000000000000000, i).
fact(30000000000000000000, j).
fact(40000000000000000000, k).
:- dynamic stored/2.
main :-
    fib(1000, F), say(fib, [F]),
    paths(100, P), Bit is msb(P), say(paths, [P, Bit]),
    findall(R, reached(R), Rs), say(keys, [Rs]),
    weight(a, W), say(longest, [W]),
    X is 1 << 100, fact(X, Y), findall(Z, fact(X, Z), Zs),
    ( Big is X * X, fact(Big, _) -> None = some ; None = none ), say(lookup, [Y, Zs, None]),
    Minus is -X, sort(0, @=<, [a, X, 7, 1.0e30, 1.5, Minus], Sorted), say(order, [Sorted]),
    compare(O1, 99999999999999991611391, 99999999999999991611392.0),
    compare(O2, 99999999999999991611393, 99999999999999991611392.0),
    ( 99999999999999991611392 =:= 99999999999999991611392.0 -> O3 = (=) ; O3 = no ),
    say(exact, [O1, O2, O3]),
    N = 12345678901234567890123, format("format ~D ~2d ~16r ~36R~n", [N, N, N, -123456789012345678901234567890]),
    format("f ~2f ~e~n", [N, N]),
    number_codes(C, "0xffffffffffffffffffffffff"), atom_number('-1267650600228229401496703205376', A),
    say(read, [C, A, 1152921504606846976, -1152921504606846976]),
    format("write ~q~n", [[-(1267650600228229401496703205376), 1 - Minus, -a]]),
    succ(1152921504606846975, S), succ(Q, S), findall(B, between(1152921504606846974, S, B), Bs),
    say(next, [S, Q, Bs]),
    current_prolog_flag(bounded, F1), current_prolog_flag(max_tagged_integer, F2), say(flags, [F1, F2]),
    atom_length(100000000000000000000000, Len), atom_concat(100000000000000000000000, x, At),
    format("text ~w ~q~n", [Len, At]),
    ( integer(X), number(X), atomic(X), nonvar(X), ground(X), \+ float(X), \+ atom(X), \+ compound(X),
      \+ callable(X), \+ is_list(X) -> say(types, [yes]) ; say(types, [no]) ),
    X2 is 2 ** 50 * 2 ** 50, X3 is X + 1,
    ( X == X2, X = X2, X \== X3, X \= X3, X =@= X2, X3 > X, X < X3, X =\= X3, \+ X == 1.0e30,
      f(X, _) =@= f(X2, _), copy_term(X, X4), X4 == X2 -> say(same, [yes]) ; say(same, [no]) ),
    D1 is (10 ** 400 + 1) / (10 ** 399), D2 is 10 ** 20 / 10, D3 is -(10 ** 30) // (6 * 10 ** 29) - 1,
    D4 is -(10 ** 30) mod 7 - 1 + gcd(10 ** 30, 2 ** 2 * 3) - 3, say(divided, [D1, D2, D3, D4]),
    thread_self(Me), assertz(stored(X, Me-x)), assertz(stored(X3, Me-y)), retract(stored(X3, Me-y)),
    findall(X5-V, stored(X5, Me-V), Vs), retract(stored(X2, Me-_)),
    findall(V, stored(_, Me-V), Left), say(dynamic, [Vs, Left]).
say(What, Args) :- shown(Args, Texts), atomic_list_concat([What|Texts], ' ', T), writeln(T).
shown([], []).
shown([A|As], [S|Ss]) :- format(atom(S), "~w", [A]), shown(As, Ss).
