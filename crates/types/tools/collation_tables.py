#!/usr/bin/env python3
"""Builds the weight tables in src/collation/data.

    collation_tables.py ducet allkeys-9.0.0.txt          -> ducet_9_0_0.bin
    collation_tables.py general SOCKET USER              -> general_ci.bin

allkeys-9.0.0.txt is the Default Unicode Collation Element Table of UCA 9.0.0
(https://www.unicode.org/Public/UCA/9.0.0/allkeys.txt; also inside the PyPI package pyuca 1.2). Its licence is in NOTICE.

utf8mb4_general_ci predates any standard: its weights are observed, by WEIGHT_STRING, on a server that has the collation.

ducet_9_0_0.bin, all integers u16 little-endian:
    page_count, expansion_count, expansion_data_len
    pages of 128 code points below 0xE0200: index of the page's table
    page_count tables of 128 weights:
        0            ignorable
        1..0xDFFF    the primary weight
        0xE000+i     expansion i
        0xFFFF       not in the table: the weights are computed
    expansion_count + 1 offsets into the expansion data
    the expansion data: primary weights

general_ci.bin:
    256 bytes: 0 for a page of 256 code points that weigh themselves, else the number (from 1) of the page's table
    tables of 256 u16 little-endian
"""
import os
import struct
import subprocess
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "collation", "data")
LIMIT = 0xE0200


def ducet(path):
    weights = {}
    for line in open(path, encoding="utf-8"):
        line = line.split("#")[0].split("%")[0].strip()
        if not line or line.startswith("@"):
            continue
        chars, elements = line.split(";")
        chars = [int(c, 16) for c in chars.split()]
        if len(chars) != 1:
            continue  # contractions
        primaries = []
        for element in elements.strip().strip("[]").split("]["):
            primary = int(element[1:].split(".")[0], 16)
            if primary:
                primaries.append(primary)
        weights[chars[0]] = tuple(primaries)
    expansions, index = [], {}

    def cell(cp):
        w = weights.get(cp)
        if w is None:
            return 0xFFFF
        if not w:
            return 0
        if len(w) == 1 and w[0] < 0xE000:
            return w[0]
        if w not in index:
            index[w] = len(expansions)
            expansions.append(w)
        return 0xE000 + index[w]

    assert max(weights) < LIMIT
    pages, page_index, stage1 = [], {}, []
    for page in range(0, LIMIT, 128):
        cells = tuple(cell(cp) for cp in range(page, page + 128))
        if cells not in page_index:
            page_index[cells] = len(pages)
            pages.append(cells)
        stage1.append(page_index[cells])
    offsets, data = [0], []
    for e in expansions:
        data.extend(e)
        offsets.append(len(data))
    assert len(expansions) < 0x1FFF and len(data) < 0x10000
    out = [len(pages), len(expansions), len(data)] + stage1
    for p in pages:
        out.extend(p)
    out += offsets + data
    write("ducet_9_0_0.bin", struct.pack(f"<{len(out)}H", *out))


def general(socket, user):
    sql = (
        "select seq, hex(weight_string(convert(char(seq using utf32) using utf8mb4) collate utf8mb4_general_ci)) "
        "from seq_0_to_65535 where seq not between 55296 and 57343"
    )
    rows = subprocess.run(
        ["mariadb", "-S", socket, "-u", user, "-N", "-B", "mysql", "-e", sql], capture_output=True, text=True, check=True
    ).stdout
    weight = list(range(65536))
    for row in rows.splitlines():
        cp, w = row.split("\t")
        weight[int(cp)] = int(w, 16)
    index, tables = bytearray(256), []
    for page in range(256):
        cells = weight[page * 256 : page * 256 + 256]
        if cells != list(range(page * 256, page * 256 + 256)):
            tables.append(cells)
            index[page] = len(tables)
    write("general_ci.bin", bytes(index) + b"".join(struct.pack("<256H", *t) for t in tables))


def write(name, content):
    with open(os.path.join(DATA, name), "wb") as f:
        f.write(content)
    print(name, len(content), "bytes")


if __name__ == "__main__":
    {"ducet": ducet, "general": general}[sys.argv[1]](*sys.argv[2:])
