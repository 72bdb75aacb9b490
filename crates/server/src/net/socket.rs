//! A connected socket, TCP or Unix, shared by its thread and those who may have to wake it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{RecvFlags, SendFlags};

/// Both kinds of stream. Reads and writes take `&self`, as the system's do.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(crate) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&mut &*stream).read(buf),
            Socket::Unix(stream) => (&mut &*stream).read(buf),
        }
    }

    /// As [`Socket::read`], but `WouldBlock` at once if there is nothing.
    pub(crate) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self, buf, RecvFlags::DONTWAIT)?.0)
    }

    /// As [`Socket::write`], but `WouldBlock` at once if there is no room.
    pub(crate) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self, buf, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    pub(crate) fn write(&self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&mut &*stream).write(buf),
            Socket::Unix(stream) => (&mut &*stream).write(buf),
        }
    }

    /// Blocking, with small packets sent at once and dead peers noticed in the end.
    pub(crate) fn configure(&self, write_slice: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                rustix::net::sockopt::set_socket_keepalive(stream, true)?;
                stream.set_write_timeout(Some(write_slice))
            }
            Socket::Unix(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(write_slice))
            }
        }
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
            Socket::Unix(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    /// Ends a direction; a thread blocked in it wakes.
    pub(crate) fn shutdown(&self, how: Shutdown) {
        // the peer may have gone already, which is as good
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(how),
            Socket::Unix(stream) => stream.shutdown(how),
        };
    }

    pub(crate) fn is_unix(&self) -> bool {
        matches!(self, Socket::Unix(_))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}
