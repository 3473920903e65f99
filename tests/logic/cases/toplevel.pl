% SPDX-License-Identifier: MIT
%: args
%: input p(X).
%: input p(X), X > 1.
%: input fail.
%: input foo(.
%: input nope.
%: input X = f(Y,
%: input  "a").
%: input true.
%: input X = f(X), Y = 1.
%> X = 1 ;
%> X = 2.
%> X = 2.
%> false.
%> X = f(Y,[97]).
%> true.
%> X = <a term that contains itself>,
%> Y = 1.
%! input:1:5: error: the clause ends where a term is expected
%! leaflog: error: unknown procedure: nope/0
p(1).
p(2).
