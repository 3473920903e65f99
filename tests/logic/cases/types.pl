% SPDX-License-Identifier: MIT
%: args -g main
%> between(1,3) ok y
%> between(1,3) type_error(between(1,3),5) n
%> between(1,3) type_error(between(1,3),a) n
%> between(0.0,1) ok y
%> oneof([a,b]) ok y
%> oneof([a,b]) type_error(oneof([a,b]),c) n
%> oneof([a]) instantiation_error n
%> list(integer) ok y
%> list(integer) type_error(integer,a) n
%> list(integer) type_error(list(integer),foo) n
%> list instantiation_error n
%> list type_error(list,[a|b]) n
%> float type_error(float,1) n
%> compound type_error(compound,a) n
%> ground instantiation_error n
%> chars type_error(char,1) n
%> codes type_error(code,-1) n
%> text ok y
%> text type_error(text,f(x)) n
%> char type_error(char,ab) n
%> code type_error(code,-1) n
%> bool type_error(bool,1) n
%> boolean instantiation_error n
%> pair type_error(pair,a) n
%> pair ok y
%> callable type_error(callable,3) n
%> atom type_error(atom,[a|A]) n
%> acyclic ok y
%> cyclic domain_error(cyclic_term,a) n
%> any ok y
%> var uninstantiation_error(a) n
%> positive_integer type_error(positive_integer,0) n
%> positive_integer type_error(integer,1.5) n
%> nonneg type_error(nonneg,-1) n
%> negative_integer ok y
%> no_type existence_error(type,no_type) n
%> yes
%> no
%> type_error(integer,a)
%> domain_error(not_less_than_zero,-1)
%> domain_error(not_less_than_zero,-1)
%> domain_error(not_less_than_zero,-1)
%> type_error(integer,a)
%> no
%> yes
%> 10 100 FF yes
%> evaluation_error(undefined)
%> evaluation_error(zero_divisor)
%> 1180591620717411303424
%> 0
%> '/a/b'-b-'/a'
%> 'a/b/'-b-a
%> 'a//b'-b-a
%> a-a-'.'
%> (/)-(/)-(/)
%> ''-''-'.'
%> '/a'-a-(/)
%> (//)-(/)-(/)
%> foo-'.pl'-'foo.pl'
%> foo-pl-'foo.pl'
%> 'a.b/foo'-''-'a.b/foo'
%> 'a.tar'-gz-'a.tar.gz'
%> foo-'.pl'-'foo.pl'
%> 'foo.pl'-pl-'foo.pl'
%> foo-''-foo
%> no
% Types of must_be/2 and is_of_type/2, and other arguments that do not fit.
main :-
    forall(member(T-X, [between(1, 3)-2, between(1, 3)-5, between(1, 3)-a, between(0.0, 1)-0.5, oneof([a, b])-b,
                        oneof([a, b])-c, oneof([a])-_, list(integer)-[1, 2], list(integer)-[1, a], list(integer)-foo,
                        list-[a|_], list-[a|b], float-1, compound-a, ground-f(_), chars-[a, 1], codes-[0'a, -1], text-"a", text-f(x),
                        char-ab, code-(-1), bool-1, boolean-_, pair-a, pair-(a-b), callable-3, atom-[a|_], acyclic-a, cyclic-a,
                        any-_, var-a, positive_integer-0, positive_integer-1.5, nonneg-(-1), negative_integer-(-1), no_type-a]),
           ( catch(( must_be(T, X), R = ok ), error(R, _), true), ( catch(is_of_type(T, X), error(_, _), fail) -> Y = y ; Y = n ),
             print(T), write(' '), \+ \+ ( numbervars(R, 0, _), print(R) ), write(' '), writeln(Y) )),
    forall(member(G, [numlist(1, 3, _), numlist(3, 1, _), numlist(1, a, _), length([a], -1), length(_, -1), succ(3, -1),
                      succ(0, a), succ(_, 0), ( between(1, infinite, B), B > 2, ! ), format("~r ~8r ~16R ", [8, 2 ** 6, 255]), _ is 0 / 0.0, _ is 1 / 0.0]),
           ( catch(( call(G) -> R = yes ; R = no ), error(R, _), true), print(R), nl )),
    D is float_integer_part(2 ** 70), print(D), nl, E0 is float_fractional_part(-7), print(E0), nl,
    forall(member(P, ['/a/b', 'a/b/', 'a//b', a, '/', '', '/a', '//']),
           ( file_base_name(P, Base), file_directory_name(P, Dir), writeq(P-Base-Dir), nl )),
    forall(member(f(Q, Ext, File), [f(_, '.pl', 'foo.pl'), f(_, pl, 'foo.pl'), f(_, _, 'a.b/foo'), f(_, _, 'a.tar.gz'), f(foo, '.pl', _), f('foo.pl', pl, _), f(foo, '', _), f(_, txt, 'foo.pl')]),
           ( file_name_extension(Q, Ext, File) -> writeq(Q-Ext-File), nl ; writeln(no) )).
