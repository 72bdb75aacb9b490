//! Packets over a stream: framing, compression, and when to send what is collected.

use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use executor::{MemoryAccountant, Reservation};
use protocol::{Capabilities, CompressedReader, CompressedWriter, PacketReader, PacketWriter};
use types::{Error, Result};

use super::stream::Stream;
use super::{Kill, Limits, Process};

/// Collected output is sent when it is longer than this, or at the end of the answer.
pub(crate) const FLUSH_LEN: usize = 32 << 10;
/// Packets longer than this are charged.
const LONG_LEN: usize = 1 << 20;
/// So much is compressed at a time.
const COMPRESSED_LEN: usize = 4 << 20;
/// A connection that is to end may still try this long to send its last words.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);
/// After an error that ends the connection, so much of what the client is still sending is read and dropped, in order
/// that it may come to read the error.
const LINGER_LEN_MAX: usize = 1 << 30;
pub(crate) const LINGER_PAUSE_MAX: Duration = Duration::from_secs(1);
pub(crate) const LINGER_MAX: Duration = Duration::from_secs(10);
/// So much is dropped before others have their turn.
const LINGER_TURN_LEN: usize = 1 << 20;

/// Why no packet came.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The client closed the connection, between two packets or within one.
    Closed,
    /// Nothing of a packet came in time.
    Idle,
    /// The rest of a packet did not come in time.
    Stalled,
    /// What came is not the protocol.
    Protocol(Error),
    /// The socket failed.
    Io,
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Error {
        match error {
            ReadError::Protocol(error) => error,
            ReadError::Idle | ReadError::Stalled => Error::net_read_interrupted(),
            ReadError::Closed | ReadError::Io => Error::net_read_error(),
        }
    }
}

/// One connection's way to its client.
pub(crate) struct Wire {
    stream: Stream,
    pub(crate) out: PacketWriter,
    /// Sequence number of the next packet in either direction; the writer borrows it while an answer is written.
    seq: u8,
    compression: Option<Box<Compression>>,
    process: Arc<Process>,
    pub(crate) capabilities: Capabilities,
    pub(crate) limits: Limits,
    /// What long packets take, which is charged like the memory of statements.
    memory: Option<Charged>,
    /// Something could not be sent: the client's view is unknown, and the connection ends.
    broken: bool,
}

/// What a client does that has been told that its connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lingers {
    Silent,
    Talks,
    Gone,
}

struct Charged {
    received: Reservation,
    written: Reservation,
}

struct Compression {
    input: CompressedReader,
    output: CompressedWriter,
    seq: u8,
}

impl Wire {
    pub(crate) fn new(stream: Stream, process: Arc<Process>, limits: Limits) -> Wire {
        Wire {
            stream,
            out: PacketWriter::new(),
            seq: 0,
            compression: None,
            process,
            capabilities: Capabilities::default(),
            limits,
            memory: None,
            broken: false,
        }
    }

    /// What long packets take is charged to `accountant`.
    pub(crate) fn charge_to(&mut self, accountant: &Arc<MemoryAccountant>) {
        let new = || Reservation::new(accountant);
        self.memory = Some(Charged { received: new(), written: new() });
    }

    /// Charges what a packet takes as far as it has come, and what a statement made of it will take: as much again for
    /// its values as they are read, and as they are used. Error 1041 if there is not so much.
    pub(crate) fn charge_received(&mut self, reader: &PacketReader) -> Result<()> {
        let Some(Charged { received, .. }) = &mut self.memory else { return Ok(()) };
        let bytes = match reader.held_bytes() {
            0..LONG_LEN => 0,
            held => held.saturating_mul(3),
        };
        if received.try_resize(bytes) { Ok(()) } else { Err(Error::out_of_resources()) }
    }

    /// An empty reservation, for what the connection holds longer.
    pub(crate) fn reservation(&self) -> Option<Reservation> {
        self.memory.as_ref().map(|m| m.written.fellow())
    }

    /// Charges what a packet that is about to be written will take; until the next one.
    pub(crate) fn charge_written(&mut self, bytes: usize) -> Result<()> {
        let Some(Charged { written, .. }) = &mut self.memory else { return Ok(()) };
        let bytes = if bytes < LONG_LEN { 0 } else { bytes };
        if written.try_resize(bytes) { Ok(()) } else { Err(Error::out_of_resources()) }
    }

    pub(crate) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub(crate) fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// A packet of the client's was lost; nothing can be made of what follows.
    pub(crate) fn lost(&mut self) {
        self.broken = true;
    }

    /// From now on frames travel in compressed frames.
    pub(crate) fn start_compression(&mut self, reader: &mut PacketReader) {
        let mut input = CompressedReader::new();
        let early = reader.take_buffered();
        let mut rest = &early[..];
        while !rest.is_empty() {
            let spare = input.spare();
            let len = spare.len().min(rest.len());
            spare[..len].copy_from_slice(&rest[..len]);
            input.filled(len);
            rest = &rest[len..];
        }
        reader.ignore_seq();
        self.compression = Some(Box::new(Compression { input, output: CompressedWriter::new(), seq: 0 }));
    }

    /// A reader for packets that come while the reader of the command is in use, beginning with `early`.
    pub(crate) fn further_reader(&self, early: &[u8]) -> PacketReader {
        let mut reader = PacketReader::new(self.limits.packet_len_max);
        if self.compression.is_some() {
            reader.ignore_seq();
        }
        reader.feed(early);
        reader
    }

    /// A new exchange begins, and with it the numbering.
    pub(crate) fn begin_exchange(&mut self) {
        self.set_seq(0);
        if let Some(compression) = &mut self.compression {
            compression.seq = 0;
        }
    }

    fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
        self.out.set_seq(seq);
    }

    /// Receives the next packet into `reader`. Its first byte must come within `first`, each further run of bytes
    /// within `rest`.
    pub(crate) fn receive(
        &mut self,
        reader: &mut PacketReader,
        first: Duration,
        rest: Duration,
    ) -> std::result::Result<(), ReadError> {
        let read = |stream: &mut Stream, spare: &mut [u8], began| stream.read(spare, if began { rest } else { first });
        self.receive_by(reader, read).map_err(|(error, began)| match error {
            ReadError::Idle if began => ReadError::Stalled,
            other => other,
        })
    }

    /// Receives the next packet into `reader` if its first byte is there; false if nothing is. Each further run of
    /// bytes must come within `rest`.
    pub(crate) fn try_receive(
        &mut self,
        reader: &mut PacketReader,
        rest: Duration,
    ) -> std::result::Result<bool, ReadError> {
        match self.receive_by(reader, |stream, spare, _| stream.try_read(spare)) {
            Ok(()) => Ok(true),
            Err((ReadError::Idle, false)) => Ok(false),
            Err((ReadError::Idle, true)) => self.receive(reader, rest, rest).map(|()| true),
            Err((error, _)) => Err(error),
        }
    }

    /// Receives as much of the next packet as is there; false: not yet all of it.
    pub(crate) fn try_receive_part(&mut self, reader: &mut PacketReader) -> std::result::Result<bool, ReadError> {
        match self.receive_by(reader, |stream, spare, _| stream.try_read(spare)) {
            Ok(()) => Ok(true),
            Err((ReadError::Idle, _)) => Ok(false),
            Err((error, _)) => Err(error),
        }
    }

    /// Receives the next packet; an error comes with whether anything of it had come. `Idle`: `read` gave nothing.
    fn receive_by(
        &mut self,
        reader: &mut PacketReader,
        mut read: impl FnMut(&mut Stream, &mut [u8], bool) -> io::Result<usize>,
    ) -> std::result::Result<(), (ReadError, bool)> {
        self.seq = self.out.seq();
        let mut began = !reader.is_idle();
        loop {
            self.charge_received(reader).map_err(|e| (ReadError::Protocol(e), began))?;
            let advanced = reader.advance(&mut self.seq);
            // An error answers what has come of the packet.
            self.out.set_seq(self.seq);
            if advanced.map_err(|e| (ReadError::Protocol(e), began))? {
                return Ok(());
            }
            let spare = match &mut self.compression {
                None => reader.spare(),
                Some(compression) => {
                    let more = compression.input.next(&mut compression.seq, reader);
                    if more.map_err(|e| (ReadError::Protocol(e), began))? {
                        continue;
                    }
                    began |= !compression.input.is_idle();
                    compression.input.spare()
                }
            };
            match read(&mut self.stream, spare, began) {
                Ok(0) => return Err((ReadError::Closed, began)),
                Ok(len) => {
                    self.process.note_received(len as u64);
                    match &mut self.compression {
                        None => reader.filled(len),
                        Some(compression) => compression.input.filled(len),
                    }
                }
                Err(e) if matches!(e.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
                    return Err((ReadError::Idle, began));
                }
                Err(_) => return Err((ReadError::Io, began)),
            }
            began = true;
        }
    }

    /// No further packet is there, unless it has come since the latest one was received.
    pub(crate) fn is_drained(&self, reader: &PacketReader) -> bool {
        reader.is_idle() && self.stream.is_drained() && self.compression.is_none()
    }

    /// Sends if enough is collected. While rows are produced, a kill ends a wait for the client.
    #[inline]
    pub(crate) fn flush_if_long(&mut self) -> Result<()> {
        if self.out.unsent().len() < FLUSH_LEN {
            return Ok(());
        }
        self.process.check_killed()?;
        self.send(self.limits.write, false)
    }

    /// Sends everything.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let dying = self.process.killed().is_some_and(Kill::is_final);
        self.send(if dying { self.limits.write.min(LAST_WORDS_MAX) } else { self.limits.write }, true)
    }

    fn send(&mut self, limit: Duration, through_kill: bool) -> Result<()> {
        if self.broken {
            return Err(Error::net_error_on_write());
        }
        let began = Instant::now();
        let process = self.process.clone();
        let abort = move || match process.killed() {
            None => false,
            Some(_) if !through_kill => true,
            Some(Kill::Query) => false,
            Some(Kill::Gone) => true,
            Some(_) => began.elapsed() > LAST_WORDS_MAX,
        };
        let sent = self.send_until(limit, &abort);
        sent.or_else(|e| match e.kind() {
            // what is collected stays, and goes before the error that follows
            io::ErrorKind::ConnectionAborted if !through_kill && self.process.killed().is_some() => {
                self.process.check_killed()
            }
            io::ErrorKind::TimedOut => {
                self.broken = true;
                Err(Error::net_write_interrupted())
            }
            _ => {
                self.broken = true;
                Err(Error::net_error_on_write())
            }
        })
    }

    fn send_until(&mut self, limit: Duration, abort: &dyn Fn() -> bool) -> io::Result<()> {
        let Some(compression) = &mut self.compression else {
            while !self.out.unsent().is_empty() {
                let len = self.stream.write(self.out.unsent(), limit, abort)?;
                self.process.note_sent(len as u64);
                self.out.advance(len);
            }
            return Ok(());
        };
        loop {
            while !compression.output.unsent().is_empty() {
                let len = self.stream.write(compression.output.unsent(), limit, abort)?;
                self.process.note_sent(len as u64);
                compression.output.advance(len);
            }
            let plain = self.out.unsent().len().min(COMPRESSED_LEN);
            if plain == 0 {
                return Ok(());
            }
            compression.output.write(&self.out.unsent()[..plain], &mut compression.seq);
            self.out.advance(plain);
        }
    }

    /// Drops the answer to the latest command, of which nothing was sent.
    pub(crate) fn take_back_answer(&mut self) {
        let unsent = self.out.unsent().len();
        self.out.advance(unsent);
        // behind the command's own packet
        self.out.set_seq(1);
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Collects an ERR packet and sends everything.
    pub(crate) fn send_error(&mut self, error: &Error) -> Result<()> {
        self.out.abandon();
        self.out.packet(|out| protocol::err(out, error));
        self.flush()
    }

    /// Ends the connection so that the client can still read what was sent: closes one direction, then drops what comes
    /// from the other.
    pub(crate) fn linger(&mut self) {
        self.stream.close();
        let mut dropped = [0; 16 << 10];
        let mut left = LINGER_LEN_MAX;
        let deadline = Instant::now() + LINGER_MAX;
        while left > 0 && Instant::now() < deadline && self.process.killed().is_none_or(|kill| !kill.is_final()) {
            match self.stream.read(&mut dropped, LINGER_PAUSE_MAX) {
                Ok(0) | Err(_) => break,
                Ok(len) => left = left.saturating_sub(len),
            }
        }
    }

    /// The same in turns that wait for nothing; the first closes one direction.
    pub(crate) fn begin_to_linger(&mut self) {
        self.stream.close();
    }

    pub(crate) fn try_linger(&mut self) -> Lingers {
        let mut dropped = [0; 16 << 10];
        let mut len = 0;
        while len < LINGER_TURN_LEN {
            match self.stream.try_read(&mut dropped) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Lingers::Silent,
                Ok(0) | Err(_) => return Lingers::Gone,
                Ok(more) => len += more,
            }
        }
        Lingers::Talks
    }

    /// Closes without waiting.
    pub(crate) fn close(&mut self) {
        self.stream.close();
        self.stream.socket().shutdown(Shutdown::Both);
    }
}
