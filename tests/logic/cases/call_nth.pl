% SPDX-License-Identifier: MIT
%: args -g main
%> [0,-1]
%> b
% There is no answer before the first: no answers are looked through for it.
main :-
    findall(N, ( member(M, [0, -1]), catch(call_nth(repeat, M), error(domain_error(not_less_than_one, N), _), true) ), L),
    print(L), nl, call_nth(member(X, [a, b]), 2), print(X), nl.
