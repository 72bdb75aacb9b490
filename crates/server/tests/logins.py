"""Logs in: `logins.py PORT USER PASSWORD rsa|tls` prints how it was proved, fast or full, and what the connection is."""
import contextlib, io, ssl, sys
import pymysql
from pymysql import _auth

port, user, password, channel = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
_auth.DEBUG = True
said = io.StringIO()
try:
    with contextlib.redirect_stdout(said):
        con = pymysql.connect(host="127.0.0.1", port=port, user=user, password=password,
                              ssl=context if channel == "tls" else None, ssl_disabled=channel != "tls")
except pymysql.err.OperationalError as e:
    print("error", e.args[0])
    sys.exit()
way = "fast" if "succeeded by fast path" in said.getvalue() else "full" if "Trying full auth" in said.getvalue() else "other"
cur = con.cursor()
cur.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
print(way, "tls" if cur.fetchone()[1] else "clear")
