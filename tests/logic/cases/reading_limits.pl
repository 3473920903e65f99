% SPDX-License-Identifier: MIT
%: args --memory=16M -g main
%> resource_error(memory)
%> resource_error(memory)
%> resource_error(memory)
%> different
% What there is no memory for is no error of syntax, and when it is told it is
% over: what follows in the file knows nothing of it.
main :-
    text(21, '1,', T), atomic_list_concat(['a([', T, '1]). '], Long), text(20, '11111111111111111111', Digits),
    told(term_to_atom(_, Long)), told(term_to_atom(_, Digits)),
    told(( open_string(Long, S), read(S, _) )),
    N is random(1000000000), atom_concat('/tmp/leaflog-reading-', N, F),
    open(F, write, O), format(O, "~w~n:- f(_) == f(_) -> writeln(same) ; writeln(different).~n", [Long]), close(O),
    ( consult(F) -> true ; true ), delete_file(F).
text(0, T, T) :- !.
text(N, T0, T) :- atom_concat(T0, T0, T1), M is N - 1, text(M, T1, T).
told(G) :- catch(( call(G) -> writeln(no) ; writeln(no) ), error(E, _), ( print(E), nl )).
