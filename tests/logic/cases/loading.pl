% SPDX-License-Identifier: MIT
%: args -g main
%> [1,2,3]
%> taken(a)
%> [q(1),q(2)]
%> [k-2]
%> loading.pl
%> 3-[b,a]
%> one line
%> +(1,*(2,A b))
% What a file can say of how it is loaded, and the names other systems use.
:- module(loading, [main/0], [tabling]).
:- use_package([tabling, assertions]).
:- reexport(library(lists), [member/2]).
:- set_prolog_flag(table_shared, false), set_prolog_flag(multi_arity_warnings, off).
:- include('parts/included').
:- ensure_loaded(library(lists)).
:- use_variant_tabling c/2.
:- use_subsumptive_tabling c/2.
:- tabling_mode(c/2, local).
:- local included/1.
:- import from_part/1 from 'parts/imported'.
:- if(fail).
choice(none).
this is not even syntax, but it is skipped.
:- elif(true).
choice(a).
:- if(fail).
choice(b).
:- else.
:- endif.
:- else.
choice(c).
:- endif.
term_expansion(twice(X), [q(X), q(Y)]) :- Y is X + 1.
twice(1).
:- prolog_load_context(source, F), file_base_name(F, B), assertz(loaded_from(B)).
:- table c/2.
c(X, Y) :- included(X), Y = X.
main :-
    findall(X, from_part(X), L), print(L), nl,
    forall(choice(X), ( print(taken(X)), nl )),
    findall(q(X), q(X), Q), print(Q), nl,
    list_to_assoc([k-1, j-0], A0), put_assoc(k, A0, 2, A), del_assoc(j, A, _, A1),
    assoc_to_list(A1, AL), print(AL), nl,
    loaded_from(B), writeln(B),
    findall(X, c(X, _), _), get_calls(c(_, _), C, _),
    findall(X, get_returns(C, ret(X, _)), Xs), length(Xs, N), M is N + 1,
    print(M-Xs), nl,
    writeln('one \c
             line'),
    display(1+2*'A b'), nl.
end_of_file.
main :- nothing after the end is read.
