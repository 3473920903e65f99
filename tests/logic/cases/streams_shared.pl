% SPDX-License-Identifier: MIT
%: args -g main
%> io_error(write)
%> done
% Threads that share a stream: one that is closed meanwhile is an error for the
% others, and nobody reads or writes what is gone.
main :-
    N is random(1000000000), atom_concat('/tmp/leaflog-shared-', N, File),
    setup_call_cleanup(open(File, write, S), forall(between(1, 20000, I), format(S, 'p(~d, "text of it").~n', [I])), close(S)),
    forall(between(1, 60, _), ( member(G, [get_char(X, _), read(X, _), read_line_to_codes(X, _), peek_code(X, _), stream_property(X, position(_)), line_count(X, _)]),
                                open(File, read, X), closed_by_another(X, G) )),
    forall(between(1, 60, _), ( member(G, [write(X, abc), format(X, "~w", [abc]), nl(X), flush_output(X)]),
                                open('/dev/null', write, X), closed_by_another(X, G) )),
    forall(between(1, 60, _), ( open('/dev/null', write, X),
                                thread_create(until_closed(( set_output(X), write(abc) )), T), close(X), thread_join(T, true) )),
    delete_file(File), file_is_full, writeln(done).
closed_by_another(X, G) :-
    findall(T, ( between(1, 3, _), thread_create(until_closed(G), T) ), Ts),
    close(X), forall(member(T, Ts), thread_join(T, true)).
until_closed(G) :- catch(( repeat, ignore(G), fail ), error(existence_error(stream, _), _), true).
file_is_full :-
    open('/dev/full', write, S),
    catch(( write(S, a), flush_output(S) ), error(io_error(write, _), _), writeln(io_error(write))),
    catch(close(S), error(_, _), true), catch(close(S), error(existence_error(_, _), _), true).
