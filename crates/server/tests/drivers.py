"""What a Python driver does with a server: `drivers.py DRIVER PORT` prints ok."""
import sys, datetime as dt
from decimal import Decimal as D

kind, port = sys.argv[1], int(sys.argv[2])
ROWS = [
    (1, -128, 18446744073709551615, D("12345.678901"), 0.5, 2.25, "Größe 😀", b"\x00\xff\x7f", dt.date(2024, 2, 29),
     dt.timedelta(hours=-27, microseconds=-125000), dt.datetime(1999, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 5, 5, 1, 2, 3), 1999, "x" * 70000),
    (2,) + (None,) * 13,
    (3, 127, 0, D("-0.000001"), -1.5, 1e300, "", b"", dt.date(1000, 1, 1), dt.timedelta(hours=838, minutes=59, seconds=59),
     dt.datetime(9999, 12, 31, 0, 0), dt.datetime(1970, 1, 2, 0, 0, 1), 2155, ""),
]
TABLE = """CREATE TABLE every (id INT PRIMARY KEY, ti TINYINT, bu BIGINT UNSIGNED, d DECIMAL(20,6), f FLOAT, g DOUBLE, s VARCHAR(50),
    b VARBINARY(20), day DATE, t TIME(6), at DATETIME(6), ts TIMESTAMP NULL, y YEAR, big MEDIUMTEXT)"""

def same(got, want, what):
    got, want = [tuple(bytes(v) if isinstance(v, bytearray) else v for v in r) for r in got], list(want)
    assert got == want, f"{what}\n{got!r:.2000}\n{want!r:.2000}"

def fill(con, cur, marks):
    for statement in ["DROP DATABASE IF EXISTS drivers", "CREATE DATABASE drivers", "USE drivers"]:
        cur.execute(statement)
    cur.execute("SET time_zone = '+00:00'")
    cur.execute(TABLE)
    cur.executemany(f"INSERT INTO every VALUES ({marks})", ROWS)
    con.commit()

def transactions(con, cur, errors):
    cur.execute("INSERT INTO every (id) VALUES (4)")
    assert cur.rowcount == 1
    con.rollback()
    cur.execute("SELECT COUNT(*) FROM every")
    assert cur.fetchall()[0][0] == 3
    try:
        cur.execute("INSERT INTO every (id) VALUES (1)")
        assert False, "a duplicate was taken"
    except errors.IntegrityError as e:
        assert e.args[0] == 1062, e
    con.rollback()
    cur.execute("CREATE TABLE made (n INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    cur.execute("INSERT INTO made (v) VALUES (7), (8)")
    assert cur.lastrowid == 1
    con.commit()

def connector():
    import mysql.connector as m
    con = m.connect(host="127.0.0.1", port=port, user="root", password="", use_pure=True)
    assert con.server_info.startswith("8.") if hasattr(con, "server_info") else con.get_server_info().startswith("8.")
    con.ping()
    cur = con.cursor()
    fill(con, cur, ", ".join(["%s"] * 14))
    cur.execute("SELECT * FROM every ORDER BY id")
    same(cur.fetchall(), ROWS, "text protocol")
    transactions(con, cur, m.errors)
    p = con.cursor(prepared=True)
    for row in ROWS:
        # This driver reads binary YEARs as strings and turns the sign of a binary TIME's days alone.
        late = lambda t: t if t is None or t >= dt.timedelta() else None
        p.execute("""SELECT id, ti, bu, d, f, g, s, b, day, IF(t < 0, NULL, t), at, ts, y + 0, big FROM every
            WHERE id = ?""", (row[0],))
        same(p.fetchall(), [row[:9] + (late(row[9]),) + row[10:]], "binary protocol")
    p.execute("SELECT id FROM every WHERE bu = ? AND s = %s AND b = %s", (ROWS[0][2], ROWS[0][6], ROWS[0][7]))
    same(p.fetchall(), [(1,)], "parameters")
    p.execute("SELECT ? + 1, ?, ?", (41, None, dt.datetime(2024, 1, 1, 2, 3, 4, 5)))
    assert p.fetchall()[0][:2] == (42, None)
    insert = "INSERT INTO every (id, d, t, at, big) VALUES (?, ?, ?, ?, ?)"
    p = con.cursor(prepared=True)
    for i in range(10, 60):
        p.execute(insert, (i, D(i) / 8, dt.timedelta(seconds=i), dt.datetime(2000, 1, 1, 0, 0, i % 60, i), "y" * i * 100))
    con.commit()
    cur.execute("SELECT COUNT(*), SUM(d), MAX(LENGTH(big)), MAX(t) FROM every WHERE id >= 10")
    same(cur.fetchall(), [(50, D(sum(range(10, 60))) / 8, 5900, dt.timedelta(seconds=59))], "what was inserted")
    d = con.cursor(dictionary=True)
    d.execute("SELECT id, s FROM every WHERE id = 1")
    assert d.fetchall() == [{"id": 1, "s": ROWS[0][6]}]
    n = con.cursor(buffered=True)
    n.execute("SELECT 1 AS a UNION SELECT 2")
    assert n.fetchall() == [(1,), (2,)] and n.column_names == ("a",)
    con.cmd_change_user("root", "", "drivers")
    con.reset_session()
    con.close()

def pymysql_():
    import pymysql as m
    con = m.connect(host="127.0.0.1", port=port, user="root", password="")
    con.ping()
    cur = con.cursor()
    fill(con, cur, ", ".join(["%s"] * 14))
    cur.execute("SELECT * FROM every ORDER BY id")
    same(cur.fetchall(), ROWS, "text protocol")
    transactions(con, cur, m.err)
    with con.cursor(m.cursors.SSDictCursor) as c:
        c.execute("SELECT id, s FROM every ORDER BY id")
        assert [r["id"] for r in c] == [1, 2, 3]
    con.select_db("drivers")
    con.close()

{"mysql.connector": connector, "pymysql": pymysql_}[kind]()
print("ok")
