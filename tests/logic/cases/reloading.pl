% SPDX-License-Identifier: MIT
%: args -g main
%> tables [1]
%> tables [2,3]
%> within [2,3]
%> tables [4]
%> before [1]
%> files [1,2]
%> files [1,2]
%> files [2,10]
%> facts [1]
%> facts [1,2]
%> dynamic [0,2,10]
%> dynamic [0,2,11]
%> included [1,2]
%> included [1,2]
% A file that is loaded again: what was loaded from it before goes, tables that
% were made of it too, and what other files and the program have added stays.
:- dynamic f/1.
main :-
    tmp_name(A), tmp_name(B), tmp_name(C), atom_concat(A, r, R),
    tables(A), files(A, B), facts(A, B), dynamic(B, C), included(A, R),
    forall(member(F, [A, B, C, R]), delete_file(F)).
tables(A) :-
    load(A, ':- table t/1.\nt(X) :- e(X).\ne(1).\n'), all(tables, t),
    % a directive sees what is there so far
    load(A, ':- table t/1.\nt(X) :- e(X).\ne(2).\ne(3).\n:- all(tables, t).\n'),
    write_file(A, 'e(4).\n'), reload(A), all(tables, t).
:- table reload/1.
reload(A) :- consult(A), all(within, t).
files(A, B) :-
    load(A, ':- multifile m/1.\n:- table n/1.\nn(X) :- m(X).\nm(1).\n'), all(before, n),
    load(B, ':- multifile m/1.\nm(2).\n'), all(files, m), all(files, n),
    load(A, 'm(10).\n'), all(files, m).
facts(A, B) :-
    write_file(B, '1\n'), load_csv(B, v), load(A, ':- table w/1.\nw(X) :- v(X).\n'), all(facts, w),
    load(B, 'v(2).\n'), all(facts, w).
dynamic(B, C) :-
    assertz(f(0)), load(B, 'f(2).\n'), load(C, 'f(10).\n'), all(dynamic, f),
    load(B, 'f(2).\n'), load(C, 'f(11).\n'), all(dynamic, f).
included(A, R) :-
    write_file(R, 'g(2).\n'), atomic_list_concat([':- dynamic g/1.\ng(1).\n:- include(\'', R, '\').\n'], T),
    load(A, T), all(included, g), load(A, T), all(included, g).
load(F, Text) :- write_file(F, Text), consult(F).
all(W, P) :- G =.. [P, X], findall(X, G, L0), sort(L0, L), length(L0, N), length(L, N), format("~w ~w~n", [W, L]).
write_file(F, Text) :- open(F, write, S), write(S, Text), close(S).
tmp_name(F) :- N is random(1000000000), atom_concat('/tmp/leaflog-reloading-', N, F).
