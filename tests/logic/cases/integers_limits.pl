% SPDX-License-Identifier: MIT
%: args -g main --memory=64M
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> type_error(float,2)
%> evaluation_error(float_overflow)
%> evaluation_error(float_overflow)
%> evaluation_error(zero_divisor)
%> evaluation_error(undefined)
%> type_error(integer,1.5)
%> representation_error(max_integer)
%> resource_error(memory)
%> time_limit_exceeded
%> 0- -1-1-0-0
%> 2568
%> alive
% Integers too large are errors, and the machine goes on; what becomes garbage
% is collected, and what nobody asked to be counted to ends at the limit.
main :-
    forall(e(G), ( catch(G, error(E, _), true), print(E), nl )),
    catch(call_with_time_limit(0.3, spin(1)), L, true), print(L), nl,
    A is 0 << (1 << 100), B is -(1 << 100) >> (1 << 100), C is (-1) ** (1 << 100),
    D is 0 ** (1 << 100), F is 1 >> (1 << 100), writeln(A-B-C-D-F),
    factorial(1000, 1, X), atom_length(X, N), writeln(N),
    loop(3000),
    writeln(alive).
e(_ is 2 ** (2 ** 60)).
e(_ is 7 ** (7 ** 77)).
e(_ is 1 << (1 << 100)).
e(_ is 1 >> -(1 << 100)).
e(_ is 1 << (1 << 26)).
e(grow(3)).
e(length(_, 100000000000000000000)).
e(_ is 2 ^ -(1 << 100)).
e(_ is float(10 ** 400)).
e(_ is 1.0 * 10 ** 400).
e(_ is 10 ** 400 mod 0).
e(_ is truncate(inf)).
e(_ is 10 ** 400 /\ 1.5).
e(functor(_, f, 100000000000000000000)).
e(collected([])).
grow(X) :- Y is X * X, grow(Y).
collected(L) :- X is 3 ** 100000, collected([X|L]).
spin(X) :- Y is (X * 3 + 1) mod (1 << 500), spin(Y).
factorial(0, F, F).
factorial(N, F0, F) :- N > 0, F1 is F0 * N, M is N - 1, factorial(M, F1, F).
% 3000 numbers of 160 KB are more than there may be at once
loop(0) :- !.
loop(N) :- X is 1 << 1280000, X > N, M is N - 1, loop(M).
