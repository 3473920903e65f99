% SPDX-License-Identifier: MIT
%: args -g main
% A predicate of ours becomes the program's while threads run what calls it.
%> mine
main :-
    findall(I, ( between(1, 3, _), thread_create(work(300), I) ), Is),
    assertz(memberchk(mine, _)), assertz(append(mine, _, _)), assertz(exclude(mine, _, _)),
    forall(member(I, Is), thread_join(I)),
    memberchk(X, [yours]), writeln(X).
work(0) :- !.
work(N) :-
    subtract([a, b, c], [b], L), L == [a, c],
    ord_subtract([a, b], [a], [b]), ord_union([a], [b], [a, b]),
    catch(call_with_time_limit(0.001, numlist(1, 100, _)), time_limit_exceeded, true),
    M is N - 1, work(M).
