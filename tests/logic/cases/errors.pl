% SPDX-License-Identifier: MIT
%: args -g main
%: exit 2
%> existence_error(procedure,nope/2)
%> instantiation_error
%> type_error(integer,a)
%> evaluation_error(zero_divisor)
%> resource_error(memory)
%> type_error(callable,1)
%> type_error(callable,(fail,1))
%> domain_error(not_less_than_zero,-1)
%> permission_error(modify,static_procedure,atom_length/2)
%> representation_error(max_arity)
%> existence_error(stream,nowhere)
%> type_error(integer,a)
%> type_error(integer,1.0)
%> type_error(integer,a)
%> domain_error(write_option,quoted(maybe))
%> +('A b',1)|type_error(integer,b)
%! leaflog: error: unknown procedure: missing/1
%!     in last/0, FILE:41
% Errors are ISO terms; one that nobody catches names its place.
e(1, nope(1, 2)).
e(2, atom_length(_, _)).
e(3, atom_length(abc, a)).
e(4, _ is 1 // 0).
e(5, _ is 1 << (1 << 60)).
e(6, call(1)).
e(7, call((fail, 1))).
e(8, length(_, -1)).
e(9, assertz(atom_length(1, 2))).
e(10, functor(_, f, 100000000)).
e(11, write(nowhere, x)).
e(12, nth0(a, [b], _)).
e(13, nth1(1.0, [b], _)).
e(14, nth1(a, _, b, [c])).
e(15, format("~W", [a, [quoted(maybe)]])).
e(16, format("~W|~w", ['A b' + 1, [quoted(true), ignore_ops(true)], T])) :- catch(atom_length(a, b), E, xsb_error_get_tag(E, T)).
main :- e(_, G), catch(G, error(E, _), true), ( var(E) -> true ; print(E) ), nl, fail.
main :- last.
last :-
    missing(1), true.
