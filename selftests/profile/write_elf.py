#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""write_elf.py KIND FILE: write an ELF file that makes its reader do more than its size says.

relocations  thousands of sections with the same relocations, all with the same long name
stubs        thousands of sections with the same stubs
names        symbols at one address, whose long names differ only at their end
"""
import struct
import sys

HEADER, NR, CODE = 64, 3000, 0x1000


def symbol(name, address, size, section):
    return struct.pack('<IBBHQQ', name, 0x12, 0, section, address, size)


def main(kind, path):
    parts, sections = [], [struct.pack('<IIQQQQIIQQ', *[0] * 10)]
    offset = CODE

    def part(data):
        nonlocal offset
        parts.append(data)
        offset += len(data)
        return offset - len(data)

    def section(name, type_, flags, at, size, link=0, entry=0):
        sections.append(struct.pack('<IIQQQQIIQQ', name, type_, flags, at, at, size, link, 0, 8, entry))

    code_size = 16 * 20000
    code = b''.join(struct.pack('<HiHQ', 0x25ff, 0x100000 - 16 * i - 6, 0x9066, 0)[:16] for i in range(code_size // 16))
    code_at = part(code)
    if kind == 'names':
        strings = b'\0' + b'a' * 2000000 + b'\0'
        symbols = symbol(0, 0, 0, 0) + b''.join(symbol(1 + i, code_at, 16, 1) for i in range(100000))
    else:
        strings = b'\0' + b'a' * 4000 + b'\0'
        symbols = symbol(0, 0, 0, 0) + symbol(1, code_at, 16, 0)
    strings_at, symbols_at = part(strings), part(symbols)
    # All of one word of the GOT, to which all stubs jump.
    relocations = struct.pack('<QQq', code_at + 0x100000, 1 << 32 | 7, 0) * 20000
    relocations_at = part(relocations)
    names = b'\0.plt\0.text\0'
    names_at = part(names)
    section(1 if kind == 'stubs' else 6, 1, 6, code_at, code_size)
    section(0, 3, 0, strings_at, len(strings))
    section(0, 2, 0, symbols_at, len(symbols), 2, 24)
    section(0, 3, 0, names_at, len(names))
    if kind != 'names':
        section(0, 4, 0, relocations_at, len(relocations), 3, 24)
    for _ in range(NR if kind != 'names' else 0):
        if kind == 'stubs':
            section(1, 1, 6, code_at, code_size)
        else:
            section(0, 4, 0, relocations_at, len(relocations), 3, 24)
    with open(path, 'wb') as file:
        file.write(b'\x7fELF\x02\x01\x01'.ljust(16, b'\0'))
        file.write(struct.pack('<HHIQQQIHHHHHH', 3, 62, 1, 0, HEADER, offset, 0, 64, 56, 1, 64, len(sections), 4))
        file.write(struct.pack('<IIQQQQQQ', 1, 5, 0, 0, 0, offset, offset, 0x1000).ljust(CODE - HEADER, b'\0'))
        file.write(b''.join(parts) + b''.join(sections))


if __name__ == '__main__':
    main(*sys.argv[1:])
