//! Listening, accepting, stopping.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use protocol::auth::DigestCache;
use rustix::event::{PollFd, PollFlags, poll};
use types::Error;

use super::connection::Shared;
use super::hangup::HangupMonitor;
use super::load::Load;
use super::login;
use super::secrets::Secrets;
use super::socket::Socket;
use super::workers::Workers;
use super::{Backend, ClientHost, Kill, ProcessList};

/// When the system has no more descriptors or threads, wait so long before trying again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections that may wait to be accepted; the system may allow fewer.
const BACK_LOG: i32 = 4096;
/// How long connections get to end at a stop.
const STOP_MAX: Duration = Duration::from_secs(10);

/// Where and how to listen. The defaults are MySQL's, but for the address.
#[derive(Clone, Debug)]
pub struct Options {
    /// `*` means all addresses; names are looked up. Empty: no TCP.
    pub bind_addresses: Vec<String>,
    pub port: u16,
    pub socket: Option<PathBuf>,
    pub max_connections: usize,
    pub connect_timeout: Duration,
    pub require_secure_transport: bool,
    pub tls: TlsOptions,
}

/// Certificates.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    pub enabled: bool,
    /// Where the server's own certificate and keys are kept.
    pub dir: PathBuf,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

impl Options {
    /// Loopback, port 3306; keys in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            bind_addresses: vec!["127.0.0.1".to_owned()],
            port: 3306,
            socket: None,
            max_connections: 151,
            connect_timeout: Duration::from_secs(10),
            require_secure_transport: false,
            tls: TlsOptions { enabled: cfg!(feature = "tls"), dir: dir.into(), cert: None, key: None },
        }
    }
}

/// Why the server does not start, in words for the person who starts it.
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    pub fn new(what: impl Into<String>) -> StartError {
        StartError(what.into())
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    stop_read: UnixStream,
    stop_write: Arc<UnixStream>,
}

/// Stops a [`Server`] from another thread.
#[derive(Clone)]
pub struct Stopper(Arc<UnixStream>);

impl Stopper {
    pub fn stop(&self) {
        self.0.shutdown(std::net::Shutdown::Write).ok();
    }
}

impl Server {
    /// Begins to listen. Connections are accepted by [`Server::run`].
    pub fn bind(
        options: Options,
        backend: Arc<dyn Backend>,
        processes: Arc<ProcessList>,
    ) -> Result<Server, StartError> {
        let addresses = addresses(&options)?;
        refuse_unprotected(&addresses, &*backend)?;
        let mut listeners = Vec::new();
        for address in &addresses {
            let listener = TcpListener::bind(address).map_err(|e| cannot_listen(address, &e))?;
            listener.set_nonblocking(true).map_err(|e| cannot_listen(address, &e))?;
            // the longer queue takes the place of the library's
            let _ = rustix::net::listen(&listener, BACK_LOG);
            listeners.push(Listener::Tcp(listener));
        }
        if let Some(path) = &options.socket {
            listeners.push(bind_unix(path)?);
        }
        if listeners.is_empty() {
            return Err(StartError::new("neither a TCP address nor a socket file to listen on"));
        }
        let secrets = Secrets::open(&options.tls).map_err(StartError)?;
        let thread = |e: io::Error| StartError(format!("cannot start a thread: {e}"));
        let (stop_read, stop_write) = UnixStream::pair().map_err(thread)?;
        let (load, watched) = (Arc::new(Load::default()), backend.clone());
        let shared = Shared {
            options,
            backend,
            processes,
            secrets: Arc::new(secrets),
            digests: DigestCache::default(),
            monitor: HangupMonitor::start(load.clone(), watched).map_err(thread)?,
            load,
            threads: Arc::default(),
            workers: Workers::start().map_err(thread)?,
        };
        Ok(Server { shared: Arc::new(shared), listeners, stop_read, stop_write: Arc::new(stop_write) })
    }

    /// The TCP addresses listened on; tells the port where 0 was asked for.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        let tcp = self.listeners.iter().filter_map(|listener| match listener {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(..) => None,
        });
        tcp.collect()
    }

    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop_write.clone())
    }

    /// Accepts connections until stopped; then ends all of them. True if they all ended in time.
    pub fn run(self) -> bool {
        loop {
            let mut fds: Vec<PollFd<'_>> =
                self.listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
            fds.push(PollFd::new(&self.stop_read, PollFlags::IN));
            if poll(&mut fds, None).is_err() {
                continue; // interrupted
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if ready.last() == Some(&true) {
                break;
            }
            for (listener, _) in self.listeners.iter().zip(ready).filter(|(_, ready)| *ready) {
                self.accept(listener);
            }
        }
        let Server { shared, listeners, .. } = self;
        drop(listeners);
        let deadline = Instant::now() + STOP_MAX;
        while !shared.processes.is_empty() && Instant::now() < deadline {
            // again and again: one may just have been accepted
            shared.processes.kill_all(Kill::Shutdown);
            thread::sleep(Duration::from_millis(5));
        }
        shared.processes.is_empty()
    }

    fn accept(&self, listener: &Listener) {
        let accepted = match listener {
            Listener::Tcp(listener) => {
                listener.accept().map(|(stream, address)| (Socket::Tcp(stream), ClientHost::Tcp(address)))
            }
            Listener::Unix(listener, _) => {
                listener.accept().map(|(stream, _)| (Socket::Unix(stream), ClientHost::Local))
            }
        };
        let (socket, host) = match accepted {
            Ok((socket, host)) => (Arc::new(socket), host),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => return,
            Err(e) => {
                crate::log::error(format_args!("cannot accept a connection: {e}"));
                self.shared.processes.note_not_accepted();
                return thread::sleep(ACCEPT_PAUSE);
            }
        };
        let entry = match self.shared.processes.add(host.to_string(), self.shared.max_connections()) {
            Ok(entry) => entry,
            Err(error) => return turn_away(&socket, &error),
        };
        if let Err(e) = login::receive(&self.shared, socket.clone(), host, entry) {
            crate::log::error(format_args!("cannot watch a connection: {e}"));
            self.shared.processes.note_internal_error();
            turn_away(&socket, &Error::out_of_resources());
            thread::sleep(ACCEPT_PAUSE);
        }
    }
}

/// Answers a connection that finds no place. The packet is short enough not to block.
fn turn_away(socket: &Socket, error: &Error) {
    let mut packets = protocol::PacketWriter::new();
    packets.packet(|out| protocol::err_before_handshake(out, error));
    let _ = socket.write(packets.unsent());
    socket.shutdown(std::net::Shutdown::Write);
}

fn addresses(options: &Options) -> Result<Vec<SocketAddr>, StartError> {
    let mut addresses = Vec::new();
    for name in &options.bind_addresses {
        let name = name.trim();
        let found: Vec<SocketAddr> = match name {
            "*" if Path::new("/proc/net/if_inet6").exists() => {
                vec![(std::net::Ipv6Addr::UNSPECIFIED, options.port).into()]
            }
            "*" => vec![(std::net::Ipv4Addr::UNSPECIFIED, options.port).into()],
            _ => (name, options.port)
                .to_socket_addrs()
                .map_err(|e| StartError(format!("cannot find the address '{name}' to listen on: {e}")))?
                .collect(),
        };
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}

/// Without a password anybody who can reach the server owns it, so only this machine may.
fn refuse_unprotected(addresses: &[SocketAddr], backend: &dyn Backend) -> Result<(), StartError> {
    let open = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback());
    match open {
        Some(address) if !backend.has_account_with_password() => Err(StartError(format!(
            "refusing to listen on {} while no account has a password.\n\
             Put accounts into a file, and start with --init-file=FILE:\n    \
             ALTER USER 'root'@'localhost' IDENTIFIED BY '...';\n    \
             CREATE USER 'app'@'%' IDENTIFIED BY '...';\n\
             Or listen on this machine only: --bind-address=127.0.0.1",
            address.ip()
        ))),
        _ => Ok(()),
    }
}

fn cannot_listen(address: &SocketAddr, e: &io::Error) -> StartError {
    let hint = match e.kind() {
        io::ErrorKind::AddrInUse => format!(
            "\nAnother server, perhaps MySQL or another Nextleaf, has taken port {}. \
             Stop it, or choose another port: --port={}",
            address.port(),
            address.port().saturating_add(1)
        ),
        io::ErrorKind::PermissionDenied => {
            "\nPorts below 1024 are the system's; choose another: --port=3306".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => "\nThis machine does not have that address.".to_owned(),
        _ => String::new(),
    };
    StartError(format!("cannot listen on {address}: {e}{hint}"))
}

/// Takes over a socket file that nobody listens on any more.
fn bind_unix(path: &Path) -> Result<Listener, StartError> {
    let cannot = |e: io::Error| StartError(format!("cannot listen on the socket file {}: {e}", path.display()));
    if path.symlink_metadata().is_ok() {
        if UnixStream::connect(path).is_ok() {
            return Err(StartError(format!(
                "another server listens on the socket file {}; stop it, or choose another file: --socket=PATH",
                path.display()
            )));
        }
        if !path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_socket()) {
            return Err(StartError(format!("cannot listen on {}: it is no socket file", path.display())));
        }
        std::fs::remove_file(path).map_err(cannot)?;
    }
    let listener = UnixListener::bind(path).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).map_err(cannot)?;
    Ok(Listener::Unix(listener, path.to_owned()))
}
