% SPDX-License-Identifier: MIT
%
% The part of the engine that is written in Prolog. Predicates whose names
% begin with $ are the engine's own; the rest may be redefined by a program.

% Control constructs that a program calls as terms. The second argument is the
% level that a cut reaches.
'$body'(G, L) :- '$body_kind'(G, K), '$body'(K, G, L).

'$body'(0, G, _) :- call(G).
'$body'(1, (A, B), L) :- '$body'(A, L), '$body'(B, L).
'$body'(2, !, L) :- '$cut'(L).
'$body'(3, (C -> T ; E), L) :- ( '$cond'(C) -> '$body'(T, L) ; '$body'(E, L) ).
'$body'(4, (C *-> T ; E), L) :- ( '$cond'(C) *-> '$body'(T, L) ; '$body'(E, L) ).
'$body'(5, (A ; B), L) :- ( '$body'(A, L) ; '$body'(B, L) ).
'$body'(6, (C -> T), L) :- ( '$cond'(C) -> '$body'(T, L) ).
'$body'(7, (C *-> T), L) :- '$cond'(C), '$body'(T, L).
'$body'(8, \+ G, _) :- \+ '$cond'(G).

'$cond'(G) :- call(G).

true.
otherwise.
fail :- fail.
false :- fail.
catch(G, C, R) :- '$catch'(G, C, R).
once(G) :- '$cond'(G), !.
ignore(G) :- ( '$cond'(G) -> true ; true ).
not(G) :- \+ '$cond'(G).
tnot(G) :- \+ '$cond'(G).
forall(C, A) :- \+ ( '$cond'(C), \+ '$cond'(A) ).
