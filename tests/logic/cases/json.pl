% SPDX-License-Identifier: MIT
%: args --json -g 'p(X,Y)'
%> {"schema":"leaflog.answer/1","bindings":{"X":1,"Y":"a b"}}
%> {"schema":"leaflog.answer/1","bindings":{"X":[1,2.5,"c"],"Y":{"functor":"f","args":[{"var":"_"},[]]}}}
%> {"schema":"leaflog.answer/1","bindings":{"X":"a���b","Y":"\u0000\"ä"}}
%> {"schema":"leaflog.answer/1","bindings":{"X":[{"float":"1.0Inf"},-0.0],"Y":{"float":"1.5NaN"}}}
p(1, 'a b').
p([1, 2.5, c], f(_, [])).
% half a pair of UTF-16 is no character of UTF-8
p(X, Y) :- atom_codes(X, [0'a, 0xd800, 0'b]), atom_codes(Y, [0, 0'", 0'ä]).
% JSON has no numbers for two of these
p([X, Y], Z) :- X is inf, Y is -0.0, Z is nan.
