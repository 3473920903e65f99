% SPDX-License-Identifier: MIT
%: args -g main
% Declarations of tables, and what programs of other systems ask about tables.
%! % note 1 of 2
%> untabled [1,2] [1,2,1] [1,2] [1,2,1]
%> untabled in part [1,2] [1,2,1]
%> several [v,v2,w,w2]
%> not a predicate type_error(predicate_indicator,p)
%> instantiation_error
%> not now permission_error(modify,table,being_evaluated)
%> gone existence_error(table,p/1)
%> monotonic [1] [1,2] [2]
%> opaque [1] [1]
%> invalid false true
%> undefined stratification_error
%> stratified true []
%> singletons f(A,_,g(A,_,B,B)) 2
%> B Name 'Name '(B) '$VAR'('Na me')
%> anew [] [2] [2]
%> shared now [main,main] [main,main]
%> threads true
%> random true 0 false
:- table p/1, q/1.
p(1). p(2). p(1).
q(X) :- p(X).
:- table v/1 as variant, opaque, w/1 as opaque, shared.
:- table [v2/1 as subsumptive, w2/1].
v(1). w(1). v2(1). w2(1).
:- table busy/0.
busy :- untable(busy/0).
:- dynamic d/1 as (monotonic, lazy).
:- dynamic([e/1], [monotonic(true)]).
:- dynamic o/1 as incremental.
:- dynamic o/1 as opaque.
:- table r/1 as (monotonic, lazy), s/1.
r(X) :- d(X).
r(X) :- e(X).
s(X) :- o(X).
:- table y(_, min).
y(a, 2). y(a, 1).
:- table g/1.
:- dynamic seen/1.
g(1) :- thread_self(Me), assertz(seen(Me)).
all(X, G, L) :- findall(X, G, L).
main :-
    all(X, p(X), L1), untable(p/1), all(X, p(X), L2), all(X, q(X), L3),
    untable([q/1, none/3]), all(X, q(X), L4), say(untabled, [L1, L2, L3, L4]),
    table((p/1, q/1)), untable((q/1, none/3)), all(X, p(X), L5), untable(p/1), all(X, q(X), L6),
    say('untabled in part', [L5, L6]),
    findall(F, ( member(H, [v(_), w(_), v2(_), w2(_)]), predicate_property(H, tabled), call(H), functor(H, F, _) ), Fs),
    sort(Fs, Fs1), say(several, [Fs1]),
    catch(untable(p), error(E1, _), say('not a predicate', [E1])),
    catch(untable(_), error(E2, _), say(E2, [])),
    catch(busy, error(E3, _), say('not now', [E3])),
    catch(abolish_table(p/1), error(E4, _), say(gone, [E4])),
    assertz(d(1)), all(X, r(X), L7), assertz(e(2)), all(X, r(X), L8),
    retract(d(1)), all(X, r(X), L9), say(monotonic, [L7, L8, L9]),
    assertz(o(1)), all(X, s(X), L10), assertz(o(2)), all(X, s(X), L11), say(opaque, [L10, L11]),
    ( incr_is_invalid(r(_)) -> V1 = true ; V1 = false ), assertz(d(1)),
    ( incr_is_invalid(r(_)) -> V2 = true ; V2 = false ), say(invalid, [V1, V2]),
    catch(undefined, error(stratification_error(_, _), _), say(undefined, [stratification_error])),
    call_delays(r(_), D), call_residual_program(r(_), P), say(stratified, [D, P]),
    T = f(A, _, g(A, _, B, B)), numbervars(T, 0, N, [singletons(true)]), say(singletons, [T, N]),
    say('$VAR'(1), ['$VAR'('Name'), 'Name '('$VAR'(1)), '$VAR'('Na me')]),
    anew,
    ( current_prolog_flag(threads, true) -> say(threads, [true]) ; true ),
    random(1, 4, R), random(0.5, 0.75, R1), R0 is truncate(R1),
    ( integer(R), R >= 1, R < 4 -> V3 = true ; V3 = false ), ( maybe(0) -> V4 = true ; V4 = false ),
    say(random, [V3, R0, V4]), ( maybe ; true ), !,
    debug(note), debug(note, "note ~w of ~w", [1, 2]), nodebug(note), debug(note, "no", []).
anew :-
    y(_, _), table(y/2), all(X, tabled_call(y(_, X), _), L1), y(a, Y), all(N, tabled_call(y(a, _), N), L2),
    say(anew, [L1, [Y], L2]),
    g(_), table(g/1 as shared), g(_), all(M, seen(M), L3),
    thread_create(g(_), Id), thread_join(Id, true), all(M, seen(M), L4), say('shared now', [L3, L4]), !.
say(W, L) :- write(W), forall(member(X, L), ( write(' '), print(X) )), nl.
