% SPDX-License-Identifier: MIT
%: args -g main
%> answers [1,1,1,1,1,1,1,1]
%> terms [3,3,3,3]
%> heads [1,1,1,1,1,1,1,1]
% Many variables that are older than a choice point are bound in one step: by an
% answer from a table, by terms with much left further out, by a clause's head.
:- table p/1.
p(L) :- member(X, [1, 2, 3]), all(L, X).
all([], _).
all([X|Xs], X) :- all(Xs, X).

nested(0, _, a) :- !.
nested(N, C, T) :-
    M is N - 1, nested(M, C, S), functor(T, f, 255), arg(1, T, S),
    ( C == free -> true ; T =.. [_, _|As], all(As, C) ).

:- dynamic h/1.
head(N) :- length(L, N), append([X|L], [f(X)], H), all(L, 1), assertz(h(H)).

answers(0, []) :- !.
answers(N, [X|Xs]) :-
    length(L, 60000), ( true ; fail ), p(L), last(L, X), M is N - 1, answers(M, Xs).
terms(0, []) :- !.
terms(N, [X|Xs]) :-
    nested(1500, free, A), nested(1500, 3, B), ( true ; fail ), A = B, arg(255, A, X),
    M is N - 1, terms(M, Xs).
heads(0, []) :- !.
heads(N, [X|Xs]) :-
    length(L, 60002), ( true ; fail ), h(L), L = [_, X|_], M is N - 1, heads(M, Xs).

main :-
    answers(8, As), format("answers ~w~n", [As]),
    terms(4, Ts), format("terms ~w~n", [Ts]),
    head(60000), heads(8, Hs), format("heads ~w~n", [Hs]).
