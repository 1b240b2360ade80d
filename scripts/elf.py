"""Takes out of a compiled module what only a debugger reads: half of the bytes of most wheels.

As ``strip --strip-unneeded`` does, which a build machine has for its own processor only. What the
loader reads (the segments, and the sections that lie in them) stays where it is.
https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.sheader.html
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from itertools import accumulate
from struct import Struct

AARCH64 = 0xB7  # e_machine
_START = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = Struct("<IIQQQQQQ")
_SECTION = Struct("<IIQQQQIIQQ")
_NO_BYTES = 8  # sh_type of a section that has none in the file
_LOADED = 2  # of sh_flags
_NAMES_A_SECTION = 0x40  # of sh_flags: sh_info is a section's number


@dataclass(frozen=True, slots=True)
class _Section:
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def end(self) -> int:
        return 0 if self.type == _NO_BYTES else self.offset + self.size


def machine(module: bytes) -> int | None:
    """``e_machine`` of an ELF file, None for any other."""
    return int.from_bytes(module[18:20], "little") if module.startswith(b"\x7fELF") else None


def stripped(module: bytes) -> bytes:
    """The module without symbols and sections that are not loaded; another file as it is."""
    if not module.startswith(_START):
        return module
    header = list(_HEADER.unpack_from(module))
    segments_at, sections_at, segments, sections, names_at = (header[i] for i in (5, 6, 10, 12, 13))
    found = [
        _Section(*_SECTION.unpack_from(module, sections_at + number * _SECTION.size))
        for number in range(sections)
    ]
    stay = [each.type == 0 or bool(each.flags & _LOADED) for each in found]
    stay[names_at] = True
    number = [
        before - 1 if stays else 0 for before, stays in zip(accumulate(stay), stay, strict=True)
    ]
    loaded = [each.end for each in found if each.flags & _LOADED]
    for at in range(segments_at, segments_at + segments * _SEGMENT.size, _SEGMENT.size):
        _, _, offset, _, _, size, _, _ = _SEGMENT.unpack_from(module, at)
        loaded.append(offset + size)
    end = max(loaded)

    names = found[names_at]
    text = module[names.offset : names.end]
    found[names_at] = replace(names, offset=end)
    kept = [
        replace(
            each,
            link=number[each.link],
            info=number[each.info] if each.flags & _NAMES_A_SECTION else each.info,
        )
        for each, stays in zip(found, stay, strict=True)
        if stays
    ]
    table_at = -(-(end + len(text)) // 8) * 8
    header[6], header[12], header[13] = table_at, len(kept), number[names_at]
    body = (module[_HEADER.size : end] + text).ljust(table_at - _HEADER.size, b"\0")
    table = b"".join(_SECTION.pack(*astuple(each)) for each in kept)
    return _HEADER.pack(*header) + body + table
