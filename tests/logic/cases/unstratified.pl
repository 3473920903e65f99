% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%> stratification_error(p)
%> stratification_error(r(1))
%> [s(1)]
% A program that is not stratified is an error, and the tables are as if the
% goal had never been called.
:- table p/0, q/0, r/1, s/1.
p :- \+ q.
q :- \+ p.
r(X) :- e(X), ( r(X) -> fail ; true ).
s(X) :- e(X).
e(1).
main :-
    catch(p, error(stratification_error(G, _), _), (print(stratification_error(G)), nl)),
    catch(r(_), error(stratification_error(_, _), _), (print(stratification_error(r(1))), nl)),
    findall(s(X), s(X), L), print(L), nl.
