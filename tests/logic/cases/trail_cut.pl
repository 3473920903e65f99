% SPDX-License-Identifier: MIT
%: args -g main --memory=60M
%> bound 8000000
%> assigned [[g(1),c,b],b,a]
%> left
% A loop that never backtracks binds variables below a choice point that it cuts:
% the trail does not grow with it. What an older choice point needs stays there.
ok(a).
ok(b).
bind(0, _, N, N) :- !.
bind(N, _, C, R) :-
    ( ok(X), X == a -> D is C + 1 ; D = C ), M is N - 1, bind(M, f(N, M, C, D, [a, b, c, N]), D, R).

assign(0, _) :- !.
assign(N, S) :-
    ( ok(X), X == a, setarg(1, S, g(N)) -> true ; true ), M is N - 1, assign(M, S).

% `*->` finds its choice point at once, whatever the condition left above it.
left(0).
left(N) :- N > 0, M is N - 1, left(M).
left(N) :- N < 0.

main :-
    bind(8000000, x, 0, R), print(bound), tab(1), print(R), nl,
    S = f(a),
    (   setarg(1, S, b), arg(1, S, B),
        (   setarg(1, S, c), arg(1, S, C), assign(300000, S), arg(1, S, A),
            nb_setval(inner, [A, C, B]), fail
        ;   arg(1, S, D), nb_setval(outer, D), fail
        )
    ;   arg(1, S, Z)
    ),
    nb_getval(inner, In), nb_getval(outer, Out),
    print(assigned), tab(1), print([In, Out, Z]), nl,
    ( left(300000), between(1, 300000, _) *-> fail ; true ).
main :- print(left), nl.
