#!/usr/bin/env bash
# Installs the systems that `nextleaf bench --vs ...` compares with: MariaDB from Debian, DuckDB and PyMySQL from PyPI.
# Nextleaf itself never needs them.
set -euo pipefail
sudo=$([ "$(id -u)" = 0 ] || echo sudo)
command -v mariadbd >/dev/null || { $sudo apt-get update -qq; DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq mariadb-server mariadb-client; }
command -v sysbench >/dev/null || DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq sysbench
python3 -m pip install -q duckdb pymysql || python3 -m pip install -q --break-system-packages duckdb pymysql
