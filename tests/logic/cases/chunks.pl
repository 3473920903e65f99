% SPDX-License-Identifier: MIT
%: args -g main
%> [1,2]
%> [3,4]
%> [1,2]
%> [3]
%> []
%> [1,2|t]
%> t
%> [[1-[a,b],1-[c]],[2-[a,b],2-[c]]]
%> [[1,2],[3,4],[5]]
%> [[1,2],[1,2]]
%> [1,2] oops
%> []
%> [1,2,3]
%> type_error(nonneg,-1)
%> instantiation_error
%> stratification_error
%> done
% Solutions by the chunk: nested, with errors caught and collections made in
% between, and cut off between two chunks.
:- table waits/1.
waits(X) :- findnsols(1, Y, waits(Y), [X]).
main :-
    each(2, X1, member(X1, [1, 2, 3, 4])), each(2, X2, member(X2, [1, 2, 3])), each(2, X3, member(X3, [])),
    forall(findnsols(2, X4, ( X4 = 1 ; X4 = 2 ; fail ), L4, t), ( print(L4), nl )),
    findall(L5, findnsols(2, X5-Ys, ( member(X5, [1, 2]), findnsols(2, Y, member(Y, [a, b, c]), Ys) ), L5), R5), print(R5), nl,
    findall(L6, findnsols(2, X6, ( member(X6, [1, 2, 3, 4, 5]), caught(X6) ), L6), R6), print(R6), nl,
    findall(L7, ( member(_, [a, b]), once(findnsols(2, X7, member(X7, [1, 2, 3]), L7)) ), R7), print(R7), nl,
    say(( findnsols(2, X8, ( member(X8, [1, 2, 3, 4]), late(X8) ), L8), print(L8), write(' '), fail )),
    findnsols(0, X9, member(X9, [1]), L9), print(L9), nl,
    findnsols(3, X10, member(X10, [1, 2, 3, 4]), [A, B, C]), print([A, B, C]), nl,
    say(findnsols(-1, _, true, _)), say(findnsols(_, _, true, _)), say(waits(_)),
    many(10000), writeln(done).
each(N, T, G) :- forall(findnsols(N, T, G, L), ( print(L), nl )).
caught(X) :- catch(( X > 2 -> findall(_, ( member(Y, [1, 2]), Y > 1, throw(ball) ), _) ; true ), ball, true).
late(X) :- ( X > 3 -> throw(error(oops, _)) ; true ).
say(G) :- catch(( call(G) -> true ; writeln(none) ), error(E, _), ( ( functor(E, stratification_error, _) -> E1 = stratification_error ; E1 = E ), print(E1), nl )).
many(0) :- !.
many(N) :- findnsols(2, X, member(X, [1, 2, 3]), _), !, N1 is N - 1, many(N1).
