% SPDX-License-Identifier: MIT
%: args -g main
%> existence_error(mutex,a)
%> locked
%> existence_error(mutex,a)
%> permission_error(create,mutex,a)
%> existence_error(mutex)
%> given back
%> done
% A mutex that was destroyed stays until nobody has it.
main :-
    error_of(mutex_unlock(a)),
    mutex_lock(a), mutex_lock(a), mutex_destroy(a), mutex_unlock(a),
    thread_create(( mutex_trylock(a) -> writeln(free) ; writeln(locked) ), T), thread_join(T, true),
    mutex_unlock_all, error_of(mutex_unlock(a)),
    mutex_create(_, [alias(a)]), error_of(mutex_create(a)), mutex_destroy(a),
    mutex_create(M), mutex_destroy(M),
    catch(mutex_lock(M), error(existence_error(K, _), _), writeln(existence_error(K))),
    forall(between(1, 100, _), ( mutex_create(N), thread_create(with_mutex(N, true), U), thread_join(U, true), mutex_destroy(N) )),
    % a thread that ends has none any more
    thread_create(( mutex_lock(b), mutex_lock(b), throw(oops) ), E), thread_join(E, _),
    ( mutex_trylock(b) -> writeln('given back') ; true ),
    writeln(done).
error_of(G) :- catch(G, error(E, _), ( writeq(E), nl )).
