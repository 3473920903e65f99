% SPDX-License-Identifier: MIT
%: args -g main --memory=64M
%> done
%> done
% What builtins take much room for at once is garbage soon after: 7 GB of lists
% and 1.5 GB of copies, within 64 MB.
main :- lengths(3000), writeln(done), numlist(1, 20000, L), copies(4000, L), writeln(done).
lengths(0) :- !.
lengths(N) :- length(L, 100000), L = [N|_], M is N - 1, lengths(M).
copies(0, _) :- !.
copies(N, L) :- copy_term(L, [_|_]), M is N - 1, copies(M, L).
