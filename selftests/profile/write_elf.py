#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""write_elf.py KIND FILE: write an ELF file that makes its reader do more than its size says.

relocations  thousands of sections with the same relocations, all with the same long name
stubs        thousands of sections with the same stubs
names        symbols at one address, whose long names differ only at their end
debugdata    a .gnu_debugdata that unpacks to 3 GiB
compressed   a .debug_info that does
whole        all of the file does, and is no ELF file before
imports      units of DWARF that each import the next one twice
depth        300,000 blocks of DWARF in each other

All but one of the last five have a function "leaf" at 0x1000.
"""
import lzma
import struct
import sys
import zlib

HEADER, NR, CODE = 64, 3000, 0x1000
MANY = 3 << 30


def xz():
    """An .xz file that begins with MANY zeros; what follows the last one is never reached."""
    step = 64 << 20
    data = lzma.compress(bytes(step), lzma.FORMAT_XZ, lzma.CHECK_NONE, 0)
    index = 4 * (struct.unpack('<I', data[-8:-4])[0] + 1)
    return data[:12] + data[12:-12 - index] * (MANY // step) + data[-12 - index:]


def zlib_section():
    """Contents of a compressed section, the same."""
    step = 16 << 20
    packer = zlib.compressobj()
    first = packer.compress(b'') + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(step)) + packer.flush(zlib.Z_FULL_FLUSH)
    return struct.pack('<IIQQ', 1, 0, MANY, 1) + first + block * (MANY // step) + packer.flush()


def dwarf(kind, start, size):
    """.debug_info, .debug_abbrev and .debug_aranges of one function."""
    abbreviations = (b'\1\x11\1\x11\1\x12\7\0\0'    # a unit with low_pc, high_pc
                     b'\2\x3c\1\0\0'                    # a partial unit
                     b'\3\x3d\0\x18\x10\0\0'          # an import of a unit
                     b'\4\x0b\1\x11\1\x12\x0b\0\0'    # a block with low_pc, high_pc
                     b'\0')
    first = b'\1' + struct.pack('<QQ', start, size)
    if kind == 'depth':
        bodies = [first + (b'\4' + struct.pack('<QB', start, size)) * 300000 + b'\0' * 300001]
    else:
        # Each unit is as long as the first, so that it is known where the DIE of the next one is.
        length = 11 + len(first) + 2 * 5 + 1
        bodies = [(b'\2' if i else first) +
                  (b'\3' + struct.pack('<I', (i + 1) * length + 11)) * 2 * (i < 60) + b'\0' for i in range(61)]
        bodies = [body.ljust(length - 11, b'\0') for body in bodies]
    info = b''.join(struct.pack('<IHIB', len(body) + 7, 4, 0, 8) + body for body in bodies)
    ranges = struct.pack('<IHIBBIQQQQ', 44, 2, 0, 8, 0, 0, start, size, 0, 0)
    return info, abbreviations, ranges


def symbol(name, address, size, section):
    return struct.pack('<IBBHQQ', name, 0x12, 0, section, address, size)


def main(kind, path):
    if kind == 'whole':
        with open(path, 'wb') as file:
            file.write(xz())
        return
    is_unpacked = kind in ('debugdata', 'compressed', 'imports', 'depth')
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
    elif is_unpacked:
        strings = b'\0leaf\0'
        symbols = symbol(0, 0, 0, 0) + symbol(1, code_at, 16, 1)
    else:
        strings = b'\0' + b'a' * 4000 + b'\0'
        symbols = symbol(0, 0, 0, 0) + symbol(1, code_at, 16, 0)
    strings_at, symbols_at = part(strings), part(symbols)
    # All of one word of the GOT, to which all stubs jump.
    relocations = b'' if is_unpacked else struct.pack('<QQq', code_at + 0x100000, 1 << 32 | 7, 0) * 20000
    relocations_at = part(relocations)
    names = b'\0.plt\0.text\0.gnu_debugdata\0.debug_info\0.debug_abbrev\0.debug_aranges\0'
    names_at = part(names)
    section(1 if kind == 'stubs' else 6, 1, 6, code_at, code_size)
    section(0, 3, 0, strings_at, len(strings))
    # Without .symtab, libdwfl looks at .gnu_debugdata.
    section(0, 11 if kind == 'debugdata' else 2, 0, symbols_at, len(symbols), 2, 24)
    section(0, 3, 0, names_at, len(names))
    if is_unpacked:
        info, abbreviations, ranges = dwarf(kind, code_at, 16)
        if kind == 'debugdata':
            data = xz()
            section(names.index(b'.gnu_debugdata'), 1, 0, part(data), len(data))
        elif kind == 'compressed':
            data = zlib_section()
            section(names.index(b'.debug_info'), 1, 0x800, part(data), len(data))
        else:
            section(names.index(b'.debug_info'), 1, 0, part(info), len(info))
        section(names.index(b'.debug_abbrev'), 1, 0, part(abbreviations), len(abbreviations))
        section(names.index(b'.debug_aranges'), 1, 0, part(ranges), len(ranges))
    elif kind != 'names':
        section(0, 4, 0, relocations_at, len(relocations), 3, 24)
    for _ in range(0 if is_unpacked or kind == 'names' else NR):
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
