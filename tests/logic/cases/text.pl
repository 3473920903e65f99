% SPDX-License-Identifier: MIT
%: args -g main
%> abc
%> abc
%> 0
%> ''
%> '12'
%> instantiation_error
%> hello
%> ' world'
%> abc
%> no
%> [''-ab,a-b,ab-'']
%> 8-rld
%> no
%> [0-ab,1-b,2-'']
%> [ab,bc]
%> 'STRAßE Λ É'
%> éλ
%> é
%> letter
%> no
%> no
%> type_error(character,abc)
%> letter
%> period
%> paren
%> [a,b]
%> ['','',a,'',b,'','']
%> [a,b,'',c]
%> [a,'','',b]
%> ['']
%> [ab]
%> [a]
%> long(1000000,0,'.pl',1000002)
% Text: the empty one, parts of long atoms, letters beyond ASCII.
main :-
    show(string_concat("", "abc", A), A), show(string_concat("abc", "", A2), A2), show(string_length("", N), N),
    show(sub_string("", _, 0, _, B), B), show(string_to_atom(12, C), C), show(string_to_atom(_, _), []),
    show(atom_concat(X, ' world', 'hello world'), X), show(atom_concat(hello, Y, 'hello world'), Y),
    show(atom_concat(Z, 1, abc1), Z), show(atom_concat(_, b, abc), []),
    show(findall(P-Q, atom_concat(P, Q, ab), L), L),
    show(sub_atom('hello world', Before, 3, 0, S), Before-S), show(sub_atom(abc, _, 5, 0, _), []),
    show(findall(I-T, sub_atom(abc, I, _, 1, T), L2), L2), show(findall(T, sub_atom(abc, _, 2, _, T), L3), L3),
    show(upcase_atom('straße λ é', U), U), show(downcase_atom('ÉΛ', D), D),
    show(char_type('É', upper(E)), E), show(char_type('λ', alpha), letter), show(char_type('1', alpha), letter),
    show(char_type('→', alpha), letter), show(char_type(abc, alpha), letter), show(char_type(0'a, alpha), letter),
    show(char_type('?', period), period), show(char_type('(', paren), paren),
    forall(member(f(Text, Seps, Pad), [f("//a//b//", "/", "/"), f("//a//b//", "/", ""), f(" a ; b ;; c ", ";", " "), f("a, ,b", ", ", " "),
                                       f(" ", " ", " "), f(" ab ", "", " "), f(",a,", ",", " ,")]),
           show(split_string(Text, Seps, Pad, Parts), Parts)),
    long.
% What a search makes of atoms that stay: as many as it gives, and no more.
long :-
    length(L, 1000000), maplist(=(x), L), atomic_list_concat(L, Long), atom_concat(Long, '.pl', File),
    statistics(atoms, N0), atom_concat(Base, '.pl', File), statistics(atoms, N1),
    Made is N1 - N0, atom_length(Base, Length),
    sub_atom(File, _, 3, 0, End), sub_atom(File, Before, _, 0, l), writeq(long(Length, Made, End, Before)), nl.
show(G, R) :- catch(( call(G) -> W = R ; W = no ), error(E, _), W = E), writeq(W), nl.
