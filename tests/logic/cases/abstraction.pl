% SPDX-License-Identifier: MIT
%: args -g main
%: designs
% Calls that grow without end: abstracted below a depth, or refused above a size.
%> grows [1,2,f(2),f(f(2)),f(f(f(2)))]
%> deep [p(f(f(f(2))))] []
%> calls [p(_),p(f(_)),p(f(f(_)))]
%> top [q(g(g(b)),2),q(g(g(b)),g(b))]
%> least [r(a,7),r(b,2)]
%> absent [f(f(1))]
%> refused domain_error(table_mode,subgoal_abstract(1001))
%> refused type_error(integer,a)
%> flags infinite infinite error
%> size term_size
%> size term_size
%> bounded [1]
%> abstract 3 abstract [0]
%> again [0]
:- table p/1 as subgoal_abstract(2), s/1 as subgoal_abstract(2).
:- table r(_, min) as subgoal_abstract(1).
:- table q/2 as variant, subgoal_abstract(0).
p(X) :- p(f(X)).
p(1).
p(f(f(f(2)))).
q(X, Y) :- q(g(X), Y), fail.
q(a, 1). q(g(g(b)), 2). q(g(X), X).
r(X, C) :- e(X, C).
r(X, C) :- r(f(X), C0), C is C0 + 1.
e(f(f(f(f(a)))), 3). e(f(b), 1).
s(f(f(1))).
:- table up/1, long/1, u/1.
up(X) :- up(f(X)).
up(0).
u(X) :- up(X).
long(L) :- length(L, 9).
long(1).
main :-
    findall(X, p(X), L1), sort(L1, S1), say(grows, S1),
    findall(p(f(f(f(2)))), p(f(f(f(2)))), L2), findall(x, p(f(f(f(3)))), L3), write(deep), show(L2), show(L3), nl,
    findall(p(X), tabled_call(p(X), _), L4), sort(L4, S4), numbervars(S4, 0, _, [singletons(true)]), say(calls, S4),
    findall(q(g(g(b)), X), q(g(g(b)), X), L6), sort(L6, S6), say(top, S6),
    findall(r(X, C), ( r(X, C), atom(X) ), L7), sort(L7, S7), say(least, S7),
    findall(X, ( member(X, [f(f(1)), f(f(f(1)))]), \+ \+ s(X), tnot(s(f(X))) ), L8), say(absent, L8),
    refused(subgoal_abstract(1001)), refused(subgoal_abstract(a)),
    limited.
limited :-
    thread_self(Me), Me \== main, !.
limited :-
    flags(A, C, D), write(flags), write(' '), write(A), write(' '), write(C), write(' '), write(D), nl,
    set_prolog_flag(max_table_subgoal_size, 20),
    catch(u(_), error(resource_error(E1), _), ( write(size), write(' '), write(E1), nl )),
    set_prolog_flag(max_table_answer_size, 8),
    catch(( long(_), fail ), error(resource_error(E2), _), ( write(size), write(' '), write(E2), nl )),
    set_prolog_flag(max_table_answer_size, infinite),
    findall(1, ( long(L), is_list(L) ), L1), say(bounded, L1),
    set_prolog_flag(max_table_subgoal_size_action, abstract), set_prolog_flag(max_table_subgoal_size, 3),
    flags(_, C1, D1), findall(X, u(X), L2), write(abstract), write(' '), write(C1), write(' '), write(D1), show(L2), nl,
    set_prolog_flag(max_table_subgoal_size, infinite), set_prolog_flag(max_table_subgoal_size_action, error),
    findall(X, u(X), L3), say(again, L3).
flags(A, C, D) :-
    current_prolog_flag(max_table_answer_size, A), current_prolog_flag(max_table_subgoal_size, C),
    current_prolog_flag(max_table_subgoal_size_action, D).
refused(M) :- catch(table(z/1 as M), error(E, _), ( write(refused), write(' '), print(E), nl )).
say(W, L) :- write(W), show(L), nl.
show(L) :- write(' '), print(L).
