% SPDX-License-Identifier: MIT
%: args -g main
%> r(3,6,3,min(1,a),[a,b,a],[a,b])
%> r(0,[])
%> no
%> domain_error(aggregate_spec,r(count,foo))
%> domain_error(aggregate_spec,x)
%> a-r(2,2)
%> b-r(1,3)
% Several aggregates of one goal.
main :-
    say(r(count, sum(X), max(X), min(X, Y), bag(Y), set(Y)), member(X-Y, [1-a, 3-b, 2-a])),
    say(r(count, bag(Z)), member(Z, [])), say(r(count, max(Z)), member(Z, [])),
    say(r(count, foo), true), say(x, true),
    forall(aggregate(r(count, max(V)), member(V-W, [1-a, 2-a, 3-b]), R), ( print(W-R), nl )).
say(S, G) :- catch(( aggregate_all(S, G, R) -> true ; R = no ), error(R, _), true), print(R), nl.
