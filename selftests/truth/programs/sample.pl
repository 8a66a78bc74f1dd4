% SPDX-License-Identifier: GPL-2.0
% Never ends. Recursion, backtracking, sorting, exceptions, assertions.
depth(0, 0) :- !.
depth(N, R) :- M is N - 1, depth(M, S), R is S + 1.
compare_them(O, A, B) :- depth(5, _), compare(O, A, B).
queens(N, Qs) :- numlist(1, N, Ns), permutation(Ns, Qs), safe(Qs).
safe([]).
safe([Q | Qs]) :- no_attack(Q, Qs, 1), safe(Qs).
no_attack(_, [], _).
no_attack(Q, [R | Rs], D) :- Q =\= R + D, Q =\= R - D, E is D + 1, no_attack(Q, Rs, E).
turn :- depth(100, _), predsort(compare_them, [5, 3, 8, 1, 9, 2], _), once(queens(6, _)),
	catch(throw(bottom), bottom, true), findall(X, (between(1, 100, X), X mod 7 =:= 0), L),
	format(atom(A), '~w ~q', [L, text]), atom_length(A, _), term_to_atom(f(L), T), term_to_atom(_, T).
main :- repeat, turn, fail.
