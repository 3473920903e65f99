% SPDX-License-Identifier: MIT
%: args -g main
%> [f(A,A,1.5),[p,q|B],123456789012345678901234567890,2.25,C]
%> [v(1,1),v(2,2),v(3,3)] v(3,A)
%> 10000-[10000,a,f(10000)]
%> [1/3,2/3,3/3]
%> t(s(a))
%> [b,f(A),a]
%> f(g(h))
%> f(g(h)) [k(1),k(2)] k(2)
%> [1|1]
%> t(g([1,2,3]),[97,98,99],h(2.5))
% What nb_setarg/3 assigns is a copy, which backtracking leaves where it is.
main :-
    values, variables, counting(10000), many, itself, growing, thrown, undone, deterministic, loading.
values :- S = s(a), findall(Y, ( member(X, [f(V, V, 1.5), [p, q|W], 123456789012345678901234567890, 2.25, W]), waste, nb_setarg(1, S, X), waste, arg(1, S, Y) ), L), say(L).
variables :-
    S = s(none), findall(X, ( between(1, 3, I), nb_setarg(1, S, v(I, _)), waste, arg(1, S, X), X = v(I, I) ), L),
    waste, arg(1, S, X0), \+ \+ ( numbervars(X0, 0, _), print(L), write(' '), print(X0), nl ).
counting(K) :-
    S = s(0-[]), ( between(1, K, I), arg(1, S, N-_), M is N + 1, nb_setarg(1, S, M-[I, a, f(I)]), fail ; arg(1, S, X), say(X) ).
many :- findall(Z, ( between(1, 3, X), S = s(X), ( between(1, 3, Y), nb_setarg(1, S, X/Y), waste, fail ; waste ), arg(1, S, Z) ), L), say(L).
itself :- S = s(a), nb_setarg(1, S, t(S)), arg(1, S, X), waste, say(X).
growing :- S = s([]), forall(member(X, [a, f(_), b]), ( arg(1, S, L), nb_setarg(1, S, [X|L]), waste )), waste, arg(1, S, L), say(L).
thrown :- S = s(x), catch(( nb_setarg(1, S, f(g(h))), waste, throw(e) ), e, true), waste, arg(1, S, X), say(X).
undone :-
    S = s(x), \+ \+ ( nb_setarg(1, S, f(g(h))), waste ), waste, arg(1, S, X), print(X), write(' '),
    findall(Y, ( member(I, [1, 2]), nb_setarg(1, S, k(I)), arg(1, S, Y) ), L), waste, arg(1, S, Z), print(L), write(' '), say(Z).
deterministic :- S = s(x), loop(2000, S), arg(1, S, X), say(X).
loop(0, _) :- !.
loop(N, S) :- ( waste, nb_setarg(1, S, [N|N]) -> true ; true ), M is N - 1, loop(M, S).
loading :-
    T = t(a, b, c), b_setval(kept, T), folder(D), atom_concat(D, '/parts/assigns.pl', F), consult(F), waste, say(T).
:- dynamic(folder/1).
:- prolog_load_context(directory, D), assertz(folder(D)).
waste :- length(L0, 20), copy_term(L0, L), waste(L).
waste(_).
say(X) :- \+ \+ ( numbervars(X, 0, _), print(X), nl ).
