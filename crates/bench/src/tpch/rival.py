"""Drives a rival of `nextleaf bench tpch`: requests on standard input, replies on standard output.

Request: one line of tab-separated fields, escaped as below.
    exec SQL                 reply: ok MS
    query RUNS LIMIT_S SQL   reply: ok MS,MS,... KINDS ROWS, then one line a row; KINDS: a letter a column, e f t
                             (exact number, binary floating-point number, text)
    either may reply: err TEXT
Escapes: \\t tab, \\n newline, \\\\ backslash, \\N (a whole field) NULL.
"""

import sys
import time


def escape(v):
    if v is None:
        return "\\N"
    return str(v).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def unescape(v):
    out, i = [], 0
    while i < len(v):
        if v[i] == "\\":
            i += 1
            out.append({"t": "\t", "n": "\n"}.get(v[i], v[i]))
        else:
            out.append(v[i])
        i += 1
    return "".join(out)


class Duck:
    def __init__(self, threads):
        import duckdb

        self.con = duckdb.connect(":memory:")
        self.con.execute(f"SET threads={threads}")
        # It would be drawn on standard output, among our replies.
        self.con.execute("SET enable_progress_bar=false")
        self.version = "DuckDB " + duckdb.__version__

    def exec(self, sql):
        self.con.execute(sql)

    def query(self, sql, limit_s):
        import threading

        timer = threading.Timer(limit_s, self.con.interrupt)
        timer.start()
        try:
            started = time.perf_counter()
            self.con.execute(sql)
            rows = self.con.fetchall()
            took = time.perf_counter() - started
        finally:
            timer.cancel()
        kinds = ""
        for d in self.con.description:
            name = str(d[1]).upper()
            if name.startswith("DOUBLE") or name.startswith("FLOAT") or name.startswith("REAL"):
                kinds += "f"
            elif name.startswith("DECIMAL") or "INT" in name or name == "NUMBER":
                kinds += "f" if rows and isinstance(rows[0][len(kinds)], float) else "e"
            else:
                kinds += "t"
        return took, kinds, rows


class MariaDB:
    def __init__(self, socket):
        import pymysql

        self.con = pymysql.connect(unix_socket=socket, user="root", local_infile=True, autocommit=True)
        self.cursor = self.con.cursor()
        self.version = "MariaDB " + self.con.get_server_info().removeprefix("5.5.5-")

    def exec(self, sql):
        self.cursor.execute(sql)
        while self.cursor.nextset():
            pass

    def query(self, sql, limit_s):
        self.cursor.execute(f"SET max_statement_time={limit_s}")
        started = time.perf_counter()
        self.cursor.execute(sql)
        rows = self.cursor.fetchall()
        took = time.perf_counter() - started
        exact, floats = {0, 1, 2, 3, 8, 9, 246}, {4, 5}
        kinds = "".join("e" if d[1] in exact else "f" if d[1] in floats else "t" for d in self.cursor.description)
        return took, kinds, rows


def main():
    rival = Duck(int(sys.argv[2])) if sys.argv[1] == "duckdb" else MariaDB(sys.argv[2])
    print("ok\t" + rival.version, flush=True)
    for line in sys.stdin:
        fields = [unescape(f) for f in line.rstrip("\n").split("\t")]
        try:
            if fields[0] == "exec":
                started = time.perf_counter()
                rival.exec(fields[1])
                print(f"ok\t{(time.perf_counter() - started) * 1e3:.3f}", flush=True)
                continue
            times = []
            for _ in range(int(fields[1])):
                took, kinds, rows = rival.query(fields[3], int(fields[2]))
                times.append(took * 1e3)
                if sum(times) > int(fields[2]) * 1e3:
                    break
            print("ok\t" + ",".join(f"{t:.3f}" for t in times) + f"\t{kinds}\t{len(rows)}")
            for row in rows:
                print("\t".join(escape(repr(v) if isinstance(v, float) else v) for v in row))
            sys.stdout.flush()
        except Exception as e:
            print("err\t" + escape(e), flush=True)


main()
