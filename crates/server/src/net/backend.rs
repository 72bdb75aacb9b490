//! What the network needs of a database: the seam to the engine.

use std::sync::Arc;
use std::time::Duration;

use engine::Unsettled;
use executor::MemoryAccountant;
use protocol::auth::{Account, Secret};
use protocol::{Capabilities, StatusFlags};
use types::{Error, Result};

use super::{ClientHost, Process, Reply};

/// A database that clients can log in to.
pub trait Backend: Send + Sync + 'static {
    /// The account that a user from this host would log in to. None does not tell the client that there is none.
    fn account(&self, user: &str, host: &ClientHost) -> Option<Account>;

    /// The account has proved itself with its password, of which it stores no salted verifier yet: stores and returns
    /// one. None if that cannot be; the login succeeds all the same.
    fn salt(&self, _account: &Account, _password: &[u8]) -> Option<Secret> {
        None
    }

    /// How often FLUSH PRIVILEGES was said.
    fn privilege_flushes(&self) -> u64 {
        0
    }

    /// Whether anybody has a password; otherwise the server does not listen beyond this machine.
    fn has_account_with_password(&self) -> bool;

    /// What long packets are charged to.
    fn memory(&self) -> Option<Arc<MemoryAccountant>> {
        None
    }

    /// SET GLOBAL max_connections, which overrides the option.
    fn max_connections(&self) -> Option<usize> {
        None
    }

    /// thread_handling: whether workers serve all connections, or none. `None`: as many are busy.
    fn workers_serve(&self) -> Option<bool> {
        None
    }

    /// SET GLOBAL connect_timeout, likewise.
    fn connect_timeout(&self) -> Option<Duration> {
        None
    }

    /// A connection ended before anybody had logged in.
    fn note_aborted_login(&self) {}

    /// Logs go on in new files where the old ones were renamed.
    fn reopen_logs(&self) -> Result<()> {
        Ok(())
    }

    /// A client went, or was sent away, without COM_QUIT.
    fn note_aborted_client(&self) {}

    /// Opens a session for a client that has proved who it is.
    fn connect(&self, client: Client) -> Result<Box<dyn Session>>;
}

/// A client that has logged in.
#[derive(Clone)]
pub struct Client {
    pub process: Arc<Process>,
    /// The user it named, and where it comes from: USER().
    pub user: String,
    pub host: ClientHost,
    /// The account it logged in to: CURRENT_USER().
    pub account: Account,
    pub database: Option<String>,
    pub capabilities: Capabilities,
    /// Id of the collation that the client asked for.
    pub collation_id: u16,
    pub attributes: Vec<(String, String)>,
    /// Name of the TLS version and of the cipher suite, if the connection is encrypted.
    pub tls: Option<(String, String)>,
}

/// Session variables that the network obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// wait_timeout, or interactive_timeout for interactive clients.
    pub idle: Duration,
    /// net_read_timeout
    pub read: Duration,
    /// net_write_timeout
    pub write: Duration,
    /// max_allowed_packet
    pub packet_len_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            idle: Duration::from_secs(28800),
            read: Duration::from_secs(30),
            write: Duration::from_secs(60),
            packet_len_max: 64 << 20,
        }
    }
}

/// The database's side of one connection. Its methods are called by the connection's thread, one at a time; they should
/// end soon after the client's [`Process::killed`].
pub trait Session: Send {
    /// Asked after each command.
    fn limits(&self) -> Limits;

    /// Whether a statement may leave it to the network to wait for the log: see [`Session::take_unsettled`].
    fn set_commits_later(&mut self, _on: bool) {}

    /// How often changes were committed, for which the log had to be written.
    fn changes_committed(&self) -> u64 {
        0
    }

    /// What the answer to the latest statement, which is written, has to wait for; an error then takes its place.
    fn take_unsettled(&mut self) -> Option<Unsettled> {
        None
    }

    /// Status flags for answers that the network makes itself.
    fn status(&self) -> StatusFlags;

    /// COM_QUERY: executes one statement, or several if the client may send them, and answers each in turn with
    /// [`Reply::ok`] or with [`Reply::columns`], rows and [`Reply::end`]; all answers but the last bear
    /// [`StatusFlags::MORE_RESULTS`]. An error ends the run and is answered by the caller.
    fn query(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Result<()>;

    /// COM_STMT_PREPARE: answers with [`Reply::prepared`].
    fn prepare(&mut self, _sql: &[u8], _reply: &mut Reply<'_>) -> Result<()> {
        Err(Error::unsupported_ps())
    }

    /// COM_STMT_EXECUTE, with what follows the statement's id. Answers as [`Session::query`], with binary rows.
    fn execute_statement(&mut self, _statement: u32, _arguments: &[u8], _reply: &mut Reply<'_>) -> Result<()> {
        Err(Error::unsupported_ps())
    }

    /// COM_STMT_FETCH: answers with [`Reply::fetched`], rows and [`Reply::end`].
    fn fetch(&mut self, _statement: u32, _rows: u32, _reply: &mut Reply<'_>) -> Result<()> {
        Err(Error::unsupported_ps())
    }

    /// COM_STMT_SEND_LONG_DATA, which is not answered.
    fn send_long_data(&mut self, _statement: u32, _parameter: u16, _data: &[u8]) {}

    /// COM_STMT_RESET
    fn reset_statement(&mut self, _statement: u32) -> Result<()> {
        Err(Error::unsupported_ps())
    }

    /// COM_STMT_CLOSE, which is not answered.
    fn close_statement(&mut self, _statement: u32) {}

    /// COM_INIT_DB
    fn use_database(&mut self, name: &[u8]) -> Result<()>;

    /// COM_FIELD_LIST: answers with [`Reply::field_list`].
    fn field_list(&mut self, table: &[u8], wildcard: &[u8], reply: &mut Reply<'_>) -> Result<()>;

    /// COM_STATISTICS: one line for `mysqladmin status`.
    fn statistics(&mut self) -> String;

    /// COM_PROCESS_KILL
    fn kill(&mut self, id: u32) -> Result<()>;

    /// COM_RESET_CONNECTION: back to the state after login, without asking who it is.
    fn reset(&mut self) -> Result<()>;

    /// COM_CHANGE_USER: as if the client had disconnected and logged in again.
    fn change_user(&mut self, client: Client) -> Result<()>;
}
