% SPDX-License-Identifier: MIT
%: args -g main
%: designs
%: threads 2
%> left [a-4,b-1,c-3,d-10]
%> bound yes no
%> loops [a-4,b-4,c-4]
%> shortest [a,c,d]
%> best [a-4,b-1,c-3,d-10]
%> first [a-3,b-1] last [a-3,b-7] sum [a-9,b-8]
%> ends [a-1-3,b-1-7]
%> key [1-[x,y],2-[y]]
%> back and forth [1]
%> nonground [f(A,B,A)]
%> none yes
%> nothing half made: error [a-1]
%> redeclared [1]
%> refused domain_error(table_mode,least)
%> refused domain_error(table_mode,lattice(q/2))
%> refused stratification_error
:- table path(_,_,min).
path(X,Y,C) :- edge(X,Y,C).
path(X,Y,C) :- path(X,Z,A), edge(Z,Y,B), C is A+B.
edge(a,b,1). edge(b,c,2). edge(a,c,5). edge(c,a,1). edge(c,d,7).

:- table sp(_,_,lattice(shorter/3)).
sp(X,Y,[X,Y]) :- edge(X,Y,_).
sp(X,Y,P) :- sp(X,Z,P0), edge(Z,Y,_), append(P0,[Y],P).
shorter(A,B,C) :- length(A,N), length(B,M), ( M < N -> C = B ; C = A ).

:- table pp(+,index,po(better(_,_))).
pp(X,Y,C) :- edge(X,Y,C).
pp(X,Y,C) :- edge(X,Z,A), pp(Z,Y,B), C is A+B.
better(A,B) :- B < A.

:- table f(_,-), l(_,last), s(_,sum), ends(_,min,max), k(_,all).
f(X,Y) :- d(X,Y).
l(X,Y) :- d(X,Y).
s(X,Y) :- d(X,Y).
ends(X,Y,Y) :- d(X,Y).
d(a,3). d(b,1). d(a,1). d(a,2). d(b,7). d(a,3).
k(1,x). k(1,y). k(2,y). k(1,x).

% a value that comes back after it was replaced
:- table turn(last).
turn(1). turn(2). turn(1).

:- table ng(_,lattice(keep/3)).
ng(x, f(A,_,A)).
ng(x, f(_,_,_)).
keep(A,_,A).

% declared anew, after it was called
:- table again/1.
again(2).
again(1).
:- findall(X, again(X), _).
:- table again(min).

% an error in the middle
:- table broken(_,lattice(break/3)).
broken(a,1).
broken(a,2) :- nb_getval(flag, on).
break(_,_,_) :- throw(broke).

% a lattice that would have to wait for its own table
:- table own(_,lattice(ask/3)).
own(a,1).
own(a,2) :- own(b,_).
own(b,1) :- own(a,_).
ask(_,B,B) :- own(b,_).

pairs(T, G, L) :- findall(T, G, L0), sort(L0, L).
out(L) :- with_output_to(atom(A), forall(member(X,L), write(X))), atom_concat(A, '\n', B), write(B).
declare(M) :- catch(table(M), error(E,_), true), ( nonvar(E) -> out(['refused ',E]) ; true ).

main :-
    pairs(Y-C, path(a,Y,C), L1), out(['left ',L1]),
    ( path(a,c,3) -> R1 = yes ; R1 = no ), ( path(a,c,5) -> R2 = yes ; R2 = no ), out(['bound ',R1,' ',R2]),
    pairs(X-C, path(X,X,C), L2), out(['loops ',L2]),
    sp(a,d,P), out(['shortest ',P]),
    pairs(Y-C, pp(a,Y,C), L3), out(['best ',L3]),
    pairs(Y-C, f(Y,C), L4), pairs(Y-C, l(Y,C), L5), pairs(Y-C, s(Y,C), L6),
    out(['first ',L4,' last ',L5,' sum ',L6]),
    pairs(X-Y-Z, ends(X,Y,Z), L7), out(['ends ',L7]),
    findall(X-Ys, (member(X,[1,2]), pairs(Y, k(X,Y), Ys)), L8), out(['key ',L8]),
    pairs(T, turn(T), L9), out(['back and forth ',L9]),
    findall(N, ng(x,N), [N1]), copy_term(N1, f(U,V,W)), ( U == W, U \== V -> out(['nonground [f(A,B,A)]']) ; true ),
    ( \+ path(d,_,_) -> out(['none yes']) ; out(['none no']) ),
    nb_setval(flag, on), catch(broken(a,_), broke, E1 = error),
    nb_setval(flag, off), pairs(X-Y, broken(X,Y), L10),
    out(['nothing half made: ',E1,' ',L10]),
    pairs(X, again(X), L11), out(['redeclared ',L11]),
    declare(q(least)), declare(q(lattice(q/2))),
    catch(own(a,_), error(stratification_error(_,_),_), out(['refused stratification_error'])).

