//! A byte stream over a socket, encrypted or not, in which every wait has an end.
//!
//! Reads wait in slices: the socket's own read timeout is set once, to the longest wait that is ever allowed within a
//! packet, and longer waits are several of those, so that an ordinary query costs no system call to set timeouts.
//! Writes wait in slices of [`WRITE_SLICE`], between which they look whether the connection is to stop.

use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::socket::Socket;
use super::workers;

/// A blocked write looks this often whether it is still wanted.
pub(crate) const WRITE_SLICE: Duration = Duration::from_millis(50);
const READ_SLICE_MIN: Duration = Duration::from_millis(1);
#[cfg(feature = "tls")]
const TLS_WRITE_CHUNK: usize = 64 << 10;

pub(crate) struct Stream {
    socket: Arc<Socket>,
    #[cfg(feature = "tls")]
    tls: Option<Box<rustls::ServerConnection>>,
    /// Bytes that were received before TLS began and belong to it.
    #[cfg(feature = "tls")]
    early: io::Cursor<Vec<u8>>,
    /// What the socket's read timeout is set to.
    read_slice: Duration,
    /// The latest read took everything that there was.
    drained: bool,
}

impl Stream {
    pub(crate) fn new(socket: Arc<Socket>) -> io::Result<Stream> {
        socket.configure(WRITE_SLICE)?;
        Ok(Stream {
            socket,
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "tls")]
            early: io::Cursor::default(),
            read_slice: Duration::ZERO,
            drained: false,
        })
    }

    pub(crate) fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }

    /// Nothing is left to read, unless more has come since the latest read.
    pub(crate) fn is_drained(&self) -> bool {
        self.drained
    }

    /// Receives what is there; `WouldBlock` if that is nothing, 0 is the end of the stream.
    pub(crate) fn try_read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            #[cfg(feature = "tls")]
            let received = match &mut self.tls {
                Some(tls) => read_tls(tls, &Plain(&self.socket, Patience::None), &mut self.early, buf),
                None => self.socket.try_read(buf),
            };
            #[cfg(not(feature = "tls"))]
            let received = self.socket.try_read(buf);
            match received {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.drained = e.kind() == io::ErrorKind::WouldBlock;
                    return Err(e);
                }
                Ok(len) => {
                    // behind the end of the stream, and in records, there may be more
                    self.drained = len > 0 && len < buf.len() && self.is_plain();
                    return Ok(len);
                }
            }
        }
    }

    /// Not encrypted.
    pub(crate) fn is_plain(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_none();
        #[cfg(not(feature = "tls"))]
        true
    }

    /// Receives at least one byte within `limit`; 0 is the end of the stream.
    pub(crate) fn read(&mut self, buf: &mut [u8], limit: Duration) -> io::Result<usize> {
        workers::waits();
        self.drained = false;
        let mut wait = Wait::new(limit);
        loop {
            #[cfg(feature = "tls")]
            let received = match &mut self.tls {
                Some(tls) => {
                    wait.prepare(&self.socket, &mut self.read_slice)?;
                    read_tls(tls, &Plain(&self.socket, Patience::Slice), &mut self.early, buf)
                }
                None => {
                    wait.prepare(&self.socket, &mut self.read_slice)?;
                    self.socket.read(buf)
                }
            };
            #[cfg(not(feature = "tls"))]
            let received = {
                wait.prepare(&self.socket, &mut self.read_slice)?;
                self.socket.read(buf)
            };
            match received {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait.expired()?,
                other => return other,
            }
        }
    }

    /// Sends some of `bytes`; those that it says are no longer the caller's. Gives up with `TimedOut` after `limit`
    /// without progress, and with `ConnectionAborted` once `abort` says so.
    pub(crate) fn write(&mut self, bytes: &[u8], limit: Duration, abort: &dyn Fn() -> bool) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            // what is left from a call that gave up goes first
            while tls.wants_write() {
                write_some(limit, abort, || tls.write_tls(&mut Plain(&self.socket, Patience::Slice)))?;
            }
            let len = io::Write::write(&mut tls.writer(), &bytes[..bytes.len().min(TLS_WRITE_CHUNK)])?;
            while tls.wants_write() {
                match write_some(limit, abort, || tls.write_tls(&mut Plain(&self.socket, Patience::Slice))) {
                    Ok(_) => {}
                    // taken over, though not yet on its way
                    Err(_) if len > 0 => return Ok(len),
                    Err(e) => return Err(e),
                }
            }
            return Ok(len);
        }
        match self.socket.try_write(bytes) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => {
                workers::waits();
                write_some(limit, abort, || self.socket.write(bytes))
            }
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            other => other,
        }
    }

    /// The client is about to begin TLS. `early` are bytes that came right behind its request. What follows is up to
    /// [`Stream::continue_tls`].
    #[cfg(feature = "tls")]
    pub(crate) fn begin_tls(&mut self, config: Arc<rustls::ServerConfig>, early: Vec<u8>) -> io::Result<()> {
        self.tls = Some(Box::new(rustls::ServerConnection::new(config).map_err(io::Error::other)?));
        self.early = io::Cursor::new(early);
        Ok(())
    }

    /// The server's side of the TLS handshake, as far as what has come allows: true once it is done. Waits for nothing;
    /// our flights are shorter than what the system takes over for a new connection, so one that does not fit is an
    /// error.
    #[cfg(feature = "tls")]
    pub(crate) fn continue_tls(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        let mut plain = Plain(&self.socket, Patience::None);
        loop {
            // the last flight of the handshake too
            while tls.wants_write() {
                uninterrupted(|| tls.write_tls(&mut plain))?;
            }
            if !tls.is_handshaking() {
                return Ok(true);
            }
            match receive_tls(tls, &plain, &mut self.early) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) => {
                    // the alert that says why
                    let _ = tls.write_tls(&mut plain);
                    self.tls = None;
                    return Err(e);
                }
            }
        }
    }

    /// Version and cipher suite, if encrypted.
    pub(crate) fn tls_names(&self) -> Option<(String, String)> {
        #[cfg(feature = "tls")]
        {
            let tls = self.tls.as_ref()?;
            let version = match tls.protocol_version()? {
                rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
                rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
                other => format!("{other:?}"),
            };
            let suite = format!("{:?}", tls.negotiated_cipher_suite()?.suite());
            Some((version, suite.replacen("TLS13_", "TLS_", 1)))
        }
        #[cfg(not(feature = "tls"))]
        None
    }

    /// Says goodbye, without waiting for anything.
    pub(crate) fn close(&mut self) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut Plain(&self.socket, Patience::Slice));
        }
        self.socket.shutdown(Shutdown::Write);
    }
}

/// One wait, made of slices.
struct Wait {
    limit: Duration,
    /// Begins with the first slice that ended in vain.
    deadline: Option<Instant>,
    slice: Duration,
}

impl Wait {
    fn new(limit: Duration) -> Wait {
        Wait { limit, deadline: None, slice: Duration::ZERO }
    }

    /// Sets the socket's timeout if it is longer than what is left.
    fn prepare(&mut self, socket: &Socket, read_slice: &mut Duration) -> io::Result<()> {
        let left = match self.deadline {
            None => self.limit,
            Some(deadline) => deadline.saturating_duration_since(Instant::now()),
        };
        let left = left.max(READ_SLICE_MIN);
        if read_slice.is_zero() || *read_slice > left {
            socket.set_read_timeout(left)?;
            *read_slice = left;
        }
        self.slice = *read_slice;
        Ok(())
    }

    fn expired(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let deadline = *self.deadline.get_or_insert_with(|| now + self.limit.saturating_sub(self.slice));
        if now >= deadline { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

fn write_some(
    limit: Duration,
    abort: &dyn Fn() -> bool,
    mut write: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    let mut began = None;
    loop {
        match write() {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => return Ok(len),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                let began = *began.get_or_insert_with(Instant::now);
                if abort() {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                if began.elapsed() >= limit {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(e) => return Err(e),
        }
    }
}

/// The socket as rustls wants it.
#[cfg(feature = "tls")]
struct Plain<'a>(&'a Socket, Patience);

/// How long a read or write waits.
#[cfg(feature = "tls")]
#[derive(Clone, Copy)]
enum Patience {
    None,
    /// For the socket's timeout.
    Slice,
}

#[cfg(feature = "tls")]
fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(feature = "tls")]
impl io::Read for &Plain<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.1 {
            Patience::None => self.0.try_read(buf),
            Patience::Slice => self.0.read(buf),
        }
    }
}

#[cfg(feature = "tls")]
impl io::Write for Plain<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self.1 {
            Patience::None => self.0.try_write(buf),
            Patience::Slice => self.0.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decrypted bytes, or what the socket says when there are none.
#[cfg(feature = "tls")]
fn read_tls(
    tls: &mut rustls::ServerConnection,
    socket: &Plain<'_>,
    early: &mut io::Cursor<Vec<u8>>,
    buf: &mut [u8],
) -> io::Result<usize> {
    loop {
        match io::Read::read(&mut tls.reader(), buf) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            // a stream cut off without a farewell ends like any other
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
            other => return other,
        }
        if receive_tls(tls, socket, early)? == 0 {
            return Ok(0);
        }
    }
}

/// Takes encrypted bytes in.
#[cfg(feature = "tls")]
fn receive_tls(
    tls: &mut rustls::ServerConnection,
    socket: &Plain<'_>,
    early: &mut io::Cursor<Vec<u8>>,
) -> io::Result<usize> {
    let len = if early.position() < early.get_ref().len() as u64 {
        tls.read_tls(early)?
    } else {
        tls.read_tls(&mut &*socket)?
    };
    tls.process_new_packets().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
    Ok(len)
}
