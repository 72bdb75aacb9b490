//! One connection, after login: command after command.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use protocol::auth::DigestCache;
use protocol::{Capabilities, Command, OkPacket, PacketReader};
use types::{Error, ErrorCode, Result};

use super::hangup::{HangupMonitor, Watch};
use super::load::{Latest, Load};
use super::login::{LoggedIn, LoginError};
use super::proof;
use super::secrets::Secrets;
use super::socket::Socket;
use super::spin::Spin;
use super::threads::Threads;
use super::wire::{ReadError, Wire};
use super::workers::{After, Served, Why, Workers};
use super::{Backend, Kill, Options, ProcessList, Reply};
use engine::{Entry, Unsettled};

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) processes: Arc<ProcessList>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) digests: DigestCache,
    pub(crate) monitor: HangupMonitor,
    pub(crate) load: Arc<Load>,
    pub(crate) threads: Arc<Threads>,
    pub(crate) workers: Workers,
}

/// As long as no more threads than this serve connections, each waits for its own.
const THREADS_MAX: usize = 64;
/// Beyond, a connection is left to the workers after so long without a command.
const PARK_AFTER: Duration = Duration::from_millis(500);

impl Shared {
    /// How long a login may take.
    pub(crate) fn connect_timeout(&self) -> Duration {
        self.backend.connect_timeout().unwrap_or(self.options.connect_timeout)
    }

    /// How many connections there may be at once.
    pub(crate) fn max_connections(&self) -> usize {
        self.backend.max_connections().unwrap_or(self.options.max_connections)
    }
}

/// Whether the connection goes on after a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Command,
    Close,
    /// Close, but let the client read the error first.
    Linger,
    /// The answer is written and waits for a commit.
    Settle,
}

/// A connection whose client has just logged in.
pub(crate) fn logged_in(
    shared: Arc<Shared>,
    socket: Arc<Socket>,
    wire: Wire,
    mut reader: PacketReader,
    logged_in: LoggedIn,
    entry: Entry,
) -> Box<dyn Served> {
    let process = entry.process().clone();
    let watch = shared.monitor.watch(process.clone(), socket);
    let multi_statements = wire.capabilities.has(Capabilities::MULTI_STATEMENTS);
    process.end();
    let mut connection = Connection {
        shared,
        wire,
        reader: PacketReader::unused(),
        logged_in,
        watch,
        multi_statements,
        latest: Latest::default(),
        changes_committed: 0,
        spin: Spin::default(),
        unsettled: None,
        said_goodbye: false,
        _entry: entry,
    };
    reader.believe_headers(true);
    connection.obey_limits(&mut reader);
    connection.reader = reader;
    Box::new(connection)
}

struct Connection {
    shared: Arc<Shared>,
    wire: Wire,
    reader: PacketReader,
    logged_in: LoggedIn,
    watch: Watch,
    multi_statements: bool,
    /// When the latest command came, and when changes were committed last, as [`Load`] counts.
    latest: Latest,
    changes_committed: u64,
    spin: Spin,
    /// What the answer waits for.
    unsettled: Option<Unsettled>,
    /// COM_QUIT has come.
    said_goodbye: bool,
    /// Dropped last: while it is there the connection counts.
    _entry: Entry,
}

impl Served for Connection {
    fn serve(mut self: Box<Self>, why: Why) -> After {
        let mut reader = std::mem::replace(&mut self.reader, PacketReader::unused());
        let received = match why {
            Why::Settled => Ok(false),
            Why::Expired => Err(ReadError::Idle),
            Why::Readable | Why::HungUp => {
                self.wire.begin_exchange();
                let rest = self.wire.limits.read;
                self.wire.try_receive(&mut reader, rest)
            }
        };
        let served = why == Why::Settled || matches!(received, Ok(true));
        let next = match received {
            Ok(false) if why == Why::Settled => self.settled(),
            Ok(true) => self.command(&mut reader, true),
            Ok(false) => Next::Command,
            Err(error) => self.no_command(error),
        };
        if next == Next::Settle
            && let Some(commit) = self.unsettled.clone()
        {
            self.reader = reader;
            return After::Settling { who: self, commit };
        }
        if next != Next::Command {
            self.end(next);
            return After::Ended;
        }
        let drained = !served || why != Why::HungUp && self.wire.is_drained(&reader);
        self.let_go(&mut reader);
        self.obey_limits(&mut reader);
        self.reader = reader;
        if served && !self.shared.load.needs_workers() {
            return After::Leaves(self);
        }
        let patience = self.wire.limits.idle;
        if drained { After::Idle { who: self, patience } } else { After::Again(self) }
    }

    fn rest(&mut self) {
        self.reader.release();
        self.wire.out.release();
    }

    fn take_thread(self: Box<Self>) {
        let shared = self.shared.clone();
        let left = Arc::new(Mutex::new(Some(self)));
        let taken = left.clone();
        let given = shared.threads.run(Box::new(move || {
            if let Some(connection) = { taken.lock().take() } {
                connection.run();
            }
        }));
        let Err(e) = given else { return };
        if shared.load.lacks_threads() {
            crate::log::error(format_args!("cannot start a thread for a connection, which workers keep: {e}"));
        }
        if let Some(connection) = { left.lock().take() } {
            let patience = connection.wire.limits.idle;
            connection.leave_thread(patience, false);
        }
    }
}

impl Connection {
    /// A command is done: what it took is given back.
    fn let_go(&mut self, reader: &mut PacketReader) {
        reader.shrink();
        // What shrinks is never refused.
        let _ = self.wire.charge_received(reader);
        let _ = self.wire.charge_written(0);
    }

    /// Serves the connection until it ends or is left to the workers.
    fn run(mut self: Box<Self>) {
        let mut reader = std::mem::replace(&mut self.reader, PacketReader::unused());
        let next = loop {
            self.obey_limits(&mut reader);
            self.wire.begin_exchange();
            let limits = self.wire.limits;
            let parks = self.shared.threads.busy() > THREADS_MAX && limits.idle > PARK_AFTER;
            let patience = if parks { PARK_AFTER } else { limits.idle };
            match self.receive(&mut reader, patience) {
                Ok(()) => {}
                Err(ReadError::Idle) if parks => {
                    self.reader = reader;
                    self.rest();
                    return self.leave_thread(limits.idle - PARK_AFTER, true);
                }
                Err(error) => break self.no_command(error),
            }
            let next = self.command(&mut reader, false);
            self.let_go(&mut reader);
            if next != Next::Command {
                break next;
            }
            if self.shared.load.needs_workers() {
                self.obey_limits(&mut reader);
                self.reader = reader;
                let patience = self.wire.limits.idle;
                return self.leave_thread(patience, false);
            }
        };
        self.end(next);
    }

    fn end(mut self: Box<Self>, next: Next) {
        if !self.said_goodbye && self.wire.process().killed() != Some(Kill::Shutdown) {
            self.shared.backend.note_aborted_client();
        }
        match next {
            Next::Linger => self.wire.linger(),
            Next::Command | Next::Close | Next::Settle => self.wire.close(),
        }
    }

    /// Receives a command.
    fn receive(&mut self, reader: &mut PacketReader, patience: Duration) -> std::result::Result<(), ReadError> {
        let rest = self.wire.limits.read;
        if self.shared.load.leaves_room() {
            let wire = &mut self.wire;
            let mut received = Ok(());
            let come = self.spin.until(|| match wire.try_receive(reader, rest) {
                Ok(come) => come,
                Err(error) => {
                    received = Err(error);
                    true
                }
            });
            if come {
                return received;
            }
        }
        self.wire.receive(reader, patience, rest)
    }

    /// Leaves the connection to the workers. `is_idle`: nothing of a further command has come.
    fn leave_thread(mut self: Box<Self>, patience: Duration, is_idle: bool) {
        let shared = self.shared.clone();
        let (id, socket) = (self.wire.process().id(), self.wire.stream().socket().clone());
        if let Err(e) = shared.workers.add(id, socket, self, patience, is_idle) {
            crate::log::error(format_args!("cannot watch a connection: {e}"));
        }
    }

    /// Takes over limits that the session's variables set.
    fn obey_limits(&mut self, reader: &mut PacketReader) {
        self.wire.limits = self.logged_in.session.limits();
        reader.set_packet_len_max(self.wire.limits.packet_len_max);
    }

    fn no_command(&mut self, error: ReadError) -> Next {
        let last_words = match (self.wire.process().killed(), error) {
            (Some(Kill::Shutdown), _) => Error::server_shutdown(),
            (Some(_), _) | (None, ReadError::Closed | ReadError::Io) => return Next::Close,
            (None, ReadError::Idle) => Error::client_interaction_timeout(),
            (None, error) => error.into(),
        };
        let _ = self.wire.send_error(&last_words);
        Next::Linger
    }

    /// Executes the command in `reader` and answers it. `later`: the answer may be left to wait for a commit.
    fn command(&mut self, reader: &mut PacketReader, later: bool) -> Next {
        let command = match Command::parse(reader.packet()) {
            Ok(command) => command,
            Err(malformed) => return self.answer_error(&malformed.into(), Next::Command),
        };
        if command == Command::Quit {
            self.said_goodbye = true;
            return Next::Close;
        }
        let answered = command.is_answered();
        let later = later && has_one_answer(&command) && !self.wire.is_compressed();
        self.logged_in.session.set_commits_later(later);
        let process = self.wire.process().clone();
        process.begin(command.name(), shown_text(&command));
        self.watch.query_begins();
        self.shared.load.note_command(&mut self.latest);
        let mut further = None;
        let done = catch_unwind(AssertUnwindSafe(|| self.execute(command, reader, &mut further)));
        let (result, mut next) = match done {
            Ok(Done::Answered(result)) => (result, Next::Command),
            Ok(Done::ChangeUser) => self.change_user(reader),
            // the session may be in any state now
            Err(_) => (Err(Error::internal("a statement ended in a panic")), Next::Linger),
        };
        if let Some(rest) = further {
            reader.take_buffered();
            reader.feed(PacketReader::buffered(&rest));
        }
        let committed = self.logged_in.session.changes_committed();
        if committed != self.changes_committed {
            self.changes_committed = committed;
            self.shared.load.note_commit(&mut self.latest);
        }
        if let Some(commit) = self.logged_in.session.take_unsettled() {
            if result.is_ok() {
                self.unsettled = Some(commit);
                return Next::Settle;
            }
            // nothing was said of it, and nothing may be said before it is certain
            let _ = commit.settle();
        }
        if let (Err(error), true) = (&result, answered) {
            // whoever stopped the statement may not know that it is the server that stops
            let interrupted = error.code() == ErrorCode::QUERY_INTERRUPTED;
            let reason = process.check_killed().err().filter(|_| interrupted);
            next = self.answer_error(reason.as_ref().unwrap_or(error), next);
        } else if self.wire.flush().is_err() {
            next = Next::Close;
        }
        self.answered(next)
    }

    /// Sends the answer that waited for a commit, or the error that takes its place.
    fn settled(&mut self) -> Next {
        let next = match self.unsettled.take().map_or(Ok(()), |commit| commit.settle()) {
            Ok(()) => self.wire.flush().map_or(Next::Close, |()| Next::Command),
            Err(error) => {
                self.wire.take_back_answer();
                self.answer_error(&error, Next::Command)
            }
        };
        self.answered(next)
    }

    /// The command has been answered.
    fn answered(&mut self, next: Next) -> Next {
        let process = self.wire.process();
        process.end();
        match process.killed() {
            Some(kill) if kill.is_final() && next == Next::Command => Next::Linger,
            _ => next,
        }
    }

    fn answer_error(&mut self, error: &Error, next: Next) -> Next {
        match self.wire.send_error(error) {
            Ok(()) => next,
            Err(_) => Next::Close,
        }
    }

    fn execute(&mut self, command: Command<'_>, reader: &PacketReader, further: &mut Option<PacketReader>) -> Done {
        let session = &mut self.logged_in.session;
        let result = match command {
            Command::Query(sql) => self.query(sql, reader, further),
            Command::ProcessInfo => self.query(b"SHOW PROCESSLIST", reader, further),
            Command::InitDb(name) => session.use_database(name).and_then(|()| self.ok()),
            Command::FieldList { table, wildcard } => {
                let mut reply = Reply::new(&mut self.wire, reader.buffered(), false);
                session.field_list(table, wildcard, &mut reply)
            }
            Command::Statistics => {
                let text = session.statistics();
                self.wire.out.packet(|out| out.extend_from_slice(text.as_bytes()));
                Ok(())
            }
            Command::ProcessKill { id } => session.kill(id).and_then(|()| self.ok()),
            Command::Ping => self.ok(),
            Command::ResetConnection => session.reset().and_then(|()| self.ok()),
            Command::SetOption { multi_statements } => {
                self.multi_statements = multi_statements;
                self.eof()
            }
            Command::ChangeUser(_) => return Done::ChangeUser,
            Command::StmtPrepare(sql) => {
                let mut reply = Reply::new(&mut self.wire, reader.buffered(), false);
                session.prepare(sql, &mut reply)
            }
            Command::StmtExecute { statement, arguments } => {
                let mut reply = Reply::new(&mut self.wire, reader.buffered(), false);
                let result = session.execute_statement(statement, arguments, &mut reply);
                let done = reply.is_done();
                *further = reply.further.take();
                result.and_then(|()| if done { Ok(()) } else { Err(Error::internal("a statement without an answer")) })
            }
            Command::StmtFetch { statement, rows } => {
                let mut reply = Reply::new(&mut self.wire, reader.buffered(), false);
                session.fetch(statement, rows, &mut reply)
            }
            Command::StmtReset { statement } => session.reset_statement(statement).and_then(|()| self.ok()),
            Command::StmtSendLongData { statement, parameter, data } => {
                session.send_long_data(statement, parameter, data);
                Ok(())
            }
            Command::StmtClose { statement } => {
                session.close_statement(statement);
                Ok(())
            }
            Command::Quit => Ok(()),
            Command::Debug => Err(Error::not_supported("COM_DEBUG")),
            Command::Refused(name) => Err(Error::not_supported(name)),
            Command::Unknown(_) => Err(Error::unknown_com()),
        };
        Done::Answered(result)
    }

    fn query(&mut self, sql: &[u8], reader: &PacketReader, further: &mut Option<PacketReader>) -> Result<()> {
        let mut reply = Reply::new(&mut self.wire, reader.buffered(), self.multi_statements);
        let result = self.logged_in.session.query(sql, &mut reply);
        let done = reply.is_done();
        *further = reply.further.take();
        result?;
        if done { Ok(()) } else { Err(Error::internal("a statement without an answer")) }
    }

    fn change_user(&mut self, reader: &mut PacketReader) -> (Result<()>, Next) {
        let payload = reader.packet()[1..].to_vec();
        match proof::change_user(&self.shared, &mut self.wire, reader, &mut self.logged_in, &payload) {
            Ok(()) => (self.ok(), Next::Command),
            Err(LoginError::Tell(error)) => (Err(error), Next::Linger),
            Err(LoginError::Silent) => (Err(Error::net_read_error()), Next::Close),
        }
    }

    fn ok(&mut self) -> Result<()> {
        let (status, capabilities) = (self.logged_in.session.status(), self.wire.capabilities);
        self.wire.out.packet(|out| protocol::ok(out, &OkPacket { status, ..OkPacket::default() }, capabilities));
        Ok(())
    }

    fn eof(&mut self) -> Result<()> {
        let (status, capabilities) = (self.logged_in.session.status(), self.wire.capabilities);
        self.wire.out.packet(|out| protocol::ok_as_eof(out, &OkPacket { status, ..OkPacket::default() }, capabilities));
        Ok(())
    }
}

enum Done {
    Answered(Result<()>),
    /// Needs the reader for itself.
    ChangeUser,
}

/// Whether the command is one statement, so that an error may still take the place of all that was answered.
fn has_one_answer(command: &Command<'_>) -> bool {
    match command {
        Command::Query(text) => !text.contains(&b';'),
        Command::StmtExecute { .. } => true,
        _ => false,
    }
}

/// The Info column of SHOW PROCESSLIST.
fn shown_text<'a>(command: &Command<'a>) -> &'a [u8] {
    match command {
        Command::Query(text) | Command::StmtPrepare(text) => text,
        _ => b"",
    }
}
