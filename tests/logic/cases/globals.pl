% SPDX-License-Identifier: MIT
%: args -g main --collect=3
%> none 1
%> [2,2,1]
%> f(_,b) shared
%> nb(3)
%> undone a
%> 100000
%> back([p,q])
%> own 7
% b_setval/2 is undone on backtracking and keeps the term itself; nb_setval/2
% copies and stays. A collection of the heap finds what was assigned.
main :-
    ( catch(b_getval(v, _), error(existence_error(_, _), _), fail) -> true ; write('none ') ),
    b_setval(v, 1), b_getval(v, A), writeln(A),
    findall(X, ( member(_, [a, b]), b_setval(v, 2), nb_getval(v, X) ; b_getval(v, X) ), Xs), writeln(Xs),
    b_setval(t, f(Y, Z)), b_getval(t, f(_, b)),
    ( Z == b, var(Y) -> writeln('f(_,b) shared') ; true ),
    b_setval(c, 0),
    ( member(_, [a, b, c]), nb_getval(c, N), M is N + 1, nb_setval(c, M), fail ; true ),
    b_getval(c, C), writeln(nb(C)) , fail.
main :-
    nb_setval(u, a), ( b_setval(u, b), fail ; true ), b_getval(u, U), write('undone '), writeln(U),
    b_setval(n, 0), count(100000), b_getval(n, N), writeln(N),
    T = t(x, y), assigned(T, Back), writeln(back(Back)),
    thread_create(( b_setval(o, 7), b_getval(o, O), atom_concat('own ', O, W), writeln(W) ), Id),
    thread_join(Id, true).
count(0) :- !.
count(I) :- b_getval(n, N), M is N + 1, b_setval(n, M), J is I - 1, count(J).
% two assignments to an older cell within a segment: both old values stay right
assigned(T, Back) :-
    ( member(_, [1, 2]), setarg(1, T, [p, q]), arg(1, T, Back0), setarg(1, T, g(Back0)),
      waste(100), arg(1, T, g(Back1)), Back = Back1, T = t(g([p, q]), y), !
    ; true ).
waste(0) :- !.
waste(N) :- length(L, N), L = [_|_], M is N - 1, waste(M).
