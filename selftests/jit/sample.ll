; SPDX-License-Identifier: GPL-2.0
; qsort() of libc calls compare() here, which calls depth(), which calls itself: generated code, library code and generated
; code again in one stack. Runs until it is killed.
declare void @qsort(ptr, i64, i64, ptr)

@numbers = global [20000 x i32] zeroinitializer

define i32 @depth(i32 %n, i32 %a) noinline uwtable "frame-pointer"="none" {
	%is_done = icmp eq i32 %n, 0
	br i1 %is_done, label %done, label %more
more:
	%next = sub i32 %n, 1
	%mixed = mul i32 %a, 31
	%below = call i32 @depth(i32 %next, i32 %mixed)
	%sum = add i32 %below, %n
	ret i32 %sum
done:
	ret i32 %a
}

define i32 @compare(ptr %left, ptr %right) noinline uwtable "frame-pointer"="none" {
	%a = load i32, ptr %left
	%b = load i32, ptr %right
	%x = call i32 @depth(i32 8, i32 %a)
	%y = call i32 @depth(i32 8, i32 %b)
	%is_less = icmp slt i32 %x, %y
	%is_more = icmp sgt i32 %x, %y
	%less = sext i1 %is_less to i32
	%more = zext i1 %is_more to i32
	%result = add i32 %less, %more
	ret i32 %result
}

define void @fill(i32 %seed) noinline uwtable "frame-pointer"="none" {
entry:
	br label %loop
loop:
	%i = phi i64 [ 0, %entry ], [ %next, %loop ]
	%x = phi i32 [ %seed, %entry ], [ %random, %loop ]
	%scaled = mul i32 %x, 1103515245
	%random = add i32 %scaled, 12345
	%at = getelementptr [20000 x i32], ptr @numbers, i64 0, i64 %i
	store i32 %random, ptr %at
	%next = add i64 %i, 1
	%is_end = icmp eq i64 %next, 20000
	br i1 %is_end, label %end, label %loop
end:
	ret void
}

define i32 @main() uwtable "frame-pointer"="none" {
entry:
	br label %loop
loop:
	%seed = phi i32 [ 1, %entry ], [ %next, %loop ]
	call void @fill(i32 %seed)
	call void @qsort(ptr @numbers, i64 20000, i64 4, ptr @compare)
	%next = add i32 %seed, 1
	br label %loop
}
