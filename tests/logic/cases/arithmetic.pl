% SPDX-License-Identifier: MIT
%: args -g main
%> 0.6420926 0.7853982 1.1752012 1.5430806 0.7615942
%> 0.8813736 0.0 0.5493061 3.0 -2.5
%> 2.0 0.8427008 0.1572992 3.1780538 7.0
%> 12 1 0 3 3
%> undefined
%> undefined
%> undefined
%> 1729382256910270464
%> 0.1
%> [1.5NaN==1.5NaN,1.5NaN=\=1.5NaN,1.5NaN@< -1.0Inf,-0.0@<0.0,-0.0=:=0.0]
%> [1.5NaN,-1.0Inf,-0.0,0.0,0,1.0,2.0]
%> [1.5NaN,-0.0,0.0]
%> 0.0
main :-
    row([cot(1), acot(1), sinh(1), cosh(1), tanh(1)]),
    row([asinh(1), acosh(1), atanh(0.5), log(2, 8), copysign(2.5, -1)]),
    row([log10(100), erf(1), erfc(1), lgamma(5), eval(3 + 4)]),
    X1 is lcm(4, 6), X2 is getbit(5, 2), X3 is getbit(5, 1), X4 is lsb(8), X5 is popcount(7),
    format("~w ~w ~w ~w ~w~n", [X1, X2, X3, X4, X5]),
    error(cot(0)), error(atan2(0, 0)), error(log(1, 2)), error(lcm(1 << 59, 3)),
    Y is nexttoward(0.1, 1), Z is round(Y * 1000) / 1000, writeln(Z),
    doubles.
% What is equal in the order of terms is what unifies, and what tables take for one.
doubles :-
    N is nan, I is -inf,
    Gs = [N == N, N == 1.0, N = 1.0, N =:= N, N =\= N, N @< I, -0.0 == 0.0, -0.0 = 0.0, -0.0 @< 0.0, -0.0 =:= 0.0],
    findall(G, ( member(G, Gs), call(G) ), L1), print(L1), nl,
    sort([2.0, N, 0, 1.0, 0.0, I, -0.0, N], L2), print(L2), nl,
    setof(X, double(X), L3), print(L3), nl,
    A is abs(-0.0), print(A), nl.
:- table double/1.
double(0.0). double(-0.0). double(X) :- X is nan.
double(0.0). double(-0.0). double(X) :- X is nan.
row(L) :- findall(A, ( member(E, L), X is E, Y is round(X * 1.0e7) / 1.0e7, A = Y ), As),
    atomic_list_concat(As, ' ', T), writeln(T).
error(E) :- catch(( X is E, writeln(X) ), error(evaluation_error(W), _), writeln(W)).
