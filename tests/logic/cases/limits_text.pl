% SPDX-License-Identifier: MIT
%: args --memory=16M -g main
%> time_limit_exceeded
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> [aaa,  x,5.00]
% Text that is written ends at limits too, however large the numbers that ask
% for it.
main :-
    open('/dev/null', write, S),
    ends(call_with_time_limit(0.2, tab(S, 1000000000000000))), close(S),
    ends(with_output_to(atom(_), tab(1000000000000000))),
    ends(with_output_to(atom(_), ( repeat, write(abcdefgh), fail ))),
    ends(format(atom(_), "~*c", [100000000000000, 0'a])),
    ends(format(atom(_), "~t~w~500000000|", [a])),
    ends(format(atom(_), "~99999999999999999999d", [1])),
    format(atom(A), "~*c", [3, 0'a]), format(atom(B), "~t~w~*|", [x, 3]), format(atom(C), "~2f", [5]),
    format("[~w,~w,~w]~n", [A, B, C]).
ends(G) :- catch(G, E, true), ( E = error(E1, _) -> print(E1) ; print(E) ), nl.
