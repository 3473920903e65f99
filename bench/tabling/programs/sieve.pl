% SPDX-License-Identifier: MIT
%
% The sieve of Eratosthenes as communicating processes, after the description
% of the model checking benchmark of that name (Ramakrishna et al., CAV 1997);
% the specification is our own. A source sends 2, 3, ..., N into a chain of
% filters, each of which holds a prime and a buffer of one number. A state is
% sieve(Next, N, Filters, Out): Out is the channel to the outside, a variable,
% so states are not ground.

:- table reach/2.
reach(X, Z) :- reach(X, Y), trans(Y, _, Z).
reach(X, Z) :- trans(X, _, Z).

trans(sieve(I, N, Fs, Out), send(I), sieve(J, N, Gs, Out)) :-
    I =< N, put(Fs, I, Gs), J is I + 1.
trans(sieve(I, N, Fs, Out), Label, sieve(I, N, Gs, Out)) :-
    step(Fs, Label, Gs).

% A number enters a filter with an empty buffer, or becomes a filter.
put([], I, [f(I, empty)]).
put([f(P, empty)|Fs], I, [f(P, full(I))|Fs]).

step([f(P, full(I))|Fs], drop(P, I), [f(P, empty)|Fs]) :-
    I mod P =:= 0.
step([f(P, full(I))|Fs], pass(P, I), [f(P, empty)|Gs]) :-
    I mod P =\= 0, put(Fs, I, Gs).
step([F|Fs], Label, [F|Gs]) :- step(Fs, Label, Gs).

run :- reach(sieve(2, 60, [], _), _), fail.
run.
