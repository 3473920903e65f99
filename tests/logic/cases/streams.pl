% SPDX-License-Identifier: MIT
%: args -g main
%> first(a)
%> second(b)
%> at 3 0
%> again(b)
%> permission_error(open,source_sink,alias(in))
%> domain_error(stream_position,p)
%> permission_error(reposition,stream,user_output)
%> instantiation_error
%> existence_error(stream,none)
%> [input,alias(in),end_of_stream(not),eof_action(eof_code),mode(read),reposition(true),type(text)]
%> closed
%> aXcd
% What streams say of themselves, and going back in them.
main :-
    tmp_name(F),
    open(F, write, O), format(O, "first(a).~nsecond(b).~n", []), close(O),
    open(F, read, S, [alias(in)]),
    read(S, A), writeln(A), stream_property(S, position(P)), read(S, B), writeln(B),
    read(S, E), ( E == end_of_file, line_count(S, L), line_position(S, LP) -> format("at ~w ~w~n", [L, LP]) ; true ),
    set_stream_position(S, P), read(S, C), C =.. [_, X], writeln(again(X)),
    error_of(open(F, read, _, [alias(in)])),
    error_of(set_stream_position(S, p)),
    error_of(set_stream_position(user_output, P)),
    error_of(set_stream_position(_, P)),
    error_of(set_stream_position(none, P)),
    findall(Y, ( stream_property(S, Y), \+ Y = position(_), \+ Y = file_name(_) ), Ys0), msort(Ys0, Ys), write_canonical(Ys), nl,
    stream_property(In, alias(in)), close(In),
    ( stream_property(_, alias(in)) -> true ; writeln(closed) ),
    open(F, write, W), write(W, abcd), stream_property(W, position(End)),
    End = '$stream_position'(4, _, _, 4), set_stream_position(W, '$stream_position'(1, 1, 1, 1)),
    write(W, 'X'), close(W),
    open(F, read, R), read_line_to_codes(R, Cs), close(R), atom_codes(T, Cs), writeln(T),
    delete_file(F).
error_of(G) :- catch(G, error(E, _), true), writeq(E), nl.
tmp_name(F) :- N is random(1000000000), atom_concat('/tmp/leaflog-streams-', N, F).
