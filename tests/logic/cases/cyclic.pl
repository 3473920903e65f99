% SPDX-License-Identifier: MIT
%: args --memory=64M --time=60 -g main
% Terms without end, which unification makes where it does not check: whatever
% walks through one is stopped by a limit, and its tables are consistent.
%> tabled(resource)
%> copy(resource)
%> assertz(resource)
%> write(resource)
%> unify(resource)
%> compare(resource)
%> ground(resource)
%> variant(resource)
%> arithmetic(resource)
%> length(resource)
%> call(resource)
%> declare(resource)
%> declare_as(resource)
%> declare_dynamic(resource)
%> is_list(false)
%> [1,2,3]
%> cyclic([f,list,inner]) acyclic([shared,atom,long])
:- table same/1, number/2.
same(X) :- X = f(X).
same(1).
number(_, 1).
number(X, Y) :- number(X, Z), Z < 3, Y is Z + 1.

main :-
    X = f(X), Y = f(Y), L = [a|L], S = 1 + S, C = (true, C),
    try(tabled, same(_)),
    try(copy, copy_term(X, _)),
    try(assertz, assertz(kept(X))),
    try(write, write(X)),
    try(unify, call_with_time_limit(0.05, X = Y)),
    try(compare, call_with_time_limit(0.05, X @< Y)),
    try(ground, call_with_time_limit(0.05, ground(X))),
    try(variant, X =@= Y),
    try(arithmetic, _ is S),
    try(length, length(L, _)),
    try(call, call_with_time_limit(0.05, C)),
    Ps = [declared/1|Ps], Prs = (variant, Prs), Qs = (declared/2, Qs),
    try(declare, call_with_time_limit(0.05, table(Ps))),
    try(declare_as, call_with_time_limit(0.05, table(declared/3 as Prs))),
    try(declare_dynamic, call_with_time_limit(0.05, dynamic(Qs))),
    try(is_list, is_list(L)),
    catch(number(X, _), _, true),
    findall(N, number(a, N), Ns), sort(Ns, Sorted), write(Sorted), nl,
    Twice = g(Twin, Twin), Twin = h(_, [1, 2]), I = g(a, [I2|b]), I2 = h(I), numlist(1, 100000, Long),
    Terms = [f-X, list-L, inner-I, shared-Twice, atom-a, long-Long],
    findall(T, ( '$member'(T-Z, Terms), cyclic_term(Z) ), Cs),
    findall(T, ( '$member'(T-Z, Terms), acyclic_term(Z) ), As),
    format("~w ~w~n", [cyclic(Cs), acyclic(As)]).

try(Name, Goal) :-
    catch(( call(Goal) -> R = true ; R = false ), E, R = caught(E)),
    what(R, What), T =.. [Name, What], write(T), nl.
what(caught(time_limit_exceeded), resource) :- !.
what(caught(error(resource_error(_), _)), resource) :- !.
what(R, R).
