%% SPDX-License-Identifier: GPL-2.0
%% Never ends. Recursion, sorting with functions, regular expressions, exceptions, processes, binaries.
-module(sample).
-export([start/0]).

depth(0, Leaf) -> Leaf();
depth(N, Leaf) -> 1 + depth(N - 1, Leaf).

nested(N) ->
    hd(lists:sort(fun(5, B) when N > 0 -> nested(N - 1), 5 =< B; (A, B) -> A =< B end, [5, 3, 8, 1, 9, 2])).

fail(0) -> error(bottom);
fail(N) -> try fail(N - 1) catch error:E -> error({N, E}) end.

echo() -> receive {From, X} -> From ! depth(5, fun() -> X end) end, echo().

start() -> loop(spawn(fun echo/0), 0).

loop(Echo, N) ->
    depth(30, fun() -> length(re:replace("a1 b22 c333", "([a-z])([0-9]+)", "\\1", [global, {return, list}])) end),
    nested(3),
    catch fail(6),
    Echo ! {self(), N},
    receive _ -> ok end,
    binary_to_term(term_to_binary([{X, float(X), <<"text">>} || X <- lists:seq(1, 50)])),
    erlang:phash2(crypto(N)),
    maps:fold(fun(K, V, A) -> K + V + A end, 0, maps:from_list([{X, X} || X <- lists:seq(1, 100)])),
    loop(Echo, N + 1).

crypto(N) -> erlang:md5(lists:duplicate(100, N rem 256)).
