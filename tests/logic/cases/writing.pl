% SPDX-License-Identifier: MIT
%: args -g main
%> :- (^)
%> (-),a:-(+)
%> [-,:-|;]
%> :- (a:-b),c
%> \+ (-)^2
%> - 1^2
%> -(1)
%> - -a
%> 'my pre' 'my pre'x
%> 'x y' 'my op' 0
%> 0 'my end'
%> (:-x) uxf+1
%> '!\x0\'
%> [5.0e-324,1.0e-320,2.2250738585072014e-308,0.1]
%> ['my pre',1]
%> -(1)
%> all read again
%> # .
%> a. 1- # . (+ . )
%> (-)- # .
%> a :-
%>     b,
%>     #,
%>     # .
% What is written is read again as the same term.
:- op(700, xfx, 'my op').
:- op(900, fy, 'my pre').
:- op(350, xf, 'my end').
:- op(500, xf, uxf).
:- dynamic(term/1).
term(:-(^)).
term(:-(','(-, a), +)).
term([-, (:-)|(;)]).
term(:-(','(:-(a, b), c))).
term(\+('^'(-, 2))).
term(-('^'(1, 2))).
term(-(1)).
term(-(-(a))).
term('my pre'('my pre'(x))).
term('my op'('x y', 0)).
term('my end'(0)).
term('+'(uxf(:-(x)), 1)).
term('!\0\').
term([5.0e-324, 1.0e-320, 2.2250738585072014e-308, 0.1]).
main :-
    forall(term(T), ( writeq(T), nl )),
    X = ('my pre' 1), X =.. L, print(L), nl,
    Y = '-' 1, write_canonical(Y), nl,
    ( term(T), \+ again(T) -> writeq(lost(T)), nl ; true ),
    ( operands(T), \+ again(T) -> writeq(lost(T)), nl ; writeln('all read again') ),
    write_term(#, [fullstop(true), nl(true)]),
    write_term(a, [fullstop(true)]), write_term(1 - #, [fullstop(true)]), format("(~W)~n", [+, [fullstop(true)]]),
    portray_clause((-) - #), portray_clause(( a :- b, #, # )).
again(T) :- with_output_to(atom(A), writeq(T)), term_to_atom(T1, A), T1 == T.
% Every operator around every kind of operand, twice.
operands(T) :- outer(T, X), outer(X, Y), kind(Y).
outer(T, X) :-
    current_op(_, Type, Op), Op \== '|',
    ( memberchk(Type, [fy, fx, xf, yf]) -> T =.. [Op, X] ; T =.. [Op, X, -] ; T =.. [Op, [], X] ).
kind(X) :- member(X, [a, 'A', -1, (-), 'my op', {a}, (a, b)]).
