//! SHOW statements about replication, on a server that has none and no binary log.
//!
//! Most are empty sets, which monitoring programs take for an answer; SHOW BINARY LOGS alone is an error, 1381.
//!
//! Source: MySQL manual, "SHOW Statements".

use session::rows::{BIGINT, RowSet, UBIGINT, long_text, text};
use types::{Error, Result, SqlType};

/// Columns of SHOW REPLICA STATUS. `N`: a number. In the words of SHOW SLAVE STATUS, `Source` is `Master`, and
/// `Replica` `Slave`.
const STATUS: &str = "Replica_IO_State Source_Host Source_User Source_Port:N Connect_Retry:N Source_Log_File \
    Read_Source_Log_Pos:N Relay_Log_File Relay_Log_Pos:N Relay_Source_Log_File Replica_IO_Running Replica_SQL_Running \
    Replicate_Do_DB Replicate_Ignore_DB Replicate_Do_Table Replicate_Ignore_Table Replicate_Wild_Do_Table \
    Replicate_Wild_Ignore_Table Last_Errno:N Last_Error Skip_Counter:N Exec_Source_Log_Pos:N Relay_Log_Space:N \
    Until_Condition Until_Log_File Until_Log_Pos:N Source_SSL_Allowed Source_SSL_CA_File Source_SSL_CA_Path \
    Source_SSL_Cert Source_SSL_Cipher Source_SSL_Key Seconds_Behind_Source:N Source_SSL_Verify_Server_Cert \
    Last_IO_Errno:N Last_IO_Error Last_SQL_Errno:N Last_SQL_Error Replicate_Ignore_Server_Ids Source_Server_Id:N \
    Source_UUID Source_Info_File SQL_Delay:N SQL_Remaining_Delay:N Replica_SQL_Running_State Source_Retry_Count:N \
    Source_Bind Last_IO_Error_Timestamp Last_SQL_Error_Timestamp Source_SSL_Crl Source_SSL_Crlpath Retrieved_Gtid_Set \
    Executed_Gtid_Set Auto_Position Replicate_Rewrite_DB Channel_Name Source_TLS_Version Source_public_key_path \
    Get_Source_public_key Network_Namespace";

/// `statement`: as it was written, from SHOW on.
pub(super) fn show(statement: &str) -> Result<RowSet> {
    let words: Vec<String> = statement.split_whitespace().map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["SHOW", "REPLICA", "STATUS", ..] => Ok(status(false)),
        ["SHOW", "SLAVE", "STATUS", ..] => Ok(status(true)),
        ["SHOW", "REPLICAS"] | ["SHOW", "REPLICA", "HOSTS"] => Ok(hosts(["Source_Id", "Replica_UUID"])),
        ["SHOW", "SLAVE", "HOSTS"] => Ok(hosts(["Master_id", "Slave_UUID"])),
        ["SHOW", "BINLOG", "EVENTS", ..] => Ok(RowSet::new(&[
            ("Log_name", text(20)),
            ("Pos", UBIGINT),
            ("Event_type", text(20)),
            ("Server_id", UBIGINT),
            ("End_log_pos", UBIGINT),
            ("Info", long_text()),
        ])),
        _ => Err(Error::not_supported(statement)),
    }
}

fn status(old_words: bool) -> RowSet {
    let columns: Vec<(String, SqlType)> = STATUS
        .split_whitespace()
        .map(|column| {
            let (name, ty) = match column.strip_suffix(":N") {
                Some(name) => (name, BIGINT),
                None => (column, text(512)),
            };
            let old = || name.replace("Source", "Master").replace("Replica_", "Slave_");
            (if old_words { old() } else { name.to_string() }, ty)
        })
        .collect();
    RowSet::new(&columns.iter().map(|(name, ty)| (name.as_str(), *ty)).collect::<Vec<_>>())
}

fn hosts(names: [&str; 2]) -> RowSet {
    let columns = [("Server_Id", UBIGINT), ("Host", text(255)), ("Port", UBIGINT), (names[0], UBIGINT)];
    RowSet::new(&[&columns[..], &[(names[1], text(36))]].concat())
}

/// SHOW BINARY LOG STATUS
pub(super) fn binary_log_status() -> RowSet {
    RowSet::new(&[
        ("File", text(255)),
        ("Position", UBIGINT),
        ("Binlog_Do_DB", text(255)),
        ("Binlog_Ignore_DB", text(255)),
        ("Executed_Gtid_Set", long_text()),
    ])
}
