! SPDX-License-Identifier: GPL-2.0
! Never ends. Recursion, contained procedures as arguments, array functions, formatted I/O.
module procedures
  implicit none
  integer :: total = 0
contains
  recursive integer function depth(n) result(r)
    integer, intent(in) :: n
    character(len=20) :: text
    if (n == 0) then
      write (text, '(i10)') total
      r = len_trim(text)
    else
      r = 1 + depth(n - 1)
    end if
  end function

  recursive integer function nested(n) result(r)
    integer, intent(in) :: n
    integer :: list(6)
    list = [5, 3, 8, 1, 9, 2]
    call sort(list, less)
    r = list(1)
  contains
    logical function less(x, y)
      integer, intent(in) :: x, y
      if (n > 0 .and. x == 5) total = total + nested(n - 1)
      less = x < y
    end function
  end function

  recursive subroutine sort(list, less)
    integer, intent(inout) :: list(:)
    interface
      logical function less(x, y)
        integer, intent(in) :: x, y
      end function
    end interface
    integer :: i, j, t
    do i = 2, size(list)
      do j = i, 2, -1
        if (.not. less(list(j), list(j - 1))) exit
        t = list(j)
        list(j) = list(j - 1)
        list(j - 1) = t
      end do
    end do
  end subroutine
end module

program sample
  use procedures
  implicit none
  real(8) :: a(40, 40), b(40, 40)
  character(len=200) :: line
  call random_number(a)
  do
    total = mod(total + depth(30) + nested(3), 1000)
    b = matmul(a, transpose(a))
    b = b / maxval(b)
    write (line, '(5f10.4, i8, a)') b(1, 1:5), total, ' text'
    read (line, *) b(2, 1:3)
    a = sqrt(abs(sin(b) + cos(a)))
  end do
end program
