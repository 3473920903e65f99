% SPDX-License-Identifier: MIT
%: args -g main
%> bottom
%> bottom
% An error goes up through many tabled goals in linear time, past catchers too.
:- table down/1, past/1.
main :- catch(down(0), E1, true), print(E1), nl, catch(past(0), E2, true), print(E2), nl.
down(N) :- N < 200000, M is N + 1, down(M).
down(200000) :- throw(bottom).
past(N) :- N < 200000, M is N + 1, catch(past(M), other, true).
past(200000) :- throw(bottom).
