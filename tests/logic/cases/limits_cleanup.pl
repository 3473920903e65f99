% SPDX-License-Identifier: MIT
%: args -g main --memory=24M
%> 100
% Where memory ends at the very place where a cleanup is to begin, which the
% sizes of choice points decide, that is an error as anywhere else.
main :-
    aggregate_all(count, ( between(60, 159, N), ends(N) ), Count), writeln(Count).
ends(N) :-
    functor(Head, r, N), functor(Call, r, N),
    assertz(( Head :- setup_call_cleanup(true, true, true), Call )), assertz(Head),
    catch(Head, error(resource_error(memory), _), true).
