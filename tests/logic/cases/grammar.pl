% SPDX-License-Identifier: MIT
%: args -g main
%> [a,a,b]
%> yes
%> [98]
%> ab
%> yes
% Bodies of grammars: soft cuts, modules.
as --> ( "a" *-> as ; "b" ).
pair --> user:first, lists:(second).
user:first --> "a".
second, "b" --> "c".
main :-
    atom_codes(aab, Cs), atom_chars(A, Cs), atom_chars(A, Chars), print(Chars), nl,
    ( phrase(as, Cs) -> writeln(yes) ; writeln(no) ),
    phrase(pair, [0'a, 0'c], R), print(R), nl,
    phrase(( first *-> "b" ; [] ), S), atom_codes(T, S), writeln(T),
    ( phrase(user:first, "a") -> writeln(yes) ; writeln(no) ).
