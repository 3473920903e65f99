% SPDX-License-Identifier: MIT
%: args -g main
%> 1
%> yes
%> else
%> cut_is_local
%> [1,2]
%> soft
%> inner
%> after
%> [2,1]
%> deep(1000000)
%> [1-else,2-holds,3-then,4-soft,5-else,6-else,7-else]
%> [1-else,2-holds,3-then,4-soft,5-else,6-else,7-else]
%> ac
main :-
    ( a(X), !, writeln(X) ; writeln(no) ), next.
next :-
    ( true -> writeln(yes) ; writeln(no) ),
    ( fail -> writeln(then) ; writeln(else) ),
    ( ( ! , fail ; true ) -> writeln(no) ; writeln(cut_is_local) ),
    findall(X, ( a(X), X < 3 ), L), writeln(L),
    ( a(Z) *-> true ; Z = none ), ( Z == 1 -> writeln(soft) ; true ),
    catch(thrower, inner(T), writeln(T)),
    catch(( member(Y, [1, 2]), Y >= 2, throw(out) ), out, writeln(after)),
    findall(U, once_each(U), Us), writeln(Us),
    deep(1000000, 0, D), writeln(deep(D)),
    cuts.
% A cut in a condition is the condition's own wherever it stands in it, in a
% clause and in a goal that is called.
:- dynamic compiled/2.
cuts :-
    forall(goal(N, R, G), assertz(( compiled(N, R) :- G ))),
    findall(N-R, compiled(N, R), L1), print(L1), nl,
    findall(N-R, ( goal(N, R, G), call(G) ), L2), print(L2), nl,
    ( phrase(ab, "ac") -> writeln(ac) ; writeln(lost) ).
goal(1, R, ( ((true, !), fail) -> R = then ; R = else )).
goal(2, R, ( \+ ((true, !), fail), R = holds )).
goal(3, R, ( (a(X), (true, !), X = 1) -> R = then ; R = else )).
goal(4, R, ( ((true, !), true) *-> R = soft ; R = none )).
goal(5, R, ( ((true -> !), fail) -> R = then ; R = else )).
goal(6, R, ( ((fail ; !), fail) -> R = then ; R = else )).
goal(7, R, ( ((fail -> true ; (true *-> !)), fail) *-> R = then ; R = else )).
ab --> ( "a", !, "b" -> [] ; "ac" ).
a(1). a(2). a(3).
thrower :- catch(throw(inner(inner)), outer, true).
once_each(X) :- member(X, [2, 1]), \+ \+ X = X.
deep(0, N, N) :- !.
deep(I, N0, N) :- J is I - 1, N1 is N0 + 1, deep(J, N1, N).
