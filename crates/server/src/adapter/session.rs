//! A session of the engine behind a connection. Both know the connection by the same [`Process`](crate::net::Process),
//! through which the network stops statements whose client has gone, and KILL ends connections.

use std::sync::Arc;
use std::time::Duration;

use engine::{Collect, Database, Session, Unsettled};
use protocol::statement::{Param, execute};
use protocol::{Capabilities, OkPacket, StatusFlags};
use types::{Collation, Error, Result, SqlType, Value};

use super::charset::Charsets;
use super::columns::column;
use super::sink::{RowForm, WireSink, status};
use super::statements::{Statement, Statements};
use crate::net::{self, Client, Limits, Reply};

pub(super) struct EngineSession {
    db: Arc<Database>,
    session: Session,
    client: Client,
    statements: Statements,
    params: Vec<Param>,
}

impl EngineSession {
    pub(super) fn open(db: Arc<Database>, client: Client) -> Result<EngineSession> {
        let session = open_session(&db, &client)?;
        Ok(EngineSession { db, session, client, statements: Statements::new(), params: Vec::new() })
    }
}

fn open_session(db: &Arc<Database>, client: &Client) -> Result<Session> {
    let mut session = db.session_of(client.process.clone(), &client.user, &client.host.name());
    if let Some((version, suite)) = &client.tls {
        client.process.set_tls((version.clone(), openssl_name(suite)));
    }
    session.set_reports_found_rows(client.capabilities.has(Capabilities::FOUND_ROWS));
    set_names(&mut session, client.collation_id);
    if let Some(name) = &client.database {
        session.use_database(name)?;
    }
    Ok(session)
}

/// A cipher suite as OpenSSL calls it, and so Ssl_cipher: the suites of TLS 1.3 by their registered names, those before
/// with dashes, `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` being `ECDHE-RSA-AES256-GCM-SHA384`.
fn openssl_name(suite: &str) -> String {
    let Some((exchange, cipher)) = suite.strip_prefix("TLS_").and_then(|rest| rest.split_once("_WITH_")) else {
        return suite.to_owned();
    };
    let cipher = match cipher.strip_suffix("_POLY1305_SHA256") {
        Some(stream) => format!("{stream}_POLY1305"),
        None => cipher.replacen("AES_", "AES", 1),
    };
    format!("{exchange}_{cipher}").replace('_', "-")
}

/// Applies the collation that a client named in its login; one that is not known here means the default, as in MySQL.
fn set_names(session: &mut Session, collation_id: u16) {
    let names = match collation_id {
        8 | 5 | 15 | 31 | 48 | 49 | 94 => "latin1",
        47 => "latin1 COLLATE latin1_bin",
        63 => "binary",
        33 | 83 => "utf8mb3",
        45 => "utf8mb4 COLLATE utf8mb4_general_ci",
        46 => "utf8mb4 COLLATE utf8mb4_bin",
        309 => "utf8mb4 COLLATE utf8mb4_0900_bin",
        _ => return,
    };
    let _ = session.execute(format!("SET NAMES {names}").as_bytes(), false, &mut Collect::without_rows());
}

impl EngineSession {
    fn charsets(&self) -> Charsets {
        let hot = self.session.vars().hot();
        Charsets { client_is_latin1: hot.client_is_latin1, results_are_latin1: hot.results_are_latin1 }
    }
}

/// A text parameter as UTF-8.
fn decode_param((value, ty): &mut Param, charsets: Charsets) {
    if let (Value::Bytes(bytes), SqlType::String { collation, .. }) = (&mut *value, ty)
        && *collation != Collation::Binary
    {
        let text = charsets.decode(bytes).into_owned();
        *value = Value::Bytes(text.into());
    }
}

impl net::Session for EngineSession {
    fn limits(&self) -> Limits {
        let interactive = self.client.capabilities.has(Capabilities::INTERACTIVE);
        let hot = self.session.vars().hot();
        Limits {
            idle: Duration::from_secs(if interactive { hot.interactive_timeout_s } else { hot.wait_timeout_s }),
            read: Duration::from_secs(hot.net_read_timeout_s),
            write: Duration::from_secs(hot.net_write_timeout_s),
            packet_len_max: hot.max_allowed_packet as usize,
        }
    }

    fn set_commits_later(&mut self, on: bool) {
        self.session.set_commits_later(on);
    }

    fn changes_committed(&self) -> u64 {
        self.session.changes_committed()
    }

    fn take_unsettled(&mut self) -> Option<Unsettled> {
        self.session.take_unsettled()
    }

    fn status(&self) -> StatusFlags {
        status(self.session.status_flags(false))
    }

    fn query(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Result<()> {
        let multi_statements = reply.multi_statements();
        let charsets = self.charsets();
        let mut sink = WireSink::new(reply, self.status(), RowForm::Text, charsets);
        self.session.execute(&charsets.decode(sql), multi_statements, &mut sink)
    }

    fn prepare(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Result<()> {
        let charsets = self.charsets();
        let prepared = self.session.prepare(&charsets.decode(sql))?;
        let collation_id = charsets.results_collation_id();
        let columns: Vec<_> = prepared.columns.iter().map(|meta| column(meta, collation_id)).collect();
        let warnings = u16::try_from(prepared.warnings).unwrap_or(u16::MAX);
        self.statements.insert(prepared.id, Statement::default());
        reply.prepared(prepared.id, prepared.param_count, &columns, warnings, self.status())
    }

    fn execute_statement(&mut self, id: u32, arguments: &[u8], reply: &mut Reply<'_>) -> Result<()> {
        const COMMAND: &str = "mysqld_stmt_execute";
        let param_count = self.session.prepared_param_count(id, COMMAND)?.into();
        let status = self.status();
        let collation = self.session.connection_collation();
        let statement = self.statements.entry(id).or_default();
        statement.cursor = None;
        statement.take_fault()?;
        let mut types = std::mem::take(&mut statement.types);
        let long_data = |i| statement.long_data(i);
        let decoded = execute(arguments, param_count, &mut types, long_data, collation, &mut self.params);
        statement.types = types;
        let charged = statement.take_long_data();
        let header = decoded.map_err(|_| Error::wrong_arguments(COMMAND))?;
        let charsets = self.charsets();
        if charsets.client_is_latin1 {
            self.params.iter_mut().for_each(|p| decode_param(p, charsets));
        }
        mark_bytes(&mut self.params);
        let statement = self.statements.entry(id).or_default();
        let form = if header.cursor { RowForm::Cursor(&mut statement.cursor) } else { RowForm::Binary };
        let mut sink = WireSink::new(reply, status, form, charsets);
        let result = self.session.execute_prepared(id, &self.params, &mut sink);
        if result.is_err() {
            statement.cursor = None;
        }
        if charged.is_some() {
            self.params = Vec::new();
        }
        result
    }

    fn fetch(&mut self, id: u32, rows: u32, reply: &mut Reply<'_>) -> Result<()> {
        self.session.count_fetch();
        self.session.prepared_param_count(id, "mysqld_stmt_fetch")?;
        let status = self.status();
        let statement = self.statements.get_mut(&id);
        let statement = statement.ok_or_else(|| Error::stmt_has_no_open_cursor(id))?;
        let cursor = statement.cursor.as_mut().ok_or_else(|| Error::stmt_has_no_open_cursor(id))?;
        reply.fetched()?;
        for _ in 0..rows {
            let Some(row) = cursor.next_row() else { break };
            reply.payload(|out| out.extend_from_slice(row))?;
        }
        let mut status = status | StatusFlags::CURSOR_EXISTS;
        if cursor.is_at_end() {
            status |= StatusFlags::LAST_ROW_SENT;
            statement.cursor = None;
        }
        reply.end(&OkPacket { status, ..OkPacket::default() })
    }

    fn send_long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        let Ok(param_count) = self.session.prepared_param_count(id, "mysqld_stmt_send_long_data") else { return };
        let len_max = self.limits().packet_len_max;
        self.statements.entry(id).or_default().add_long_data(parameter, param_count, data, len_max, self.db.memory());
    }

    fn reset_statement(&mut self, id: u32) -> Result<()> {
        self.session.prepared_param_count(id, "mysqld_stmt_reset")?;
        self.statements.entry(id).or_default().reset();
        Ok(())
    }

    fn close_statement(&mut self, id: u32) {
        self.statements.remove(&id);
        self.session.close_prepared(id);
    }

    fn use_database(&mut self, name: &[u8]) -> Result<()> {
        let name = self.charsets().decode(name);
        self.session.use_database(&String::from_utf8_lossy(&name))
    }

    fn field_list(&mut self, table: &[u8], wildcard: &[u8], reply: &mut Reply<'_>) -> Result<()> {
        let charsets = self.charsets();
        let table = String::from_utf8_lossy(&charsets.decode(table)).replace('`', "``");
        let mut found = Collect::without_rows();
        self.session.execute(format!("SELECT * FROM `{table}` LIMIT 0").as_bytes(), false, &mut found)?;
        let matching = || found.columns.iter().filter(|m| wildcard.is_empty() || like(wildcard, m.name.as_bytes()));
        let defaults: Vec<_> = matching().map(|meta| self.session.default_text(meta)).collect();
        let columns: Vec<_> = matching()
            .zip(&defaults)
            .map(|(meta, default)| (column(meta, charsets.results_collation_id()), default.as_deref()))
            .collect();
        reply.field_list(&columns, &OkPacket { status: self.status(), ..OkPacket::default() })
    }

    fn statistics(&mut self) -> String {
        self.session.statistics()
    }

    fn kill(&mut self, id: u32) -> Result<()> {
        self.session.execute(format!("KILL {id}").as_bytes(), false, &mut Collect::without_rows())
    }

    fn reset(&mut self) -> Result<()> {
        self.session.reset();
        self.statements.clear();
        set_names(&mut self.session, self.client.collation_id);
        Ok(())
    }

    fn change_user(&mut self, client: Client) -> Result<()> {
        self.session = open_session(&self.db, &client)?;
        self.client = client;
        self.statements.clear();
        Ok(())
    }
}

/// Many clients send all strings as text, bytes included. What is no text of the connection is bytes, as it is in a
/// literal: a BLOB takes it, a text column answers error 1366.
fn mark_bytes(params: &mut [Param]) {
    for (value, ty) in params {
        if let (Value::Bytes(bytes), SqlType::String { collation, .. }) = (value, ty)
            && *collation != Collation::Binary
            && std::str::from_utf8(bytes).is_err()
        {
            *collation = Collation::Binary;
        }
    }
}

/// LIKE with `%`, `_` and `\`, ASCII letters in either case. Linear in pattern times text.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    // reached[t]: the pattern so far matches the first t bytes
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let [c, tail @ ..] = rest {
        rest = tail;
        if *c == b'%' {
            let from = reached.iter().position(|&here| here).unwrap_or(reached.len());
            reached[from..].fill(true);
            continue;
        }
        let (any, wanted) = match (*c, rest) {
            (b'_', _) => (true, 0),
            (b'\\', [escaped, tail @ ..]) => {
                rest = tail;
                (false, *escaped)
            }
            (plain, _) => (false, plain),
        };
        for t in (1..=text.len()).rev() {
            reached[t] = reached[t - 1] && (any || text[t - 1].eq_ignore_ascii_case(&wanted));
        }
        reached[0] = false;
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (pattern, text, matches) in [
            ("%", "", true),
            ("a%", "Abc", true),
            ("_b_", "abc", true),
            ("_b", "abc", false),
            ("%b%", "abc", true),
            ("a\\_c", "a_c", true),
            ("a\\_c", "abc", false),
            ("", "a", false),
        ] {
            assert_eq!(like(pattern.as_bytes(), text.as_bytes()), matches, "{pattern} {text}");
        }
    }
}
