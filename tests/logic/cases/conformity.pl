% SPDX-License-Identifier: MIT
%: args -g main
%> 51
%> domain_error(not_less_than_zero,-1)
%> type_error(character,f(b))
%> instantiation_error
%> domain_error(operator_priority,1201)
%> domain_error(operator_specifier,yfz)
%> type_error(float,2)
%> 0.5 39 2 [233,128512] 'é'
%> [] f(a)
%> ['X','Y'] yes
%> [alnum,alpha,ascii,csym,csymf,graph,lower,print]
%> 7 15 a 97 [48,49,50,51,52,53,54,55,56,57]
%> abc 3 ell bc ABC
%> ab
%> [50] '1' type_error(number,a)
% What ISO asks of errors and syntax, and names of characters' classes.
:- table expr//1, (term//1 as (subsumptive, subgoal_shared)), factor//1.
expr(X) --> expr(X0), "+", term(Y), { X is X0+Y }.
expr(X) --> expr(X0), "-", term(Y), { X is X0-Y }.
expr(X) --> term(X).
term(X) --> term(X0), "*", factor(Y), { X is X0*Y }.
term(X) --> factor(X).
factor(X) --> "(", expr(X), ")".
factor(X) --> digits(Cs), { number_codes(X, Cs) }.
digits([C|Cs]) --> [C], { code_type(C, digit) }, digits(Cs).
digits([C]) --> [C], { code_type(C, digit) }.
try(G) :- catch((call(G), R = true), error(R, _), true), writeq(R), nl.
main :-
    atom_codes('1+2*(3-4)*5+60', Cs), phrase(expr(V), Cs), writeln(V),
    try(arg(-1, f(a), _)), try(atom_chars(_, [a,f(b)])), try(atom_chars(_, [a,_])),
    try(current_op(1201, _, _)), try(current_op(_, yfz, _)), try(_ is 2 ^ -1),
    P is 2 ** -1, Q = 0''', atom_length([], N), U = "\u00e9\U0001F600", atom_codes(A, [0'\u00e9]),
    writeq(P), write(' '), write(Q), write(' '), write(N), write(' '), write(U), write(' '),
    write(''''), write(A), writeln(''''),
    term_to_atom(T, []), term_to_atom(S, 'f(a) % nothing more'), write(T), write(' '), writeln(S),
    atom_to_term('p(X,Y,X,_)', p(X,Y,_,_), B), findall(M, member(M=_, B), Ms), writeq(Ms),
    ( B = [_=X1,_=Y1], X1 == X, Y1 == Y -> writeln(' yes') ; true ),
    findall(C, char_type(a, C), L), writeln(L),
    char_type('7', digit(W)), code_type(0'f, xdigit(H)), char_type('A', upper(Lo)), code_type(0'A, to_lower(Lc)),
    findall(D, code_type(D, digit), Ds), maplist([Z]>>(write(Z), write(' ')), [W, H, Lo, Lc]), writeln(Ds),
    string_concat("a", "bc", S1), string_length("abc", S2), sub_string("hello", 1, 3, _, S3),
    string_concat(a, S4, "abc"), string_upper("abc", S5),
    atomic_list_concat([S1, S2, S3, S4, S5], ' ', S6), writeln(S6),
    atom_codes(Crlf, [39, 0'a, 0'\\, 13, 10, 0'b, 39]), term_to_atom(Line, Crlf), writeln(Line),
    number_codes(12, [0'1|N1]), number_chars(1, [N2]), print(N1), write(' '), print(N2), write(' '), try(number_codes(a, [_])).
