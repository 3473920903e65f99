% SPDX-License-Identifier: MIT
%
% A sliding window protocol with acknowledgements, negative ones and timeouts
% over channels that lose and damage messages, after the description of the
% i-protocol of GNU uucp (Dong et al., TACAS 1999); the specification is our
% own and smaller. Sequence numbers are modulo M, at most W messages are
% unacknowledged, a channel holds C messages. A state is
% i(Sender, Receiver, Forth, Back, User): User is a channel to the outside, a
% variable, so states are not ground.

:- table reach/2.
reach(X, Z) :- reach(X, Y), trans(Y, _, Z).
reach(X, Z) :- trans(X, _, Z).

window(3).
modulus(6).
capacity(3).

% the sender: s(Oldest unacknowledged, Next), the receiver: r(Expected, Nak)
trans(i(s(O, N), R, F, B, U), send(N), i(s(O, N1), R, F1, B, U)) :-
    modulus(M), window(W), Used is (N - O + M) mod M, Used < W,
    put(F, data(N), F1), N1 is (N + 1) mod M.
trans(i(s(O, N), R, F, B, U), timeout(O), i(s(O, N), R, F1, B, U)) :-
    O =\= N, put(F, data(O), F1).
trans(i(s(O, N), R, F, [ack(A)|B], U), ack(A), i(s(O1, N), R, F, B, U)) :-
    acknowledged(O, N, A, O1).
trans(i(s(O, N), R, F, [nak(A)|B], U), nak(A), i(s(O, N), R, F1, B, U)) :-
    resend(O, N, A, F, F1).
trans(i(S, R, F, [bad|B], U), bad_back, i(S, R, F, B, U)).
trans(i(S, r(E, _), [data(E)|F], B, U), deliver(E), i(S, r(E1, no), F, B1, U)) :-
    modulus(M), E1 is (E + 1) mod M, put(B, ack(E), B1).
trans(i(S, r(E, K), [data(D)|F], B, U), unexpected(D), i(S, r(E, K1), F, B1, U)) :-
    D =\= E, complain(K, E, B, B1, K1).
trans(i(S, r(E, K), [bad|F], B, U), bad_forth, i(S, r(E, K1), F, B1, U)) :-
    complain(K, E, B, B1, K1).
trans(i(S, R, F, B, U), lose_forth, i(S, R, F1, B, U)) :- lose(F, F1).
trans(i(S, R, F, B, U), lose_back, i(S, R, F, B1, U)) :- lose(B, B1).
trans(i(S, R, F, B, U), damage_forth, i(S, R, F1, B, U)) :- damage(F, F1).
trans(i(S, R, F, B, U), damage_back, i(S, R, F, B1, U)) :- damage(B, B1).

put(Ch, X, Ch1) :- capacity(C), len(Ch, 0, N), N < C, add(Ch, X, Ch1).

len([], N, N).
len([_|Xs], N0, N) :- N1 is N0 + 1, len(Xs, N1, N).

add([], X, [X]).
add([Y|Ys], X, [Y|Zs]) :- add(Ys, X, Zs).

acknowledged(O, N, A, O1) :-
    modulus(M), Ahead is (A - O + M) mod M, Used is (N - O + M) mod M,
    ( Ahead < Used -> O1 is (A + 1) mod M ; O1 = O ).

resend(O, N, A, F, F1) :-
    modulus(M), Ahead is (A - O + M) mod M, Used is (N - O + M) mod M,
    ( Ahead < Used -> put(F, data(A), F1) ; F1 = F ).

complain(yes, _, B, B, yes).
complain(no, E, B, B1, yes) :- put(B, nak(E), B1).

lose([_|Xs], Xs).
lose([X|Xs], [X|Ys]) :- lose(Xs, Ys).

damage([X|Xs], [bad|Xs]) :- X \== bad.
damage([X|Xs], [X|Ys]) :- damage(Xs, Ys).

run :- reach(i(s(0, 0), r(0, no), [], [], _), _), fail.
run.
