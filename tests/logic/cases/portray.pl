% SPDX-License-Identifier: MIT
%: args -g main
%> :- dynamic stored/2.
%> stored(A,B) :-
%>     (   a(A)
%>     ;   b(B)
%>     ),
%>     c(A).
%> stored(A,_) :-
%>     \+ (a(A),b),
%>     (   p(A)
%>     ->  q
%>     ;   r
%>     ->  s
%>     ;   t
%>     ).
%>
%> h(A,B,_) :-
%>     (   a(A)
%>     ;   b(B)
%>     ),
%>     c(A).
%> h :-
%>     (   a
%>     *-> b
%>     ;   c
%>     ),
%>     (   (   d
%>         ;   e
%>         )
%>     ->  (   f
%>         ->  g
%>         )
%>     ;   true
%>     ).
%> h :-
%>     (   a
%>     ->  b
%>     ),
%>     (c:-d),
%>     (x-->y),
%>     (e|f).
%> h(A) :-
%>     A,
%>     \+ (b;c),
%>     catch((d,e;f),_,true).
%> f(A,A,_).
%> :-dynamic a/1.
%> a,b :-
%>     c.
%> all read again
% What portray_clause/1 and listing/1 write is read again as the same clause.
:- dynamic(stored/2).
stored(X, Y) :- ( a(X) ; b(Y) ), c(X).
stored(X, _) :- \+ ( a(X), b ), ( p(X) -> q ; r -> s ; t ).
clauses([( h(X, Y, _) :- ( a(X) ; b(Y) ), c(X) ),
         ( h :- ( a *-> b ; c ), ( ( d ; e ) -> ( f -> g ) ; true ) ),
         ( h :- ( a -> b ), ( c :- d ), ( x --> y ), ( e | f ) ),
         ( h(A) :- A, \+ ( b ; c ), catch(( d, e ; f ), _, true) ),
         f(B, B, _), ( :- dynamic a/1 ), ( a , b :- c )]).
main :-
    listing(stored/2),
    clauses(L), forall(member(C, L), portray_clause(C)),
    ( member(C, L), \+ again(C) -> writeq(lost(C)), nl ; writeln('all read again') ).
again(C) :- with_output_to(atom(A), portray_clause(C)), term_to_atom(C1, A), C1 =@= C.
