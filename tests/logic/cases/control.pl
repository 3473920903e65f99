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
    deep(1000000, 0, D), writeln(deep(D)).
a(1). a(2). a(3).
thrower :- catch(throw(inner(inner)), outer, true).
once_each(X) :- member(X, [2, 1]), \+ \+ X = X.
deep(0, N, N) :- !.
deep(I, N0, N) :- J is I - 1, N1 is N0 + 1, deep(J, N1, N).
