% SPDX-License-Identifier: MIT
%: args -g p(X,Y,Z) --json
%> [-1.0Inf,1.0Inf,1.5NaN,f(- 1.0Inf^2)]
%> {"schema":"leaflog.answer/1","bindings":{"X":{"float":"1.0Inf"},"Y":[{"float":"-1.0Inf"}],"Z":{"float":"1.5NaN"}}}
% Infinite floats and NaN are written as they are read; -inf is no
% overflow.
p(X, [Y], Z) :-
    X is inf, Y is -inf, Z is nan, T = [Y, X, Z, f(-(X^2))],
    with_output_to(atom(A), writeq(T)), writeln(A),
    term_to_atom([Y1, X1, Z1|_], A),
    X1 =:= X, Y1 =:= Y, float(Z1), Z1 =\= Z1, X =:= 1.0Inf, Y < -1.0e308,
    catch(_ is 1.0e308 * 10, error(evaluation_error(float_overflow), _), true).
