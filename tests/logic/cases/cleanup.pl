% SPDX-License-Identifier: MIT
%: args -g main
% setup_call_cleanup/3 runs its cleanup once, and as soon as the goal is through.
%> a1;done;a2;
%> 1;done;after;
%> 2;done;after;
%> 1;2;done;3;
%> 1;done;not;
%> 1;done;then;
%> 1;done;first;
%> [inner,outer];cut;
%> [inner,outer];caught(x);
%> exited;done;caught(late);
%> 1;done;caught(cleanup);
%> done;caught(goal);
%> instantiation_error;type_error(callable,3);
%> [1,2];done;
%> 1;done;1;
%> done;f(1,K,[x,y,z]);kept;
%> 10000
%> resource_error(cleanups);resource_error(cleanups);
w(X) :- write(X), write(';').
member_done(X) :- setup_call_cleanup(true, member(X, [1, 2, 3]), w(done)).
neck(X, _) :- member_done(X), w(X), !.
test(A, B, C) :- once(member_done(_)), A = [A0|_], A0 = x, B = y, C = z.
:- dynamic seen/1.
note(X) :- assertz(seen(X)).
nested(X) :-
    setup_call_cleanup(true,
        ( setup_call_cleanup(true, member(X, [1, 2]), note(inner)) ; X = 3 ), note(outer)).
seen :- findall(X, retract(seen(X)), L), write(L), write(';').
main :-
    w(a1), setup_call_cleanup(true, true, w(done)), w(a2), nl,
    neck(_, _), w(after), nl,
    ( member_done(X2), X2 > 1, w(X2), ! ; true ), w(after), nl, more.
more :-
    ( member_done(X), w(X), fail ; nl ),
    ( \+ ( member_done(Y), w(Y) ) -> true ; w(not) ), nl,
    ( member_done(Z), w(Z) -> w(then) ; true ), nl,
    once((member_done(V), w(V))), w(first), nl,
    ( nested(_), ! ; true ), still.
still :-
    seen, w(cut), nl,
    catch(( nested(_), throw(x) ), x, true), seen, w(caught(x)), nl,
    catch(( setup_call_cleanup(true, repeat, w(done)), w(exited), throw(late) ), E1, true), w(caught(E1)), nl,
    catch(( setup_call_cleanup(true, member(A, [1, 2]), ( w(done), throw(cleanup) )), w(A), ! ), E2, true),
    w(caught(E2)), nl, last.
last :-
    catch(setup_call_cleanup(true, throw(goal), ( w(done), throw(cleanup) )), E, true), w(caught(E)), nl,
    catch(setup_call_cleanup(true, true, _), error(F, _), w(F)),
    catch(setup_call_cleanup(true, true, 3), error(G, _), w(G)), nl,
    setup_call_cleanup(true, findall(X, member(X, [1, 2]), L), true), w(L), w(done), nl,
    call_cleanup(member(Q, [1, 2]), ( w(Q), w(done) )), !, w(Q), nl,
    registers(f(1, _, [x, y, z])), many(10000), nl, deep.
registers(T) :- T = f(A, 'K', B), test([x|_], y, z), w(f(A, 'K', B)), w(kept), nl.
% cleanups within cleanups
deep :- below(50, true), below(50, fail), catch(below(1000, true), error(E, _), w(E)), catch(below(1000, fail), error(F, _), w(F)), nl.
below(0, _) :- !.
below(N, G) :- M is N - 1, ignore(setup_call_cleanup(true, G, below(M, G))).
many(N) :- nb_setval(ran, 0), loop(N), nb_getval(ran, R), write(R).
loop(0) :- !.
loop(N) :- step(N, M), loop(M).
step(N, M) :- setup_call_cleanup(true, repeat, ( nb_getval(ran, R), R1 is R + 1, nb_setval(ran, R1) )), M is N - 1, !.
