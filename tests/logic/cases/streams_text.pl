% SPDX-License-Identifier: MIT
%: args -g main
%> ééé  x3
%> a
%> 1
%> [one,'two\xd\',three,end_of_file]
%> permission_error(open,source_sink,'/tmp')
%> 12ab
%> user user
%> told
%> [first,second]
%> 97 98 100 -1
%> -1
% Columns and lines of output count characters, lines of other systems end as
% ours do, folders are no streams; and input and output as in Edinburgh.
main :-
    write('ééé'), current_output(O), line_position(O, P), format("~t~w~6|~w~n", [x, P]),
    line_count(O, N0), writeln(a), line_count(O, N1), N is N1 - N0, writeln(N),
    lines("one\r\ntwo\r\r\nthree", Ls), writeq(Ls), nl,
    catch(open('/tmp', read, _), error(E, _), ( print(E), nl )),
    tmp_name(F),
    tell(F), write('first. '), told, append(F), write('second. '), told,
    tell(user), write(12), telling(T), write(ab), nl, seeing(S), told, format("~w ~w~n", [T, S]),
    tell(user_output), writeln(told), told,
    see(F), read(A), read(B), seeing(C), see(C), seen, print([A, B]), nl,
    tell(F), write('\n a \tb;cd'), told,
    see(F), get(G1), get(G2), skip(0'c), get(G3), get(G4), write(G1), write(' '), write(G2), write(' '), write(G3), write(' '), writeln(G4),
    skip(a), get0(G5), writeln(G5), seen, see(user), delete_file(F).
lines(Text, Ls) :- open_string(Text, S), all_lines(S, Ls), close(S).
all_lines(S, [L|Ls]) :- read_line_to_string(S, L), ( L == end_of_file -> Ls = [] ; all_lines(S, Ls) ).
tmp_name(F) :- N is random(1000000000), atom_concat('/tmp/leaflog-streams-', N, F).
