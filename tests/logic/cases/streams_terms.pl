% SPDX-License-Identifier: MIT
%: args -g main
%> f(A,B,C,A,D) [A,B,C,D] [X=A,Y=C,_Z=D] [Y=C,_Z=D]
%> f(a,b) [a,A,b] [X=a,Y=b]
%> end_of_file [] []
%> f(X,Y,X,Name)
%> 'X'+'B'
%> instantiation_error
%> instantiation_error
%> domain_error(write_option,variable_names([1=A]))
%> domain_error(write_option,variable_names([x]))
%> type_error(list,[A=B|x])
%> (X,Y)
% Variables of terms that are read, and names of those that are written.
main :-
    read_from("f(X, _, Y, X, _Z). ", T, [variables(Vs), variable_names(Ns), singletons(Ss)]), say([T, Vs, Ns, Ss]),
    P = f(a, b), read_from("f(X, Y). ", P, [variables(Ws)]), read_from("g(X, _, Y). ", g(a, _, b), [variables(Us), variable_names(Ms)]), Ws == [a, b], say([P, Us, Ms]),
    read_from("", E, [variables(Es), singletons(Fs)]), say([E, Es, Fs]),
    write_term(f(A, B, A, C), [variable_names(['X'=A, 'Y'=B, 'Name'=C])]), nl,
    \+ \+ ( B = 'B', write_term('X' + B, [quoted(true), variable_names(['X'=B])]), nl ), % one that is none
    error_of(variable_names(_)), error_of(variable_names([_])), error_of(variable_names([1=_])), error_of(variable_names([x])),
    error_of(variable_names([_=_|x])),
    format("(~W)~n", [( A, B ), [variable_names(['X'=A, 'Y'=B])]]).
read_from(Text, T, Options) :- open_string(Text, S), read_term(S, T, Options), close(S).
say(L) :- \+ \+ ( numbervars(L, 0, _), atomic_list(L) ), nl.
atomic_list([X]) :- !, write(X).
atomic_list([X|Xs]) :- write(X), write(' '), atomic_list(Xs).
error_of(O) :- catch(write_term(a, [O]), error(E, _), true), \+ \+ ( numbervars(E, 0, _), print(E) ), nl.
