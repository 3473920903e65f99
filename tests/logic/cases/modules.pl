% SPDX-License-Identifier: MIT
%: args -g main
%> fact(1)
%> rule(1)
%> rule(2)
%> whole(3)
%> a===>b
%> ===>(a,b)
% There is one module: what stands in front of a colon says nothing, and the
% operators that a module exports are declared.
:- module(modules, [main/0, op(700, xfx, ===>), op(200, xfy, **)]).
:- dynamic(user:fact/1).
user:fact(1).
user:rule(X) :- user:fact(X).
rule(2).
user:(whole(X) :- rule(Y), X is Y + 1, X > 2).
main :-
    forall(fact(X), writeln(fact(X))), forall(rule(X), writeln(rule(X))), forall(whole(X), writeln(whole(X))),
    T = (a ===> b), writeq(T), nl, write_canonical(T), nl.
