% SPDX-License-Identifier: MIT
%: args -g main --memory=40M
%> condition
%> nested
%> cut
%> catch
%> output
%> assigned 1
%> older 1
%> older 1
%> restored 0
%> [100,200,300]
% Loops whose every call but the last has a choice point just below it: what a
% cut or the end of catch/3 leaves is collected.
main :-
    condition(400000), writeln(condition), nested(300000), writeln(nested), cut(400000), writeln(cut),
    caught(400000), writeln(catch), redirected(100000), writeln(output),
    S = s(0), ( member(X, [1, 2]), T = s(S), assign(1500000, T) -> format("assigned ~w~n", [X]) ; true ),
    forall(member(_, [1, 2]), ( assign(2000000, S), arg(1, S, A), format("older ~w~n", [A]) )), arg(1, S, Z), format("restored ~w~n", [Z]),
    kept(300, [], L), print(L), nl.
condition(0) :- !.
condition(N) :- ( waste(30, L), L = [_|_] -> M is N - 1, condition(M) ; true ).
nested(0) :- !.
nested(N) :- ( ( waste(30, L), L = [_|_] -> waste(10, K) ; K = [] ), K = [_|_] -> M is N - 1, nested(M) ; true ).
cut(0) :- !.
cut(N) :- some(L), !, L = [_|_], M is N - 1, cut(M).
some(L) :- waste(30, L).
some([]).
caught(0) :- !.
caught(N) :- catch(waste(30, _), _, true), M is N - 1, caught(M).
redirected(0) :- !.
redirected(N) :- with_output_to(atom(_), waste(100, _)), M is N - 1, redirected(M).
assign(0, _) :- !.
assign(N, S) :- ( arg(1, S, _), ok(N), setarg(1, S, N) -> M is N - 1, assign(M, S) ; true ).
ok(_).
ok(_).
% what lives on
kept(0, L, L) :- !.
kept(N, L0, L) :-
    ( waste(3000, W), W = [F|_], ( N mod 100 =:= 0 -> L1 = [N|L0] ; L1 = L0 ), F > 0 -> M is N - 1, kept(M, L1, L) ; true ).
waste(0, []) :- !.
waste(N, [N|L]) :- M is N - 1, waste(M, L).
