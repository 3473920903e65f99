% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%> 1-[1,2,3,4]
%> 2-[1,2,3,4]
%> 3-[1,2,3,4]
%> cut-[1,2,3,4]
%> q(1,f('_',1))
%> q(2,f('_',2))
% A goal called before its table was abolished has the answers it had then; a
% new call is evaluated anew.
:- table p/1, q/2.
:- dynamic e/1.
p(X) :- e(X).
q(1, f(_, 1)).
q(2, f(_, 2)).
e(1). e(2). e(3).
main :-
    p(X), ( e(4) -> true ; assertz(e(4)) ), abolish_all_tables,
    findall(Y, p(Y), L), print(X-L), nl, fail.
main :-
    forall(between(1, 50, _), once(( p(_), abolish_table(p/1) ))),
    once(( p(_), abolish_table(p/1), findall(Y, p(Y), L), print(cut-L), nl )),
    ( q(A, B), abolish_all_tables, \+ \+ ( B = f(_, C), C == A ),
      B = f('_', _), writeq(q(A, B)), nl, fail ; true ).
