% SPDX-License-Identifier: MIT
%
% The part of the engine that is written in Prolog. Predicates whose names
% begin with $ are the engine's own; any other may be redefined by a program,
% which is why the engine's own predicates do not rely on those.

% ---- control

% A goal that waits below these would go on behind their end: behind the cleanup,
% or with more answers than it was to have.
:- '$barrier'(['$findall_run'/3, '$count_run'/2, '$chunk'/7, setup_call_cleanup/3, call_cleanup/2,
               limit/2, '$nth_answer'/2, first_solution/3]).

true.
otherwise.
fail :- fail.
false :- fail.
repeat.
repeat :- repeat.

% Control constructs that are called as terms. L is the level a cut reaches.
'$body'(G, L) :- '$body_kind'(G, K), '$body'(K, G, L).

'$body'(0, G, _) :- call(G).
'$body'(1, (A, B), L) :- '$body'(A, L), '$body'(B, L).
'$body'(2, !, L) :- '$cut'(L).
'$body'(3, (C -> T ; E), L) :- ( call(C) -> '$body'(T, L) ; '$body'(E, L) ).
'$body'(4, (C *-> T ; E), L) :- ( call(C) *-> '$body'(T, L) ; '$body'(E, L) ).
'$body'(5, (A ; B), L) :- ( '$body'(A, L) ; '$body'(B, L) ).
'$body'(6, (C -> T), L) :- ( call(C) -> '$body'(T, L) ).
'$body'(7, (C *-> T), L) :- ( call(C) *-> '$body'(T, L) ).
'$body'(8, Not, _) :- arg(1, Not, G), tnot(G).
'$body'(9, (A | B), L) :- '$body'((A ; B), L).

catch(G, C, R) :- '$catch'(G, C, R).
once(G) :- ( call(G) -> true ).
ignore(G) :- ( call(G) -> true ; true ).
\+ G :- tnot(G).
not(G) :- tnot(G).
'$not'(G) :- \+ call(G).
'$moded'(G) :- '$moded_open'(G, F0-D), '$abstract_call'(D, F0, F), call(F), G = F.
'$abstract_call'([], F, F) :- !.
'$abstract_call'(D, F0, F) :- F0 =.. [N|As0], '$abstract_all'(As0, D, As), F =.. [N|As].
'$abstract_all'([], _, []).
'$abstract_all'([T|Ts], D, [A|As]) :- '$abstract'(T, D, A), '$abstract_all'(Ts, D, As).
'$abstract'(T, _, A) :- \+ compound(T), !, A = T.
'$abstract'(_, 0, _) :- !.
'$abstract'(T, D, A) :- C is D - 1, '$abstract_call'(C, T, A).
A , B :- call((A, B)).
A ; B :- call((A ; B)).
(A | B) :- call((A | B)).
A -> B :- call((A -> B)).
A *-> B :- call((A *-> B)).
forall(C, A) :- \+ ( call(C), \+ call(A) ).
apply(G, Args) :- G =.. L0, '$append'(L0, Args, L), Goal =.. L, call(Goal).
halt :- halt(0).

% The cleanup runs once, when G fails, throws, leaves no choice point, or a cut
% takes its choice points away.
setup_call_cleanup(S, G, C) :-
    % Between them is no call, at which a limit could end it; only where memory
    % is at its end may the second be an error.
    once(S), '$cleanup'(C),
    '$choice'(Before), call(G), '$choice'(After),
    ( After == Before -> ! ; true ).
call_cleanup(G, C) :-
    '$cleanup'(C),
    '$choice'(Before), call(G), '$choice'(After),
    ( After == Before -> ! ; true ).
catch_with_backtrace(G, C, R) :- catch(G, C, R).

call_with_time_limit(T, G) :-
    '$deadline'(Old),
    catch('$until'(T, Old, G), E, ( '$restore_deadline'(Old), '$time_limit'(E) )).
'$until'(T, Old, G) :-
    '$set_deadline'(T),
    ( call(G) -> '$restore_deadline'(Old) ; '$restore_deadline'(Old), fail ).
'$time_limit'(error(resource_error(time), _)) :- !, throw(time_limit_exceeded).
'$time_limit'(E) :- throw(E).

must_be(Type, X) :- '$must_be'(Type, X).
'$must_be'(Type, X) :- '$type_test'(Type, X, G), ( call(G) -> true ; '$misfit'(Type, X) ).
'$type_test'(Type, X, G) :-
    (   var(Type) -> throw(error(instantiation_error, _))
    ;   '$type'(Type, X, G) -> true
    ;   throw(error(existence_error(type, Type), _))
    ).
'$type'(any, _, true).
'$type'(var, X, var(X)).
'$type'(nonvar, X, nonvar(X)).
'$type'(atom, X, atom(X)).
'$type'(symbol, X, atom(X)).
'$type'(string, X, atom(X)).
'$type'(atomic, X, atomic(X)).
'$type'(callable, X, callable(X)).
'$type'(compound, X, compound(X)).
'$type'(number, X, number(X)).
'$type'(float, X, float(X)).
'$type'(integer, X, integer(X)).
'$type'(rational, X, integer(X)).
'$type'(positive_integer, X, ( integer(X), X >= 1 )).
'$type'(negative_integer, X, ( integer(X), X < 0 )).
'$type'(nonneg, X, ( integer(X), X >= 0 )).
'$type'(between(L, U), X, ( number(X), ( integer(L), integer(U) -> integer(X) ; true ), X >= L, X =< U )).
'$type'(oneof(L), X, ( ground(X), '$member'(X, L) )).
'$type'(boolean, X, ( X == true ; X == false )).
'$type'(bool, X, ( X == true ; X == false )).
'$type'(char, X, ( atom(X), atom_length(X, 1) )).
'$type'(code, X, ( integer(X), X >= 0, X =< 0x10ffff )).
'$type'(pair, X, ( nonvar(X), X = _ - _ )).
'$type'(list, X, '$all_of'(any, X)).
'$type'(proper_list, X, '$all_of'(any, X)).
'$type'(list(T), X, '$all_of'(T, X)).
'$type'(chars, X, '$all_of'(char, X)).
'$type'(codes, X, '$all_of'(code, X)).
'$type'(text, X, ( atom(X) ; '$all_of'(char, X) ; '$all_of'(code, X) )).
'$type'(list_or_partial, X, catch('$partial_list'(X), _, fail)).
'$type'(ground, X, ground(X)).
'$type'(acyclic, X, '$acyclic'(X)).
'$type'(cyclic, X, \+ '$acyclic'(X)).
'$acyclic'(X) :- acyclic_term(X).
'$all_of'(any, L) :- !, is_list(L).
'$all_of'(Type, L) :- is_list(L), \+ ( '$member'(X, L), '$type_test'(Type, X, G), \+ call(G) ).
'$misfit'(var, X) :- throw(error(uninstantiation_error(X), _)).
'$misfit'(_, X) :- var(X), throw(error(instantiation_error, _)).
'$misfit'(Type, X) :- '$type'(Type, X, '$all_of'(_, X)), '$unfinished'(X), throw(error(instantiation_error, _)).
'$misfit'(ground, _) :- throw(error(instantiation_error, _)).
'$misfit'(Type, X) :- '$kind_of_integer'(Type), \+ integer(X), throw(error(type_error(integer, X), _)).
'$misfit'(boolean, X) :- throw(error(type_error(bool, X), _)).
'$misfit'(Type, L) :-
    '$type'(Type, L, '$all_of'(T, L)), is_list(L), '$member'(X, L), '$must_be'(T, X), fail.
'$misfit'(Type, X) :- ( Type == cyclic ; Type == acyclic ), !, atom_concat(Type, '_term', D), throw(error(domain_error(D, X), _)).
'$misfit'(Type, X) :- throw(error(type_error(Type, X), _)).
'$unfinished'(L) :- var(L), !.
'$unfinished'([_|T]) :- '$unfinished'(T).
'$kind_of_integer'(nonneg).
'$kind_of_integer'(positive_integer).
'$kind_of_integer'(negative_integer).

% ---- collecting solutions

findall(T, G, L) :- findall(T, G, L, []).
findall(T, G, L, Tail) :-
    '$partial_list'(L),
    '$findall_start'(R),
    '$findall_run'(R, T, G),
    '$findall_take'(R, L0, Tail),
    L = L0.
'$findall_run'(R, T, G) :- call(G), '$findall_add'(R, T), fail.
'$findall_run'(_, _, _).
'$count_run'(R, G) :- call(G), '$findall_count'(R), fail.
'$count_run'(_, _).

% So many at a time. A collection ends with its chunk, and the next one begins
% when there is to be more: a cut between them leaves none behind.
findnsols(N, T, G, L) :- findnsols(N, T, G, L, []).
findnsols(N, T, G, L, Tail) :-
    '$must_be'(nonneg, N), '$partial_list'(L),
    ( N =:= 0 -> L = Tail ; '$choice'(C), '$findall_start'(R), '$chunk'(N, T, G, C, bag(R), L, Tail) ).
'$chunk'(N, T, G, C, Bag, L, Tail) :-
    '$choice'(Before), call(G), '$choice'(After),
    arg(1, Bag, R), '$findall_add'(R, T), '$findall_has'(R, N), '$findall_take'(R, L0, Tail),
    ( After == Before -> ! ; '$more_chunks'(C, Bag) ),
    L = L0.
'$chunk'(_, _, _, _, Bag, L, Tail) :- arg(1, Bag, R), '$findall_take'(R, L0, Tail), L = L0.
'$more_chunks'(_, _).
'$more_chunks'(C, Bag) :- '$findall_resume'(C, R), nb_setarg(1, Bag, R), fail.
limit(N, G) :-
    N > 0,
    S = count(0),
    call(G),
    arg(1, S, C0), C is C0 + 1, nb_setarg(1, S, C),
    ( C >= N -> ! ; true ).

aggregate_all(count, G, N) :- !,
    '$findall_start'(R), '$count_run'(R, G), '$findall_take_count'(R, N0), N = N0.
aggregate_all(count(T), G, N) :- !, findall(T, G, L), length(L, N).
aggregate_all(sum(E), G, S) :- !, findall(E, G, L), '$sum'(L, 0, S).
aggregate_all(bag(E), G, L) :- !, findall(E, G, L).
aggregate_all(set(E), G, S) :- !, findall(E, G, L), sort(L, S).
aggregate_all(max(X, W), G, max(MX, MW)) :- !,
    findall(X-W, G, L), '$evaluate_keys'(L, [P|Ps]), '$max_pair'(Ps, P, MX-MW).
aggregate_all(min(X, W), G, min(MX, MW)) :- !,
    findall(X-W, G, L), '$evaluate_keys'(L, [P|Ps]), '$min_pair'(Ps, P, MX-MW).
aggregate_all(max(E), G, M) :- !,
    findall(E, G, L), '$evaluate'(L, [X|Xs]), '$max'(Xs, X, M).
aggregate_all(min(E), G, M) :- !,
    findall(E, G, L), '$evaluate'(L, [X|Xs]), '$min'(Xs, X, M).
aggregate_all(Spec, G, R) :-
    compound(Spec), Spec =.. [F|Specs], \+ ( '$member'(S, Specs), \+ '$aggregate'(S) ), !,
    findall(Specs, G, L), '$aggregate_each'(Specs, Specs, L, Rs), R =.. [F|Rs].
aggregate_all(Spec, _, _) :- throw(error(domain_error(aggregate_spec, Spec), _)).
'$aggregate'(S) :-
    nonvar(S), '$member'(S, [count, count(_), sum(_), bag(_), set(_), max(_), min(_), max(_, _), min(_, _)]), !.
'$aggregate_each'([], _, _, []).
'$aggregate_each'([S|Ss], Specs, L, [R|Rs]) :-
    aggregate_all(S, '$member'(Specs, L), R), '$aggregate_each'(Ss, Specs, L, Rs).

'$evaluate'([], []).
'$evaluate'([E|Es], [X|Xs]) :- X is E, '$evaluate'(Es, Xs).
'$evaluate_keys'([], []).
'$evaluate_keys'([E-W|Es], [X-W|Xs]) :- X is E, '$evaluate_keys'(Es, Xs).
'$sum'([], S, S).
'$sum'([X|Xs], S0, S) :- S1 is S0 + X, '$sum'(Xs, S1, S).
'$max'([], M, M).
'$max'([X|Xs], M0, M) :- ( X > M0 -> '$max'(Xs, X, M) ; '$max'(Xs, M0, M) ).
'$min'([], M, M).
'$min'([X|Xs], M0, M) :- ( X < M0 -> '$min'(Xs, X, M) ; '$min'(Xs, M0, M) ).
'$max_pair'([], P, P).
'$max_pair'([X-W|Ps], X0-W0, P) :-
    ( X > X0 -> '$max_pair'(Ps, X-W, P) ; '$max_pair'(Ps, X0-W0, P) ).
'$min_pair'([], P, P).
'$min_pair'([X-W|Ps], X0-W0, P) :-
    ( X < X0 -> '$min_pair'(Ps, X-W, P) ; '$min_pair'(Ps, X0-W0, P) ).

bagof(T, G0, L) :-
    '$partial_list'(L),
    '$strip_caret'(G0, G, Bound),
    term_variables(T-Bound, Inner),
    term_variables(G, Vars),
    '$without'(Vars, Inner, Free),
    (   Free == []
    ->  findall(T, G, L), L \== []
    ;   W =.. [v|Free],
        findall(W-T, G, Pairs), Pairs \== [],
        keysort(Pairs, Sorted),
        '$groups'(Sorted, Groups),
        '$member'(W-L, Groups)
    ).
setof(T, G, S) :- '$partial_list'(S), bagof(T, G, L), sort(L, S).
_ ^ G :- call(G).

'$strip_caret'(G, G, []) :- var(G), !.
'$strip_caret'(V ^ G0, G, V-B) :- !, '$strip_caret'(G0, G, B).
'$strip_caret'(_ : G0, G, B) :- !, '$strip_caret'(G0, G, B).
'$strip_caret'(G, G, []).
'$without'([], _, []).
'$without'([V|Vs], Inner, Free) :-
    (   '$member_eq'(V, Inner)
    ->  '$without'(Vs, Inner, Free)
    ;   Free = [V|Free1], '$without'(Vs, Inner, Free1)
    ).
'$member_eq'(X, [Y|Ys]) :- ( X == Y -> true ; '$member_eq'(X, Ys) ).
'$groups'([], []).
'$groups'([W-T|Ps], [W-[T|Ts]|Gs]) :- '$group'(Ps, W, Ts, Rest), '$groups'(Rest, Gs).
'$group'([W1-T|Ps], W, Ts, Rest) :-
    W1 =@= W, !, W1 = W, Ts = [T|Ts1], '$group'(Ps, W, Ts1, Rest).
'$group'(Rest, _, [], Rest).

% Lambda expressions: Parameters>>Body, Free/Parameters>>Body.
'>>'(Ps, B) :- copy_term(Ps>>B, Ps1>>B1), '$lambda'(Ps1, [], B1).
'>>'(Ps, B, A) :- '$lambda_call'(Ps, B, [A]).
'>>'(Ps, B, A, C) :- '$lambda_call'(Ps, B, [A, C]).
'>>'(Ps, B, A, C, D) :- '$lambda_call'(Ps, B, [A, C, D]).
'>>'(Ps, B, A, C, D, E) :- '$lambda_call'(Ps, B, [A, C, D, E]).
'>>'(Ps, B, A, C, D, E, F) :- '$lambda_call'(Ps, B, [A, C, D, E, F]).
'$lambda_call'(Free/Ps, B, As) :- !,
    copy_term(Free/Ps>>B, Free/Ps1>>B1), '$lambda'(Ps1, As, B1).
'$lambda_call'(Ps, B, As) :- copy_term(Ps>>B, Ps1>>B1), '$lambda'(Ps1, As, B1).
'$lambda'([], As, B) :- !, ( As == [] -> call(B) ; apply(B, As) ).
'$lambda'([P|Ps], [A|As], B) :- !, P = A, '$lambda'(Ps, As, B).
'$lambda'(_, [], B) :- call(B).

% ---- lists

'$append'([], L, L).
'$append'([X|Xs], L, [X|Ys]) :- '$append'(Xs, L, Ys).
'$member'(X, [Y|Ys]) :- '$member'(Ys, X, Y).
'$member'(_, X, X).
'$member'([Y|Ys], X, _) :- '$member'(Ys, X, Y).

append([], L, L).
append([X|Xs], L, [X|Ys]) :- append(Xs, L, Ys).
append(Ls, L) :- '$concatenate'(Ls, L).
'$concatenate'([], []).
'$concatenate'([L|Ls], R) :- '$append'(L, R0, R), '$concatenate'(Ls, R0).
member(X, L) :- '$member'(X, L).
memberchk(X, L) :- '$member'(X, L), !.
reverse(L, R) :- '$reverse'(L, [], R).
'$reverse'([], R, R).
'$reverse'([X|Xs], A, R) :- '$reverse'(Xs, [X|A], R).
nth0(I, L, X) :- integer(I), !, I >= 0, '$nth'(I, L, X).
nth0(I, L, X) :- '$var_index'(I), '$nth_any'(L, X, 0, I).
nth1(I, L, X) :- integer(I), !, I >= 1, J is I - 1, '$nth'(J, L, X).
nth1(I, L, X) :- '$var_index'(I), '$nth_any'(L, X, 1, I).
'$var_index'(I) :- ( var(I) -> true ; throw(error(type_error(integer, I), _)) ).
'$nth'(0, [X|_], Y) :- !, X = Y.
'$nth'(I, [_|Xs], Y) :- J is I - 1, '$nth'(J, Xs, Y).
'$nth_any'([X|_], X, I, I).
'$nth_any'([_|Xs], X, I0, I) :- I1 is I0 + 1, '$nth_any'(Xs, X, I1, I).
nth0(I, L, X, R) :- integer(I), !, I >= 0, '$nth_rest'(I, L, X, R).
nth0(I, L, X, R) :- '$var_index'(I), '$nth_rest_any'(L, X, R, 0, I).
nth1(I, L, X, R) :- integer(I), !, J is I - 1, nth0(J, L, X, R).
nth1(I, L, X, R) :- '$var_index'(I), '$nth_rest_any'(L, X, R, 1, I).
'$nth_rest'(0, [X|Xs], X, Xs) :- !.
'$nth_rest'(I, [Y|Xs], X, [Y|Ys]) :- J is I - 1, '$nth_rest'(J, Xs, X, Ys).
'$nth_rest_any'([X|Xs], X, Xs, I, I).
'$nth_rest_any'([Y|Xs], X, [Y|Ys], I0, I) :- I1 is I0 + 1, '$nth_rest_any'(Xs, X, Ys, I1, I).
last([X|Xs], L) :- '$last'(Xs, X, L).
'$last'([], X, X).
'$last'([X|Xs], _, L) :- '$last'(Xs, X, L).
sum_list(L, S) :- '$sum'(L, 0, S).
sumlist(L, S) :- '$sum'(L, 0, S).
max_list([X|Xs], M) :- '$max'(Xs, X, M).
min_list([X|Xs], M) :- '$min'(Xs, X, M).
max_member(M, L) :- '$max_member'(L, M).
'$max_member'([X|Xs], M) :- '$max_term'(Xs, X, M).
'$max_term'([], M, M).
'$max_term'([X|Xs], M0, M) :- ( X @> M0 -> '$max_term'(Xs, X, M) ; '$max_term'(Xs, M0, M) ).
min_member(M, L) :- '$min_member'(L, M).
'$min_member'([X|Xs], M) :- '$min_term'(Xs, X, M).
'$min_term'([], M, M).
'$min_term'([X|Xs], M0, M) :- ( X @< M0 -> '$min_term'(Xs, X, M) ; '$min_term'(Xs, M0, M) ).
numlist(L, H, R) :- '$must_be'(integer, L), '$must_be'(integer, H), L =< H, '$numlist'(L, H, R).
'$numlist'(H, H, [H]) :- !.
'$numlist'(L, H, [L|T]) :- L1 is L + 1, '$numlist'(L1, H, T).
select(X, [X|Xs], Xs).
select(X, [Y|Xs], [Y|Ys]) :- select(X, Xs, Ys).
selectchk(X, L, R) :- select(X, L, R), !.
select(X, Xs, Y, Ys) :- '$select4'(Xs, X, Y, Ys).
'$select4'([X|T], X, Y, [Y|T]).
'$select4'([H|T], X, Y, [H|T2]) :- '$select4'(T, X, Y, T2).
exclude(_, [], []).
exclude(P, [X|Xs], Ys) :- ( call(P, X) -> Ys = Ys1 ; Ys = [X|Ys1] ), exclude(P, Xs, Ys1).
include(_, [], []).
include(P, [X|Xs], Ys) :- ( call(P, X) -> Ys = [X|Ys1] ; Ys = Ys1 ), include(P, Xs, Ys1).
partition(_, [], [], []).
partition(P, [X|Xs], I, E) :-
    ( call(P, X) -> I = [X|I1], E = E1 ; I = I1, E = [X|E1] ), partition(P, Xs, I1, E1).
maplist(G, L) :- '$maplist'(L, G).
'$maplist'([], _).
'$maplist'([X|Xs], G) :- call(G, X), '$maplist'(Xs, G).
maplist(G, L, M) :- '$maplist'(L, M, G).
'$maplist'([], [], _).
'$maplist'([X|Xs], [Y|Ys], G) :- call(G, X, Y), '$maplist'(Xs, Ys, G).
maplist(G, L, M, N) :- '$maplist'(L, M, N, G).
'$maplist'([], [], [], _).
'$maplist'([X|Xs], [Y|Ys], [Z|Zs], G) :- call(G, X, Y, Z), '$maplist'(Xs, Ys, Zs, G).
maplist(G, L, M, N, O) :- '$maplist'(L, M, N, O, G).
'$maplist'([], [], [], [], _).
'$maplist'([X|Xs], [Y|Ys], [Z|Zs], [W|Ws], G) :-
    call(G, X, Y, Z, W), '$maplist'(Xs, Ys, Zs, Ws, G).
foldl(G, L, A0, A) :- '$foldl'(L, G, A0, A).
'$foldl'([], _, A, A).
'$foldl'([X|Xs], G, A0, A) :- call(G, X, A0, A1), '$foldl'(Xs, G, A1, A).
foldl(G, L, M, A0, A) :- '$foldl'(L, M, G, A0, A).
'$foldl'([], [], _, A, A).
'$foldl'([X|Xs], [Y|Ys], G, A0, A) :- call(G, X, Y, A0, A1), '$foldl'(Xs, Ys, G, A1, A).
delete([], _, []).
delete([X|Xs], Y, R) :- ( X \= Y -> R = [X|R1] ; R = R1 ), delete(Xs, Y, R1).
subtract([], _, []).
subtract([X|Xs], L, R) :- ( memberchk(X, L) -> R = R1 ; R = [X|R1] ), subtract(Xs, L, R1).
intersection([], _, []).
intersection([X|Xs], L, R) :- ( memberchk(X, L) -> R = [X|R1] ; R = R1 ), intersection(Xs, L, R1).
union([], L, L).
union([X|Xs], L, R) :- ( memberchk(X, L) -> R = R1 ; R = [X|R1] ), union(Xs, L, R1).
% The first of each, in their order: by sorting, as lists may be long.
list_to_set(L, S) :-
    '$must_be'(list, L), '$number_all'(L, 0, Ps), sort(1, @=<, Ps, Sorted), '$first_of_equals'(Sorted, Firsts),
    keysort(Firsts, Ordered), pairs_values(Ordered, S).
'$number_all'([], _, []).
'$number_all'([X|Xs], I, [X-I|Ps]) :- J is I + 1, '$number_all'(Xs, J, Ps).
'$first_of_equals'([], []).
'$first_of_equals'([X-I|Ps], [I-X|Fs]) :- '$pass_equals'(Ps, X, Rest), '$first_of_equals'(Rest, Fs).
'$pass_equals'([Y-_|Ps], X, Rest) :- Y == X, !, '$pass_equals'(Ps, X, Rest).
'$pass_equals'(Rest, _, Rest).
list_to_ord_set(L, S) :- sort(L, S).
ord_union(A, B, C) :- '$append'(A, B, L), sort(L, C).
ord_subtract([], _, []).
ord_subtract([X|Xs], Ys, S) :- '$ord_without'(Ys, X, Xs, S).
'$ord_without'([], X, Xs, [X|Xs]).
'$ord_without'([Y|Ys], X, Xs, S) :- compare(O, X, Y), '$ord_without'(O, X, Xs, Y, Ys, S).
'$ord_without'(<, X, Xs, Y, Ys, [X|S]) :- '$ord_without_from'(Xs, Y, Ys, S).
'$ord_without'(=, _, Xs, _, Ys, S) :- ord_subtract(Xs, Ys, S).
'$ord_without'(>, X, Xs, _, Ys, S) :- '$ord_without'(Ys, X, Xs, S).
'$ord_without_from'([], _, _, []).
'$ord_without_from'([X|Xs], Y, Ys, S) :- compare(O, X, Y), '$ord_without'(O, X, Xs, Y, Ys, S).
ord_memberchk(X, L) :- '$member_eq'(X, L).
permutation([], []).
permutation(L, [X|P]) :- select(X, L, R), permutation(R, P).
pairs_keys_values([], [], []).
pairs_keys_values([K-V|Ps], [K|Ks], [V|Vs]) :- pairs_keys_values(Ps, Ks, Vs).
pairs_keys([], []).
pairs_keys([K-_|Ps], [K|Ks]) :- pairs_keys(Ps, Ks).
pairs_values([], []).
pairs_values([_-V|Ps], [V|Vs]) :- pairs_values(Ps, Vs).
predsort(P, L, S) :-
    length(L, N),
    ( N =:= 0 -> S = [] ; '$predsort'(P, N, L, _, S) ).
'$predsort'(_, 1, [X|L], L, [X]) :- !.
'$predsort'(P, N, L1, L3, S) :-
    N1 is N // 2, N2 is N - N1,
    '$predsort'(P, N1, L1, L2, S1), '$predsort'(P, N2, L2, L3, S2),
    '$predmerge'(P, S1, S2, S).
'$predmerge'(_, [], R, R) :- !.
'$predmerge'(_, R, [], R) :- !.
'$predmerge'(P, [X|Xs], [Y|Ys], R) :-
    call(P, O, X, Y), !, '$predmerge'(O, P, X, Y, Xs, Ys, R).
'$predmerge'(<, P, X, Y, Xs, Ys, [X|R]) :- '$predmerge'(P, Xs, [Y|Ys], R).
'$predmerge'(=, P, X, _, Xs, Ys, R) :- '$predmerge'(P, [X|Xs], Ys, R).
'$predmerge'(>, P, X, Y, Xs, Ys, [Y|R]) :- '$predmerge'(P, [X|Xs], Ys, R).
subsumes_term(G, S) :- \+ \+ ( term_variables(S, V0), G = S, term_variables(V0, V1), V0 == V1 ).

% ---- text

format(Sink, F, Args) :- '$sink'(Sink), !, '$to_memory'(format(F, Args), Text), '$give'(Sink, Text).
format(Stream, F, Args) :- '$format'(Stream, F, Args).
'$sink'(S) :- nonvar(S), ( S = atom(_) ; S = codes(_) ; S = chars(_) ; S = string(_) ), !.
'$give'(atom(A), A).
'$give'(string(A), A).
'$give'(codes(L), A) :- atom_codes(A, L).
'$give'(chars(L), A) :- atom_chars(A, L).
with_output_to(Sink, G) :- '$to_memory'(G, Text), '$give'(Sink, Text).
'$to_memory'(G, Text) :- '$memory_open', ( call(G) -> '$memory_close'(Text) ).
read_term_from_atom(A, T, _) :- term_to_atom(T, A).
print_message(K, M) :- '$say'(M, K), !.
print_message(_, _).
'$say'(format(F, As), K) :-
    '$member'(K, [error, warning]), !,
    format(user_error, 'leaflog: ~w: ', [K]), format(user_error, F, As), nl(user_error).
'$say'(E, error) :- '$print_error'(E).
phrase(G, L) :- phrase(G, L, []).
phrase(G, L, R) :-
    ( callable(G) -> true ; '$must_be'(callable, G) ), '$phrase_list'(L), '$phrase_list'(R),
    ( '$dcg_construct'(G) -> '$dcg_body'(G, S0, S, B), S0 = L, S = R, call(B) ; call(G, L, R) ).
'$phrase_list'(L) :- var(L), !.
'$phrase_list'([]) :- !.
'$phrase_list'([_|_]) :- !.
'$phrase_list'(L) :- throw(error(type_error(list, L), _)).
% what stands in a grammar's body and is no nonterminal
'$dcg_construct'((_, _)).
'$dcg_construct'((_ ; _)).
'$dcg_construct'((_ | _)).
'$dcg_construct'((_ -> _)).
'$dcg_construct'((_ *-> _)).
'$dcg_construct'(\+ _).
'$dcg_construct'(!).
'$dcg_construct'({_}).
'$dcg_construct'([]).
'$dcg_construct'([_|_]).

dcg_translate_rule((H, P --> B), (H1 :- B1)) :- !,
    '$dcg_head'(H, S0, S, H1), '$dcg_body'(B, S0, S1, B0),
    '$dcg_terminals'(P, S, S1, B2), B1 = (B0, B2).
dcg_translate_rule((H --> B), (H1 :- B1)) :-
    '$dcg_head'(H, S0, S, H1), '$dcg_body'(B, S0, S, B1).
'$dcg_head'(_ : H, S0, S, H1) :- !, '$dcg_head'(H, S0, S, H1).
'$dcg_head'(H, S0, S, H1) :- H =.. L0, '$append'(L0, [S0, S], L), H1 =.. L.
'$dcg_body'(B, S0, S, phrase(B, S0, S)) :- var(B), !.
'$dcg_body'((A, B), S0, S, (A1, B1)) :- !, '$dcg_body'(A, S0, S1, A1), '$dcg_body'(B, S1, S, B1).
'$dcg_body'((A ; B), S0, S, (A1 ; B1)) :- !, '$dcg_body'(A, S0, S, A1), '$dcg_body'(B, S0, S, B1).
'$dcg_body'((A | B), S0, S, G) :- !, '$dcg_body'((A ; B), S0, S, G).
'$dcg_body'((A -> B), S0, S, (A1 -> B1)) :- !, '$dcg_body'(A, S0, S1, A1), '$dcg_body'(B, S1, S, B1).
'$dcg_body'((A *-> B), S0, S, (A1 *-> B1)) :- !, '$dcg_body'(A, S0, S1, A1), '$dcg_body'(B, S1, S, B1).
'$dcg_body'(_ : B, S0, S, G) :- !, '$dcg_body'(B, S0, S, G).
'$dcg_body'(\+ A, S0, S, (\+ A1, S0 = S)) :- !, '$dcg_body'(A, S0, _, A1).
'$dcg_body'(!, S0, S, (!, S0 = S)) :- !.
'$dcg_body'({G}, S0, S, (G, S0 = S)) :- !.
'$dcg_body'([], S0, S, S0 = S) :- !.
'$dcg_body'([T|Ts], S0, S, G) :- !, L = [T|Ts],
    ( is_list(L) -> '$dcg_terminals'(L, S0, S, G) ; '$partial_list'(L), G = '$append'(L, S, S0) ).
'$dcg_body'(call(G), S0, S, call(G, S0, S)) :- !.
'$dcg_body'(call(G, A), S0, S, call(G, A, S0, S)) :- !.
'$dcg_body'(N, S0, S, G) :- '$must_be'(callable, N), '$dcg_head'(N, S0, S, G).
'$dcg_terminals'(L, S0, S, S0 = L1) :- '$append'(L, S, L1).

% ---- the database and flags

current_op(P, _, _) :-
    nonvar(P), \+ ( integer(P), P >= 0, P =< 1200 ), throw(error(domain_error(operator_priority, P), _)).
current_op(_, T, _) :-
    nonvar(T), \+ memberchk(T, [xfx, xfy, yfx, fy, fx, xf, yf]),
    throw(error(domain_error(operator_specifier, T), _)).
current_op(_, _, N) :- nonvar(N), \+ atom(N), throw(error(type_error(atom, N), _)).
current_op(P, T, N) :- '$ops'(L), '$member'(op(P, T, N), L).
current_prolog_flag(F, _) :- nonvar(F), \+ atom(F), throw(error(type_error(atom, F), _)).
current_prolog_flag(F, V) :- '$flags'(L), '$member'(F-V, L).
current_predicate(PI) :-
    ( nonvar(PI), PI = _ : PI1 -> true ; PI1 = PI ),
    '$indicator'(PI1),
    '$predicates'(L), '$member'(PI1, L).
'$indicator'(N/A) :- ( var(N) ; atom(N) ), ( var(A) ; integer(A) ), !.
'$indicator'(PI) :- throw(error(type_error(predicate_indicator, PI), _)).
predicate_property(H, P) :- nonvar(H), '$properties'(H, L), '$member'(P, L).
predicate_property(H, P) :-
    var(H), '$predicates'(Ps), '$member'(N/A, Ps), functor(H, N, A),
    '$properties'(H, L), '$member'(P, L).
listing :- '$predicates'(L), '$listing'(L).
listing(N/A) :- !, '$listing'([N/A]).
listing(N) :-
    '$predicates'(All), findall(N/A, '$member'(N/A, All), L), '$listing'(L).
'$listing'([]).
'$listing'([N/A|L]) :-
    functor(H, N, A),
    ( predicate_property(H, dynamic) -> format(':- dynamic ~q.~n', [N/A]), '$list_clauses'(H) ; true ),
    '$listing'(L).
'$list_clauses'(H) :- clause(H, B), portray_clause((H :- B)), fail.
'$list_clauses'(_) :- nl.
portray_clause(T) :-
    \+ \+ ( ( ground(T) -> true ; numbervars(T, 0, _, [singletons(true)]) ), '$portray'(T) ).
'$portray'((H :- true)) :- !, '$portray_part'('.', H, 1199).
'$portray'((H :- B)) :- !, '$portray_part'('', H, 1199), write(' :-'), '$portray_line'(1), '$portray_body'(B, 1, '.').
'$portray'(T) :- '$portray_part'('.', T, 1200).
% The goals of a body, the first at N steps from the margin and the others
% below it; a construct of several branches stands in brackets.
'$portray_body'((A, B), N, End) :- !,
    '$portray_body'(A, N, ','), '$portray_line'(N), '$portray_body'(B, N, End).
'$portray_body'(G, N, End) :-
    '$portray_branching'(G), !,
    M is N + 1, write('(   '), '$portray_branches'(G, N, M), '$portray_line'(N), write(')'), '$portray_end'(End).
'$portray_body'(G, _, End) :- '$portray_part'(End, G, 999).
'$portray_branching'((_ ; _)).
'$portray_branching'((_ -> _)).
'$portray_branching'((_ *-> _)).
'$portray_branches'((A ; B), N, M) :- !,
    '$portray_branch'(A, N, M), '$portray_line'(N), write(';   '), '$portray_branches'(B, N, M).
'$portray_branches'(G, N, M) :- '$portray_branch'(G, N, M).
'$portray_branch'((C -> T), N, M) :- !, '$portray_if'(C, '->  ', T, N, M).
'$portray_branch'((C *-> T), N, M) :- !, '$portray_if'(C, '*-> ', T, N, M).
'$portray_branch'(G, _, M) :- '$portray_body'(G, M, '').
'$portray_if'(C, Arrow, T, N, M) :-
    '$portray_body'(C, M, ''), '$portray_line'(N), write(Arrow), '$portray_body'(T, M, '').
'$portray_line'(N) :- nl, K is 4 * N, tab(K).
'$portray_part'('.', T, P) :- !,
    write_term(T, [quoted(true), numbervars(true), priority(P), fullstop(true), nl(true)]).
'$portray_part'(End, T, P) :- write_term(T, [quoted(true), numbervars(true), priority(P)]), write(End).
'$portray_end'('.') :- !, write('.'), nl.
'$portray_end'(End) :- write(End).
[F|Fs] :- '$consult_all'([F|Fs]).
'$consult_all'([]).
'$consult_all'([F|Fs]) :- consult(F), '$consult_all'(Fs).
% Of a module all is public; the operators it exports are declared.
module(_, Es) :- ( is_list(Es) -> '$declare_operators'(Es) ; true ).
'$declare_operators'([]).
'$declare_operators'([E|Es]) :-
    ( nonvar(E), E = op(P, T, N) -> op(P, T, N) ; true ), '$declare_operators'(Es).
set_stream(_, _).
style_check(_).
export(_).
load_csv(File, Name) :- '$load_csv'(File, Name, ',', _).
load_tsv(File, Name) :- '$load_csv'(File, Name, '\t', _).
load_csv(File, Name, Rows) :- '$load_csv'(File, Name, ',', Rows).
load_tsv(File, Name, Rows) :- '$load_csv'(File, Name, '\t', Rows).
statistics :-
    statistics(cputime, C), statistics(inferences, I), statistics(memory, M),
    format('~3f seconds of processor time, ~D inferences, ~D bytes of stacks~n', [C, I, M]).
time(G) :-
    statistics(cputime, C0), statistics(inferences, I0),
    ( catch(G, E, true) -> R = true ; R = false ),
    statistics(cputime, C1), statistics(inferences, I1),
    C is C1 - C0, I is I1 - I0,
    format(user_error, '% ~3f seconds of processor time, ~D inferences~n', [C, I]),
    ( nonvar(E) -> throw(E) ; R == true ).
random_between(L, H, X) :- X is L + random(H - L + 1).
random(X) :- X is random_float.
random(L, H, X) :- ( integer(L), integer(H) -> X is L + random(H - L) ; X is L + (H - L) * random_float ).
maybe :- 0 is random(2).
maybe(P) :- random_float < P.
random_member(X, L) :- length(L, N), I is random(N), '$nth'(I, L, X).
random_permutation(L, P) :- '$keyed'(L, K), keysort(K, S), pairs_values(S, P).
'$keyed'([], []).
'$keyed'([X|Xs], [R-X|Ks]) :- R is random_float, '$keyed'(Xs, Ks).
shell(C) :- shell(C, 0).
% a string is an atom here; where one is wanted, a list of codes or of
% characters, such as "text" is, will do, and [], which "" is
'$text'(S, A) :- ( nonvar(S), S = [_|_] -> atom_codes(A, S) ; S == [] -> A = '' ; A = S ).
string_concat(S, T, U) :- '$text'(S, A), '$text'(T, B), '$text'(U, C), atom_concat(A, B, C).
string_length(S, N) :- '$text'(S, A), atom_length(A, N).
string_codes(S, L) :- '$text'(S, A), atom_codes(A, L).
string_chars(S, L) :- '$text'(S, A), atom_chars(A, L).
string_to_atom(S, A) :- '$text'(S, T), ( var(T), nonvar(A) -> S = A ; atomic_list_concat([T], A) ).
atom_string(A, S) :-
    (   var(A)
    ->  atom_codes(B, S), A = B
    ;   ( A == [] -> T = A ; '$text'(A, T) ), atomic_list_concat([T], B),
        ( var(S) -> S = B ; atom_codes(C, S), C = B )
    ).
number_string(N, S) :- atom_number(S, N).
assertion(G) :- ( \+ \+ call(G) -> true ; throw(error(assertion_failed(G), _)) ).
nb_current(K, V) :- catch(nb_getval(K, V), _, fail).

% ---- tables

tabled_call(G, N) :- '$tabled_calls'(L), '$member'(G-N, L).
table_counts(PI, L) :- '$table_counts'(PI, L).

% ---- threads

thread_create(G, Id) :- '$thread_create'(G, Id, [], false).
thread_create(G) :- '$thread_create'(G, _, [], true).
thread_create(G, Id, Options) :-
    ( '$member'(alias(A), Options) -> true ; A = [] ),
    ( '$member'(detached(true), Options) -> D = true ; D = false ),
    '$thread_create'(G, Id, A, D).
thread_join(Id) :-
    thread_join(Id, S),
    ( S == true -> true ; throw(error(thread_error(Id, S), _)) ).
thread_get_message(Q, M, Options) :-
    ( '$member'(timeout(T), Options)
    -> Ms is integer(min(max(T, 0), 1.0e9) * 1000), '$thread_get_message'(Q, M, Ms)
    ; thread_get_message(Q, M) ).
thread_property(Id, status(S)) :- '$threads'(L), '$member'(Id-S, L).
thread_exit(T) :- throw(unwind(thread_exit(T))).
message_queue_create(Q) :- '$queue_create'(Q, 0).
message_queue_create(Q, Options) :-
    ( '$member'(alias(A), Options) -> Q = A ; true ),
    ( '$member'(max_size(N), Options) -> true ; N = 0 ), '$queue_create'(Q, N).
message_queue_property(Q, size(N)) :- '$queue_size'(Q, N).
mutex_create(M, Options) :-
    ( '$member'(alias(A), Options) -> M = A ; true ), mutex_create(M).
with_mutex(M, G) :- '$mutex_hold'(M), ( call(G) -> '$mutex_release' ).

% Goals by many threads: a queue of work, as many threads as asked, and a queue
% of results. All of it is done before anything is decided, but for a limit or
% Ctrl-C; of errors the one that came first is thrown.
concurrent_forall(Gen, Test) :- concurrent_forall(Gen, Test, []).
concurrent_forall(Gen, Test, Options) :-
    ( '$member'(threads(N), Options) -> true ; N = 4 ),
    findall(Gen-Test, Gen, Work),
    '$concurrently'(N, '$forall_step', Work, Results),
    \+ '$member'(false, Results).
'$forall_step'(_-Test, R) :- ( call(Test) -> R = true ; R = false ).

concurrent(N, Goals, _) :-
    '$concurrently'(N, '$goal_step', Goals, Results),
    '$all_same'(Goals, Results).
'$goal_step'(G, R) :- ( call(G) -> R = yes(G) ; R = false ).
'$all_same'([], []).
'$all_same'([G|Gs], [yes(G)|Rs]) :- '$all_same'(Gs, Rs).

concurrent_maplist(G, L) :- '$pair_goals'(L, G, Gs), concurrent(4, Gs, []).
concurrent_maplist(G, L, M) :- '$pair_goals'(L, M, G, Gs), concurrent(4, Gs, []).
'$pair_goals'([], _, []).
'$pair_goals'([X|Xs], G, [call(G, X)|Gs]) :- '$pair_goals'(Xs, G, Gs).
'$pair_goals'([], [], _, []).
'$pair_goals'([X|Xs], [Y|Ys], G, [call(G, X, Y)|Gs]) :- '$pair_goals'(Xs, Ys, G, Gs).
first_solution(X, Goals, _) :- '$member'(G, Goals), call(G), !, X = X.

'$concurrently'(N, Step, Work, Results) :-
    '$queue_create'(In, 0), '$queue_create'(Out, 0), '$cleanup'('$dismiss'(In, Out)),
    '$send_work'(Work, 0, Count, In),
    Threads is min(N, max(1, Count)),
    '$spawn'(Threads, In, Out, Step),
    '$gather'(Count, Threads, Out, Pairs, Error), !, % and they are dismissed
    ( nonvar(Error) -> throw(Error) ; true ),
    keysort(Pairs, Sorted), pairs_values(Sorted, Results).
% However it ended: whoever waits for more work gets an error, and so does who
% has still a result.
'$dismiss'(In, Out) :- message_queue_destroy(In), message_queue_destroy(Out), '$crew_end'(Out).
'$send_work'([], N, N, _).
'$send_work'([W|Ws], I, N, In) :-
    thread_send_message(In, work(I, W)), J is I + 1, '$send_work'(Ws, J, N, In).
'$spawn'(0, _, _, _) :- !.
'$spawn'(N, In, Out, Step) :-
    '$crew_add'('$serve'(In, Out, Step), Out), M is N - 1, '$spawn'(M, In, Out, Step).
'$serve'(In, Out, Step) :-
    thread_get_message(In, work(I, W)),
    catch(( call(Step, W, R) -> Result = R ; Result = false ), E, true),
    ( nonvar(E) -> thread_send_message(Out, error(E))
    ; thread_send_message(Out, done(I, Result)) ),
    '$serve'(In, Out, Step).
'$gather'(0, _, _, [], _) :- !.
'$gather'(N, Threads, Out, Pairs, Error) :-
    thread_get_message(Out, M), '$gathered'(M, N, Threads, Out, Pairs, Error).
'$gathered'(done(I, R), N, Threads, Out, [I-R|Pairs], Error) :-
    N1 is N - 1, '$gather'(N1, Threads, Out, Pairs, Error).
'$gathered'(error(E), N, Threads, Out, Pairs, Error) :-
    ( var(Error) -> Error = E ; true ),
    N1 is N - 1, '$gather'(N1, Threads, Out, Pairs, Error).
% Of a thread that could not begin: the others do the work, if there are any.
'$gathered'(resource_error, N, Threads, Out, Pairs, Error) :-
    ( Threads =:= 1 -> throw(error(resource_error(memory), _)) ; true ),
    Left is Threads - 1, '$gather'(N, Left, Out, Pairs, Error).
