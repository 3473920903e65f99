% SPDX-License-Identifier: MIT
%
% Leader election in a ring of processes with unidirectional channels (Chang
% and Roberts, 1979); the specification is our own. Each process sends its
% number; it passes on greater ones, swallows smaller ones, and is leader when
% its own comes back. A state is ring(Processes, Out): a process is
% p(Number, Status, Channel), the channel being what it has yet to read; Out is
% a variable, so states are not ground.

:- table reach/2.
reach(X, Z) :- reach(X, Y), trans(Y, _, Z).
reach(X, Z) :- trans(X, _, Z).

trans(ring(Ps, Out), Label, ring(Qs, Out)) :-
    select_process(Ps, P, Before, After),
    act(P, Label, Q, Message),
    deliver(Message, Before, After, Q, Qs).

select_process([P|Ps], P, [], Ps).
select_process([P|Ps], Q, [P|Before], After) :-
    select_process(Ps, Q, Before, After).

act(p(N, asleep, Ch), start(N), p(N, candidate, Ch), msg(N)).
act(p(N, S, [M|Ch]), pass(N, M), p(N, S1, Ch), msg(M)) :-
    M > N, lost(S, S1).
act(p(N, S, [M|Ch]), drop(N, M), p(N, S1, Ch), none) :-
    M < N, awake(S, S1).
act(p(N, _, [N|Ch]), elected(N), p(N, leader, Ch), none).

lost(asleep, passive).
lost(candidate, passive).
lost(passive, passive).
awake(asleep, candidate).
awake(candidate, candidate).
awake(passive, passive).

deliver(none, Before, After, Q, Qs) :- join(Before, [Q|After], Qs).
deliver(msg(M), Before, [p(N, S, Ch)|After], Q, Qs) :-
    join(Ch, [M], Ch1), join(Before, [Q, p(N, S, Ch1)|After], Qs).
deliver(msg(M), [p(N, S, Ch)|Before], [], Q, Qs) :-
    join(Ch, [M], Ch1), join([p(N, S, Ch1)|Before], [Q], Qs).

join([], L, L).
join([X|Xs], L, [X|Ys]) :- join(Xs, L, Ys).

run :- ring([3, 1, 8, 6, 4, 7, 2, 5], Ps), reach(ring(Ps, _), _), fail.
run.

ring([], []).
ring([N|Ns], [p(N, asleep, [])|Ps]) :- ring(Ns, Ps).
