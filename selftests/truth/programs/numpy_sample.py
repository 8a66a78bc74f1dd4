# SPDX-License-Identifier: GPL-2.0
# Never ends.
import numpy


def depth(n):
    if n == 0:
        return numpy.linalg.svd(numpy.random.rand(12, 12))[1].sum()
    return 1 + depth(n - 1)


class Key:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value


while True:
    a = numpy.random.rand(60, 60)
    b = numpy.linalg.solve(a @ a.T + numpy.eye(60), a)
    numpy.linalg.eigvals(b), numpy.fft.fft(a), numpy.sort(a.ravel())
    depth(15)
    numpy.apply_along_axis(lambda row: row[0] + depth(1), 0, b[:, :5])
    numpy.sort(numpy.array([Key(i * 7 % 31) for i in range(31)], dtype=object))
    numpy.vectorize(lambda x: x * 2)(a[:3]), numpy.einsum("ij,jk->ik", a, b), numpy.array2string(a[:2, :2])
