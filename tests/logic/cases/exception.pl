% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%> caught(boom)
%> [1,2,3]
%> caught(boom)
%> type_error(evaluable,a/0)
% An error in the middle of an evaluation leaves no half-made table.
:- table p/1, q/1.
:- dynamic bomb/0.
bomb.
p(X) :- q(X).
p(3).
q(X) :- p(Y), Y >= 3, guard, X = 1.
q(2).
q(X) :- fuse(X).
fuse(_) :- bomb, throw(boom).
fuse(_) :- fail.
guard.
main :-
    catch(p(_), E, (print(caught(E)), nl)),
    retract(bomb),
    findall(X, p(X), L0), sort(L0, L), print(L), nl,
    assertz(bomb), abolish_all_tables,
    catch(q(_), F, (print(caught(F)), nl)),
    catch(X1 is a + 1, error(T, _), (print(T), nl)), ( var(X1) -> true ; true ).
