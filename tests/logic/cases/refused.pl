% SPDX-License-Identifier: MIT
%: args -g main
%: exit 2
% Control stays as it is; a goal for the end of the load has its line.
%! FILE:10: error: no permission to modify static_procedure (',')/2
%! FILE:11: error: no permission to modify static_procedure (\+)/1
%! FILE:12: error: no permission to modify static_procedure atom_length/2
%! FILE:13: error: unknown procedure: nothing/0
%! leaflog: 4 errors while loading
(a, b) :- c.
\+ a.
atom_length(a, 2).
:- initialization(nothing).
:- dynamic p(_, _), q/1.
main.
