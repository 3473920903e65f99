% SPDX-License-Identifier: MIT
%: args -g main
% What public programs expect in a library.
%! leaflog: warning: 2 of 3
%> cleanup [1,2,3] [s,c]
%> cleanup fail [s,c]
%> cleanup throw [s,c] oops
%> aggregate [a-2,b-1] [a-3,b-5] [a-max(2,y),b-max(5,z)]
%> pairs [1-[a,b],2-[c]] [a-1,b-1,c-2]
%> solutions b [c,d] [a,b] [c,b,b,a]
%> ugraph [1-[2],2-[3],3-[],4-[]] [1,2,3] [1-[2,3],2-[3],3-[],4-[]] [1,2,3,4]
%> options 1 2 [b(2)]
%> type_error(integer,a)
%> [1,2]
%> [c] [1,2,3]
%> text yes
%> both yes
%> absent yes
%> not_absent no
%> condition yes
%> cut no
%> variable yes
%> goal yes
%> open [120]
%> called yes
%> existence_error(procedure,none/2)
%> instantiation_error
%> type_error(callable,3)
%> type_error(callable,3)
%> type_error(list,x)
%> type_error(list,y)
:- dynamic log/1.
note(X) :- assertz(log(X)).
notes(L) :- findall(X, retract(log(X)), L).
p(a, 1, x). p(a, 2, y). p(b, 5, z).
main :-
    findall(X, setup_call_cleanup(note(s), member(X, [1, 2, 3]), note(c)), L1), notes(N1),
    say(cleanup, [L1, N1]),
    ( setup_call_cleanup(note(s), fail, note(c)) -> true ; notes(N2), say(cleanup, [fail, N2]) ),
    catch(setup_call_cleanup(note(s), throw(oops), note(c)), E, true), notes(N3),
    say(cleanup, [throw, N3, E]),
    findall(K-C, aggregate(count, A^B^p(K, A, B), C), L2),
    findall(K-S, aggregate(sum(V), B^p(K, V, B), S), L3),
    findall(K-M, aggregate(max(V, W), p(K, V, W), M), L4),
    say(aggregate, [L2, L3, L4]),
    group_pairs_by_key([1-a, 1-b, 2-c], G), transpose_pairs([1-a, 2-c, 1-b], T), say(pairs, [G, T]),
    call_nth(member(Y, [a, b, c]), 2),
    findall(Z, offset(2, member(Z, [a, b, c, d])), L5),
    findall(Z, distinct(Z, member(Z, [a, b, a])), L6),
    findall(Z, order_by([desc(Z)], member(Z, [b, c, a, b])), L7),
    say(solutions, [Y, L5, L6, L7]),
    vertices_edges_to_ugraph([4], [1-2, 2-3], U), reachable(1, U, R), transitive_closure(U, TC), top_sort(U, TS),
    say(ugraph, [U, R, TC, TS]),
    option(a(O1), [a(1), b(2)]), option(c(O2), [a(1)], 2), select_option(a(_), [a(1), b(2)], O3),
    say(options, [O1, O2, O3]),
    catch(type_error(integer, a), error(F, _), ( print(F), nl )),
    print_message(warning, format("~w of ~w", [2, 3])),
    phrase(two(L8), "12"), print(L8), nl,
    findall(L9, last([a, b, c], L9), LL),
    findall(N9, ( between(1, 3, N9), once(( last(P9, z), length(P9, N9) )) ), NN), % of partial lists, too
    print(LL), write(' '), print(NN), nl,
    grammar.
% Any body of a grammar may be a phrase.
x --> [x].
body(B) --> B, B.
rest(T) --> [0'a|T].
grammar :-
    parse(text, phrase("ab", "abc", "c")), parse(both, phrase(( x, [y] ), [x, y])),
    parse(absent, phrase(\+ x, [y], [y])), parse(not_absent, phrase(\+ x, [x], _)),
    parse(condition, phrase(( x -> [y] ; [z] ), [x, y])), parse(cut, phrase(( !, {fail} ; [] ), [])),
    parse(variable, phrase(body(( [x] ; "b" )), [x, 0'b])), parse(goal, phrase({true}, [])),
    phrase(rest(T), "ax"), say(open, [T]), parse(called, phrase(call([A, [A|B], B]>>true, z), [z])),
    forall(member(G, [phrase(none, []), phrase(_, []), phrase(3, []), phrase(( x, 3 ), []), phrase(x, x), phrase(x, [], y)]),
           catch(G, error(E, _), ( print(E), nl ))).
parse(W, G) :- ( G -> say(W, [yes]) ; say(W, [no]) ).
two([A, B]) --> [C], [D], { A is C - 0'0, B is D - 0'0 }.
say(W, L) :- write(W), forall(member(X, L), ( write(' '), print(X) )), nl.
