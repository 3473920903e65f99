% SPDX-License-Identifier: MIT
%: args -g main
%> [a-44,b-44,''-44,'d e'- -1]
%> [a-32,b-32,''- -1]
%> [x-10,y-10,''- -1]
%> [''- -1]
%> [a-47,b-47,''- -1]
%> [hé-2,'llo, w'-6,orld-4,''-0]
%> type_error(integer,a)
%> domain_error(not_less_than_zero,-1)
%> ['.',..,one,'two.pl']
%> existence_error(directory,'/no-folder')
%> existence_error(directory,'/dev/null')
%> existence_error(directory,'/no-folder')
%> type_error(atom,3)
%> instantiation_error
%> [one,'two.pl']
%> [/,/,'/x','/a','/c','/b/c/','/b/',true]
%> found one
%> found two.pl
%> found two.txt
%> found .
%> existence_error(source_sink,two)
%> existence_error(source_sink,'.')
%> existence_error(source_sink,one)
%> existence_error(source_sink,library(lists))
%> domain_error(io_mode,look)
%> none
%> [read,exist,write,none]
%> [write,append,none]
% Text up to a character, names of files, and the folder they stand in.
main :-
    fields("a, b ,,d e", ",", " "), fields("  a   b  ", " ", " "), fields("x\r\n y \r\n", "\n", " \r"), fields("", ",", ""), fields("//a//b/", "/", "/"),
    open_string("héllo, world", S), read_string(S, 2, A), read_string(S, 6, B), read_string(S, N, C), read_string(S, M, D), close(S),
    print([A-2, B-6, C-N, D-M]), nl, open_string("", E), say(read_string(E, a, _)), say(read_string(E, -1, _)), close(E),
    N0 is random(1000000000), atom_concat('/tmp/leaflog-files-', N0, F), atomic_list_concat([mkdir, F], ' ', Make), shell(Make, 0),
    working_directory(Old, F), touch(one), touch('two.pl'),
    directory_files('.', Fs), print(Fs), nl, say(directory_files('/no-folder', _)), say(directory_files('/dev/null', _)),
    say(working_directory(_, '/no-folder')), say(working_directory(_, 3)), say(working_directory(_, _)),
    working_directory(Here, Here), findall(G, ( member(G, Fs), absolute_file_name(G, P), atom_concat(Here, G, P) ), Gs), print(Gs), nl,
    findall(P, ( member(X, [/, '/..', '../../../../../x', '/a/./b/..', '//c', 'c/', '']), absolute_file_name(X, P, [relative_to('/b')]) ), Ps0),
    ( absolute_file_name('/b', P1), absolute_file_name('./b', P2, [relative_to(/)]), P1 == P2 -> append(Ps0, [true], Ps) ; Ps = Ps0 ), print(Ps), nl,
    found(one, [access(read)]), found(two, [file_type(prolog), access(exist)]), found(two, [extensions([txt, pl]), access(write)]), found('.', [file_type(directory)]),
    found(two, [access(read)]), found('.', [access(read)]), found(one, [file_type(directory)]), found(library(lists), []), found(one, [access(look)]),
    found(two, [access(read), file_errors(fail)]), modes(one), modes(new),
    working_directory(_, Old), atomic_list_concat(['rm -r', F], ' ', Remove), shell(Remove, 0).
fields(T, Ends, Pads) :- open_string(T, S), fields(S, Ends, Pads, L), close(S), print(L), nl.
fields(S, Ends, Pads, [T-End|L]) :- read_string(S, Ends, Pads, End, T), ( End == -1 -> L = [] ; fields(S, Ends, Pads, L) ).
touch(F) :- open(F, write, S), close(S).
modes(F) :- findall(M, ( member(M, [read, exist, write, append, none]), access_file(F, M), \+ ( M == append, exists_file(F) ) ), Ms), print(Ms), nl.
say(G) :- catch(( call(G) -> writeln(true) ; writeln(false) ), error(E, _), ( print(E), nl )).
found(F, Os) :-
    catch(( absolute_file_name(F, P, Os) -> working_directory(D, D), ( atom_concat(D, B, P) -> true ; B = '.' ), format("found ~w~n", [B]) ; writeln(none) ), error(E, _), ( print(E), nl )).
