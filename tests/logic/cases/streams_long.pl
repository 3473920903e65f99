% SPDX-License-Identifier: MIT
%: args -g main
%> terms are whole
%> characters are whole
% A file is read in blocks of 8192 bytes: wherever in a term or a character one
% ends, they are read whole.
main :-
    N is random(1000000000), atom_concat('/tmp/leaflog-long-', N, F),
    ( between(0, 40, Before), cut(F, Before, Ts), Ts \== [t(12.5e3, foo-'a b', a=..[]), x] -> print(Before-Ts), nl
    ; writeln('terms are whole') ),
    ( between(0, 3, Before), filled(F, Before), all(F, get_char, Cs), \+ maplist(==('\u20ac'), Cs) -> print(Before-Cs), nl
    ; writeln('characters are whole') ),
    delete_file(F).
cut(F, Before, Ts) :-
    open(F, write, O), write(O, '%'), N is 8190 - Before,
    forall(between(1, N, _), write(O, ' ')), nl(O),
    write(O, 't(12.5e3, foo-''a b'', a=..[]). x.'), nl(O), close(O),
    catch(all(F, read, Ts), E, Ts = E).
filled(F, Before) :-
    open(F, write, O), forall(between(1, Before, _), write(O, ' ')),
    forall(between(1, 4000, _), write(O, '\u20ac')), close(O).
all(F, Read, Xs) :-
    open(F, read, S), findall(X, ( repeat, call(Read, S, X), ( X == end_of_file -> !, fail ; X \== ' ' ) ), Xs), close(S).
