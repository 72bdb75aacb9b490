//! An answer on its way to the client.
//!
//! ```text
//!   [Open] --ok--> [Done]                          --ok, columns (after MORE_RESULTS)--> ...
//!   [Open] --columns--> [Rows] --row*--> [Rows] --end--> [Done]
//!   [Open] --local_infile--> the file's packets --> [Open]
//! ```
//!
//! Rows are written straight into the connection's output buffer, which is sent whenever it is long enough; a client
//! that reads slowly makes [`Reply::row`] wait, until it reads on, the query is killed or net_write_timeout is over.

use std::io;
use std::time::{Duration, Instant};

use executor::Reservation;
use protocol::{Capabilities, Column, OkPacket, PacketReader, PacketWriter, StatusFlags, TextRow};
use types::{Collation, Error, Result, SqlType};

use super::wire::{ReadError, Wire};

/// The packets that open a result set, to be sent more than once.
pub fn encode_columns(columns: &[Column<'_>]) -> Vec<u8> {
    let mut out = PacketWriter::new();
    out.packet(|out| protocol::column_count(out, columns.len()));
    for column in columns {
        out.packet(|out| protocol::column_definition(out, column));
    }
    out.unsent().to_vec()
}

/// Id of the collation `binary`.
const BINARY_COLLATION_ID: u16 = 63;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    Rows,
    Done,
}

/// Where a session writes its answers.
pub struct Reply<'a> {
    wire: &'a mut Wire,
    state: State,
    /// What the client has sent behind the command.
    early: &'a [u8],
    /// What is left of that, once a local file has been read.
    pub(super) further: Option<PacketReader>,
    multi_statements: bool,
}

impl<'a> Reply<'a> {
    pub(super) fn new(wire: &'a mut Wire, early: &'a [u8], multi_statements: bool) -> Reply<'a> {
        Reply { wire, state: State::Open, early, further: None, multi_statements }
    }

    pub fn capabilities(&self) -> Capabilities {
        self.wire.capabilities
    }

    /// Whether the client may send several statements in one command.
    pub fn multi_statements(&self) -> bool {
        self.multi_statements
    }

    /// Every answer has come to its end.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Answers with an OK packet.
    pub fn ok(&mut self, ok: &OkPacket<'_>) -> Result<()> {
        self.expect(State::Open)?;
        let capabilities = self.wire.capabilities;
        self.wire.out.packet(|out| protocol::ok(out, ok, capabilities));
        self.finish(ok)
    }

    /// Begins a result set.
    pub fn columns(&mut self, columns: &[Column<'_>], warnings: u16, status: StatusFlags) -> Result<()> {
        self.expect(State::Open)?;
        if columns.is_empty() {
            return Err(Error::internal("a result set without columns"));
        }
        self.wire.out.packet(|out| protocol::column_count(out, columns.len()));
        for column in columns {
            self.wire.out.packet(|out| protocol::column_definition(out, column));
            self.wire.flush_if_long()?;
        }
        if !self.wire.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.wire.out.packet(|out| protocol::eof(out, warnings, status));
        }
        self.state = State::Rows;
        Ok(())
    }

    /// A row of so many bytes is about to be written: error 1041 if there is no memory for it.
    pub fn expect_bytes(&mut self, bytes: usize) -> Result<()> {
        self.wire.charge_written(bytes)
    }

    /// For what is kept of the answer until the client asks for it.
    pub fn reservation(&self) -> Option<Reservation> {
        self.wire.reservation()
    }

    /// One row, whose values `write` appends.
    #[inline]
    pub fn row(&mut self, write: impl FnOnce(&mut TextRow<'_>)) -> Result<()> {
        debug_assert_eq!(self.state, State::Rows);
        let payload = self.wire.out.begin();
        write(&mut TextRow::new(payload));
        self.wire.out.finish();
        self.wire.flush_if_long()
    }

    /// One row, whose payload `write` appends.
    #[inline]
    pub fn payload(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        debug_assert_eq!(self.state, State::Rows);
        self.wire.out.packet(write);
        self.wire.flush_if_long()
    }

    /// Begins a result set with column definitions that were made before, by [`encode_columns`].
    pub fn encoded_columns(&mut self, packets: &[u8], warnings: u16, status: StatusFlags) -> Result<()> {
        self.expect(State::Open)?;
        self.wire.out.copy_packets(packets);
        if !self.wire.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.wire.out.packet(|out| protocol::eof(out, warnings, status));
        }
        self.state = State::Rows;
        Ok(())
    }

    /// A row's payload, without sending anything: a latch may be held.
    #[inline]
    pub fn payload_unsent(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert_eq!(self.state, State::Rows);
        self.wire.out.packet(write);
    }

    /// Sends what is collected, if it is long enough.
    #[inline]
    pub fn flush_if_long(&mut self) -> Result<()> {
        self.wire.flush_if_long()
    }

    /// Begins a result set whose rows are fetched later: its end follows at once, which is why no EOF stands in
    /// between.
    pub fn cursor_columns(&mut self, columns: &[Column<'_>]) -> Result<()> {
        self.expect(State::Open)?;
        self.wire.out.packet(|out| protocol::column_count(out, columns.len()));
        for column in columns {
            self.wire.out.packet(|out| protocol::column_definition(out, column));
            self.wire.flush_if_long()?;
        }
        self.state = State::Rows;
        Ok(())
    }

    /// Answers COM_STMT_PREPARE. Parameters are described alike, as their types are not known.
    pub fn prepared(
        &mut self,
        statement: u32,
        param_count: u16,
        columns: &[Column<'_>],
        warnings: u16,
        status: StatusFlags,
    ) -> Result<()> {
        self.expect(State::Open)?;
        let column_count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
        self.wire.out.packet(|out| protocol::statement::prepared(out, statement, column_count, param_count, warnings));
        let param = Column::of_type("?", &SqlType::varchar(0, Collation::Binary), BINARY_COLLATION_ID);
        for _ in 0..param_count {
            self.wire.out.packet(|out| protocol::column_definition(out, &param));
            self.wire.flush_if_long()?;
        }
        let eof = !self.wire.capabilities.has(Capabilities::DEPRECATE_EOF);
        if param_count > 0 && eof {
            self.wire.out.packet(|out| protocol::eof(out, 0, status));
        }
        for column in columns {
            self.wire.out.packet(|out| protocol::column_definition(out, column));
            self.wire.flush_if_long()?;
        }
        if !columns.is_empty() && eof {
            self.wire.out.packet(|out| protocol::eof(out, 0, status));
        }
        self.state = State::Done;
        Ok(())
    }

    /// Begins the answer to COM_STMT_FETCH: rows without their columns.
    pub fn fetched(&mut self) -> Result<()> {
        self.expect(State::Open)?;
        self.state = State::Rows;
        Ok(())
    }

    /// Ends a result set.
    pub fn end(&mut self, ok: &OkPacket<'_>) -> Result<()> {
        self.expect(State::Rows)?;
        let capabilities = self.wire.capabilities;
        self.wire.out.packet(|out| protocol::ok_as_eof(out, ok, capabilities));
        self.finish(ok)
    }

    /// Answers COM_FIELD_LIST: columns with their defaults, None for NULL.
    pub fn field_list(&mut self, columns: &[(Column<'_>, Option<&[u8]>)], ok: &OkPacket<'_>) -> Result<()> {
        self.expect(State::Open)?;
        for (column, default) in columns {
            self.wire.out.packet(|out| protocol::field_list_definition(out, column, *default));
            self.wire.flush_if_long()?;
        }
        let capabilities = self.wire.capabilities;
        self.wire.out.packet(|out| protocol::ok_as_eof(out, ok, capabilities));
        self.finish(ok)
    }

    /// Has the client send a file of its own. Error 3948 if it is not willing to send any.
    pub fn local_infile(&mut self, file_name: &[u8]) -> Result<LocalInfile<'_>> {
        self.expect(State::Open)?;
        if !self.wire.capabilities.has(Capabilities::LOCAL_FILES) {
            return Err(Error::client_local_files_disabled());
        }
        self.wire.out.packet(|out| protocol::local_infile(out, file_name));
        self.wire.flush()?;
        let early = std::mem::take(&mut self.early);
        let reader = self.further.get_or_insert_with(|| self.wire.further_reader(early));
        Ok(LocalInfile { wire: self.wire, reader, read: 0, ended: false })
    }

    fn expect(&self, state: State) -> Result<()> {
        if self.state == state { Ok(()) } else { Err(Error::internal("an answer out of order")) }
    }

    fn finish(&mut self, ok: &OkPacket<'_>) -> Result<()> {
        self.state = if ok.status.has(StatusFlags::MORE_RESULTS) { State::Open } else { State::Done };
        self.wire.flush_if_long()
    }
}

/// While a client is waited for, whether to stop is looked at so often.
const READ_SLICE: Duration = Duration::from_millis(50);

/// The client's file, packet after packet. It is read to its end in any case, since the answer cannot come before.
pub struct LocalInfile<'a> {
    wire: &'a mut Wire,
    reader: &'a mut PacketReader,
    /// How much of the current packet `Read::read` has handed out.
    read: usize,
    ended: bool,
}

impl LocalInfile<'_> {
    /// The next piece, as long as the client likes; None at the end.
    pub fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        self.wire.process().check_killed()?;
        self.receive(true)?;
        Ok(if self.ended { None } else { Some(self.reader.packet()) })
    }

    /// `stoppable`: a kill ends the wait for the client.
    fn receive(&mut self, stoppable: bool) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        let limit = self.wire.limits.read;
        let slice = limit.min(READ_SLICE);
        let (mut since, mut received) = (Instant::now(), self.wire.process().bytes().0);
        while let Err(error) = self.wire.receive(self.reader, slice, slice) {
            if matches!(error, ReadError::Idle | ReadError::Stalled) {
                if stoppable {
                    self.wire.process().check_killed()?;
                }
                let now_received = self.wire.process().bytes().0;
                if now_received > received {
                    (since, received) = (Instant::now(), now_received);
                }
                if since.elapsed() < limit {
                    continue;
                }
            }
            self.ended = true;
            self.wire.lost();
            return Err(match error {
                ReadError::Closed => Error::net_read_error(),
                other => other.into(),
            });
        }
        self.read = 0;
        self.ended = self.reader.packet().is_empty();
        Ok(())
    }
}

impl io::Read for LocalInfile<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.read == self.reader.packet().len() {
            self.next_piece().map_err(io::Error::other)?;
        }
        let piece = &self.reader.packet()[self.read..];
        let len = piece.len().min(buf.len());
        buf[..len].copy_from_slice(&piece[..len]);
        self.read += len;
        Ok(len)
    }
}

impl Drop for LocalInfile<'_> {
    fn drop(&mut self) {
        while !self.ended && !self.wire.process().killed().is_some_and(super::Kill::is_final) {
            if self.receive(false).is_err() {
                break;
            }
        }
    }
}
