% SPDX-License-Identifier: MIT
%: args -g main --table-memory=600K
%: designs
%: threads 4
%> resource_error(table_space)
%> 100
% The limit on tables while others fill theirs and drop them.
:- table p/1, q/1.
p(X) :- between(1, 100000, X).
q(X) :- between(1, 100, X).
main :-
    catch(p(_), error(E, _), writeln(E)), abolish_all_tables,
    aggregate_all(count, q(_), N), writeln(N).
