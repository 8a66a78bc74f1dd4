\ SPDX-License-Identifier: GPL-2.0
\ Never ends.
: fibonacci ( n -- m ) dup 2 < if exit then dup 1- recurse swap 2 - recurse + ;
: fail ( n -- ) dup 0= if -9 throw then 1- recurse ;
: turn 15 fibonacci drop 10 ['] fail catch 2drop s" 1 2 + drop" evaluate s" text" pad place 100 0 do i . loop ;
: forever begin turn again ;
forever
