% SPDX-License-Identifier: MIT
%: args -g main
% What ISO asks of arguments that do not fit, one line for each goal.
%> type_error(atom,t(1)) type_error(atom,t(2)) type_error(integer,one) type_error(integer,two)
%> type_error(list,4) type_error(character,7) syntax_error(illegal_number) instantiation_error
%> type_error(predicate_indicator,p) type_error(predicate_indicator,1/p) permission_error(access,private_procedure,atom/1)
%> permission_error(modify,static_procedure,(:-)/2) type_error(callable,3) type_error(callable,(fail,3)) failed
%> type_error(list,['_'|x]) type_error(list,['_'|x]) type_error(list,['_'|x]) type_error(list,['_'|x]) type_error(list,['_'|x])
%> type_error(pair,k) instantiation_error evaluation_error(float_overflow) evaluation_error(zero_divisor)
%> permission_error(create,operator,[]) permission_error(create,operator,{}) permission_error(create,operator,'|') instantiation_error
%> domain_error(flag_value,debug+maybe) domain_error(flag_value,unknown+maybe) permission_error(modify,flag,max_arity) type_error(atom,1)
%> domain_error(stream,s) domain_error(source_sink,f(x)) uninstantiation_error(s) domain_error(stream_option,o) instantiation_error
%> domain_error(write_option,quoted(maybe)) domain_error(write_option,o) type_error(list,o) instantiation_error
%> domain_error(read_option,o) domain_error(close_option,o) domain_error(stream_property,p)
%> type_error(in_character,xy) type_error(integer,x) type_error(character,xy) type_error(byte,x) representation_error(character_code)
%> permission_error(input,text_stream,user_input) permission_error(output,text_stream,user_output)
%> off warning failed ab
%> [0,255,195,169,-1]
%> permission_error(input,binary_stream,true)
%> type_error(list,a) type_error(list,['_'|b]) failed held held
say(G) :-
    catch(( call(G) -> R = held ; R = failed ), error(R, _), true),
    \+ \+ ( term_variables(R, Vs), all_blank(Vs), print(R) ).
all_blank([]).
all_blank(['_'|Vs]) :- all_blank(Vs).
line([]) :- nl.
line([G]) :- !, say(G), nl.
line([G|Gs]) :- say(G), write(' '), line(Gs).
main :-
    line([atom_length(t(1), _), atom_chars(t(2), _), sub_atom(abc, one, _, _, _), char_code(a, two)]),
    line([number_codes(_, 4), number_chars(_, ['1', 7]), number_chars(_, []), number_codes(_, [0'1|_])]),
    line([current_predicate(p), current_predicate(1/p), clause(atom(_), _)]),
    line([assertz(((a :- b) :- c)), \+ 3, (fail, 3), (fail, \+ 3)]),
    line([findall(X, member(X, [1]), [_|x]), bagof(X, member(X, [1]), [_|x]), setof(X, member(X, [1]), [_|x]),
        sort([a], [_|x]), term_variables(t, [_|x])]),
    line([keysort([k], _), keysort([a|_], _), _ is 1.0e308 * 10, _ is 0.0 ** -1]),
    line([op(200, xfy, []), op(200, xfy, {}), op(200, xfx, '|'), op(200, xfx, [a|_])]),
    line([set_prolog_flag(debug, maybe), set_prolog_flag(unknown, maybe), set_prolog_flag(max_arity, 7),
        current_prolog_flag(1, _)]),
    line([current_input(s), open(f(x), read, _), open(f, read, s), open(f, read, _, [o]), open(f, read, _, [_])]),
    line([write_term(1, [quoted(maybe)]), write_term(1, [o]), write_term(1, o), write_term(1, [quoted(true)|_])]),
    line([read_term(user_input, _, [o]), close(user_input, [o]), stream_property(_, p)]),
    line([get_char(user_input, xy), get_code(user_input, x), put_char(xy), put_byte(user_output, x), put_code(-1)]),
    line([get_byte(user_input, _), put_byte(user_output, 1)]),
    current_prolog_flag(debug, D), write(D), write(' '),
    set_prolog_flag(unknown, warning), current_prolog_flag(unknown, W), write(W), write(' '),
    say(nobody_defines_this), set_prolog_flag(unknown, error), write(' '), put_code(0'a), put_code(0'b), nl,
    bytes,
    line([2 =.. a, f(1) =.. [_|b], f(1) =.. [g|_], f(1) =.. [f|_], f(1) =.. [f, 1]]).
bytes :-
    get_time(T), N is integer(T * 1000), atomic_list_concat(['/tmp/leaflog-bytes-', N], File),
    open(File, write, Out, [type(binary)]), put_byte(Out, 0), put_byte(Out, 255), close(Out),
    open(File, append, More), put_char(More, '\u00e9'), close(More),
    open(File, read, In, [type(binary)]), read_bytes(In, Bs), print(Bs), nl,
    catch(get_char(In, _), error(permission_error(A, B, S), _), true), ( S == In -> I = true ; I = S ),
    print(permission_error(A, B, I)), nl, close(In, [force(true)]), delete_file(File).
read_bytes(In, Bs) :-
    peek_byte(In, P), get_byte(In, B), P == B,
    ( B =:= -1 -> Bs = [B] ; Bs = [B|Bs1], read_bytes(In, Bs1) ).
