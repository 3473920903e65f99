% SPDX-License-Identifier: MIT
%: args -g true
%: exit 2
%! FILE:9: error: files that include files, more than 32 deep
%! leaflog: 1 error while loading

% A file that includes itself ends in one line, not in a run out of stack.

:- include('include_itself.pl').
