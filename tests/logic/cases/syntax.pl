% SPDX-License-Identifier: MIT
%: args -g true
%: exit 2
%! FILE:21:4: error: not closed before the clause ends: `('
%! FILE:22:10: error: an operator or the end of the clause is expected, not `z'
%!     q(X) = y z.
%!              ^
%! FILE:23:16: error: quotes are not closed in this line
%! FILE:25:11: error: `]' is expected, not `)'
%! FILE:26:5: error: the clause ends where a term is expected
%! FILE:27:8: error: operator priority clash: brackets are needed around an operand of `='
%! FILE:28:6: error: unknown escape in quotes
%! FILE:29:3: error: number is too large for a double
%! FILE:30: error: no permission to modify static_procedure atom_length/2
%! FILE:31: error: type error: callable is expected, found 1
%! FILE:32:1: error: comment is not closed
%! leaflog: 11 errors while loading
% Every error is shown, with the text it stands in.
good(1).
% -- line 21 is the next one
foo(a.
q(X) = y z.
baz(1) :- X is 'abc
def, b.
qux([1,2,3).
X = .
a :- b = c = d.
s(1, '\q').
t(1.0e999).
atom_length(1, 2).
u :- 1.
/* unclosed
