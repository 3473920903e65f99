% SPDX-License-Identifier: MIT
%: args --json -g 'p(X,Y)'
%> {"schema":"leaflog.answer/1","bindings":{"X":1,"Y":"a b"}}
%> {"schema":"leaflog.answer/1","bindings":{"X":[1,2.5,"c"],"Y":{"functor":"f","args":[{"var":"_"},[]]}}}
p(1, 'a b').
p([1, 2.5, c], f(_, [])).
