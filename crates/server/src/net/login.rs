//! The connection phase: greeting, TLS, proof, session.
//!
//! A client that has not logged in gets no thread to be silent on: until then its connection is a [`Newcomer`] in the
//! workers' poll set, moved on by whatever comes of it.
//!
//! ```text
//!   Greeting ──sent──▶ Login ──request for TLS──▶ Tls ──handshake done──▶ Login ──▶ Proof ◀──asks once more──┐
//!                        └────────────────────────────────────────────────────────▶ │ └────────────────────┘
//!                                                                       OK packet   ▼
//!   any of them ──fault, connect_timeout──▶ error sent, Lingers, closed         Connection
//! ```
//!
//! It counts as a connection from its first byte on (max_connections), and ends at connect_timeout however it dribbles.

use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::auth::Step;
use protocol::{Capabilities, Greeting, Login, NONCE_LEN, OkPacket, PacketReader, StatusFlags};
use types::{Error, ErrorCode, Result};

use super::connection::{self, Shared};
use super::proof::{Claim, Proof};
use super::socket::Socket;
use super::stream::Stream;
use super::wire::{LINGER_MAX, LINGER_PAUSE_MAX, Lingers, ReadError, Wire};
use super::workers::{After, Served, Why};
use super::{Client, ClientHost, DEFAULT_COLLATION_ID, Limits, SERVER_VERSION, Session};
use engine::Entry;

/// A login packet is small; its attributes are at most 64 KiB.
const LOGIN_LEN_MAX: usize = 128 << 10;

/// A client that logged in, and its session.
pub(crate) struct LoggedIn {
    pub(crate) session: Box<dyn Session>,
    pub(crate) nonce: [u8; NONCE_LEN],
    pub(crate) client: Client,
}

/// Why there is no session.
pub(crate) enum LoginError {
    /// Tell the client, then close.
    Tell(Error),
    /// Nobody is there to be told.
    Silent,
}

impl From<Error> for LoginError {
    fn from(error: Error) -> LoginError {
        LoginError::Tell(error)
    }
}

impl From<ReadError> for LoginError {
    fn from(error: ReadError) -> LoginError {
        match error {
            ReadError::Protocol(error) if error.code() == ErrorCode::NET_PACKETS_OUT_OF_ORDER => {
                LoginError::Tell(error)
            }
            ReadError::Protocol(_) => LoginError::Tell(Error::handshake()),
            ReadError::Idle | ReadError::Stalled => LoginError::Tell(Error::net_read_interrupted()),
            ReadError::Closed | ReadError::Io => LoginError::Silent,
        }
    }
}

enum Stage {
    Greeting,
    /// A request for TLS may come first, unless it has.
    Login,
    #[cfg(feature = "tls")]
    Tls,
    Proof(Box<Claim>, Box<Asked>),
    /// Its error is sent; it ends then at the latest.
    Lingers(Instant),
}

/// What a client wants beside being who it is.
struct Asked {
    database: Option<String>,
    collation_id: u16,
    attributes: Vec<(String, String)>,
}

/// A connection whose client has not logged in.
pub(crate) struct Newcomer {
    shared: Arc<Shared>,
    socket: Arc<Socket>,
    wire: Wire,
    reader: PacketReader,
    host: ClientHost,
    nonce: [u8; NONCE_LEN],
    stage: Stage,
    deadline: Instant,
    /// Dropped last: while it is there the connection counts.
    entry: Entry,
}

/// A new connection is left to the workers. An error: it is closed.
pub(crate) fn receive(
    shared: &Arc<Shared>,
    socket: Arc<Socket>,
    host: ClientHost,
    entry: Entry,
) -> std::io::Result<()> {
    let process = entry.process().clone();
    let stream = Stream::new(socket.clone())?;
    let to_wake = Arc::downgrade(&socket);
    process.on_kill(move |kill| {
        // a blocked read ends; what is left to say can still be written
        if let (true, Some(socket)) = (kill.is_final(), to_wake.upgrade()) {
            socket.shutdown(std::net::Shutdown::Read);
        }
    });
    let limit = shared.connect_timeout();
    let mut wire = Wire::new(stream, process.clone(), Limits { write: limit, ..Limits::default() });
    if let Some(memory) = shared.backend.memory() {
        wire.charge_to(&memory);
    }
    let mut reader = PacketReader::new(LOGIN_LEN_MAX);
    reader.believe_headers(false);
    let newcomer = Newcomer {
        shared: shared.clone(),
        socket: socket.clone(),
        wire,
        reader,
        host,
        nonce: [0; NONCE_LEN],
        stage: Stage::Greeting,
        deadline: Instant::now() + limit,
        entry,
    };
    shared.workers.add(process.id(), socket, Box::new(newcomer), limit, false)
}

impl Served for Newcomer {
    fn serve(mut self: Box<Self>, why: Why) -> After {
        if let Stage::Lingers(until) = self.stage {
            return self.linger(why, until);
        }
        if why == Why::Expired {
            return self.time_is_up();
        }
        match self.advance() {
            Ok(Some(logged_in)) => self.enter(logged_in),
            Ok(None) => match self.deadline.saturating_duration_since(Instant::now()) {
                Duration::ZERO => self.time_is_up(),
                patience => After::Idle { who: self, patience },
            },
            Err(error) => self.refuse(error),
        }
    }

    fn rest(&mut self) {
        self.reader.release();
        self.wire.out.release();
    }

    /// It never leaves the workers as what it is.
    fn take_thread(self: Box<Self>) {}
}

impl Newcomer {
    /// Goes as far as what has come allows.
    fn advance(&mut self) -> std::result::Result<Option<LoggedIn>, LoginError> {
        loop {
            match &mut self.stage {
                Stage::Greeting => {
                    self.greet()?;
                    self.stage = Stage::Login;
                }
                #[cfg(feature = "tls")]
                Stage::Tls => {
                    if !self.wire.stream().continue_tls().map_err(|_| LoginError::Silent)? {
                        return Ok(None);
                    }
                    self.stage = Stage::Login;
                }
                Stage::Login | Stage::Proof(..) => {
                    if !self.wire.try_receive_part(&mut self.reader)? {
                        return Ok(None);
                    }
                    if let Some(logged_in) = self.packet()? {
                        return Ok(Some(logged_in));
                    }
                }
                Stage::Lingers(_) => return Err(LoginError::Silent),
            }
        }
    }

    fn greet(&mut self) -> std::result::Result<(), LoginError> {
        self.nonce = random_nonce()?;
        let (connection_id, capabilities) = (self.wire.process().id(), self.offered());
        let nonce = &self.nonce;
        self.wire.out.packet(|out| {
            Greeting {
                server_version: SERVER_VERSION,
                connection_id,
                nonce,
                capabilities,
                collation: DEFAULT_COLLATION_ID,
                status: StatusFlags::AUTOCOMMIT,
                plugin: protocol::auth::Plugin::CachingSha2Password.name(),
            }
            .encode(out);
        });
        Ok(self.wire.flush()?)
    }

    fn offered(&self) -> Capabilities {
        let mut offered = Capabilities::SERVER | Capabilities::COMPRESS;
        if self.shared.secrets.has_tls() {
            offered |= Capabilities::SSL;
        }
        offered
    }

    /// A packet of the client's is whole.
    fn packet(&mut self) -> std::result::Result<Option<LoggedIn>, LoginError> {
        match std::mem::replace(&mut self.stage, Stage::Login) {
            Stage::Proof(mut claim, asked) => {
                let step = claim.resume(&self.shared, self.reader.packet());
                self.step(claim, asked, step)
            }
            _ if self.wire.stream().is_plain() && protocol::is_ssl_request(self.reader.packet()) => {
                self.begin_tls()?;
                Ok(None)
            }
            _ => self.login(),
        }
    }

    fn begin_tls(&mut self) -> std::result::Result<(), LoginError> {
        #[cfg(feature = "tls")]
        if let Some(config) = self.shared.secrets.tls() {
            // the client's first TLS record may have come together with its request
            let early = self.reader.take_buffered();
            self.wire.stream().begin_tls(config, early).map_err(|_| LoginError::Silent)?;
            self.stage = Stage::Tls;
            return Ok(());
        }
        Err(Error::handshake().into())
    }

    fn login(&mut self) -> std::result::Result<Option<LoggedIn>, LoginError> {
        let payload = self.reader.packet().to_vec();
        let login = Login::parse(&payload).map_err(|_| Error::handshake())?;
        let stream = self.wire.stream();
        let in_clear = stream.is_plain() && !stream.socket().is_unix();
        if self.shared.options.require_secure_transport && in_clear {
            return Err(Error::secure_transport_required().into());
        }
        self.wire.capabilities = login.capabilities & self.offered();
        let proof = Proof { plugin: login.plugin, bytes: login.proof };
        let (claim, step) = Claim::new(&self.shared, &mut self.wire, text(login.user), self.host, &self.nonce, &proof)?;
        let asked = Asked {
            database: login.database.map(text),
            collation_id: u16::from(login.collation),
            attributes: login.attributes.iter().map(|(name, value)| (text(name), text(value))).collect(),
        };
        self.step(Box::new(claim), Box::new(asked), step)
    }

    fn step(
        &mut self,
        claim: Box<Claim>,
        asked: Box<Asked>,
        step: Step,
    ) -> std::result::Result<Option<LoggedIn>, LoginError> {
        match step {
            Step::Ask(payload) => {
                self.wire.out.packet(|out| out.extend_from_slice(&payload));
                self.wire.flush()?;
                self.stage = Stage::Proof(claim, asked);
                Ok(None)
            }
            Step::Deny { password_given } => Err(claim.denied(password_given)),
            Step::Accept(last) => {
                if let Some(payload) = last {
                    self.wire.out.packet(|out| out.extend_from_slice(&payload));
                }
                self.open(*claim, *asked).map(Some)
            }
        }
    }

    /// The client is who it says: its session, and the OK packet.
    fn open(&mut self, claim: Claim, asked: Asked) -> std::result::Result<LoggedIn, LoginError> {
        let wire = &mut self.wire;
        let (user, account) = claim.accept(&self.shared, wire)?;
        let client = Client {
            process: wire.process().clone(),
            user,
            host: self.host,
            account,
            database: asked.database,
            capabilities: wire.capabilities,
            collation_id: asked.collation_id,
            attributes: asked.attributes,
            tls: wire.stream().tls_names(),
        };
        show(&client);
        let session = self.shared.backend.connect(client.clone())?;
        let status = session.status();
        wire.out.packet(|out| protocol::ok(out, &OkPacket { status, ..OkPacket::default() }, wire.capabilities));
        wire.flush()?;
        if wire.capabilities.has(Capabilities::COMPRESS) {
            wire.start_compression(&mut self.reader);
        }
        Ok(LoggedIn { session, nonce: self.nonce, client })
    }

    /// From now on it is a connection like any other.
    fn enter(self: Box<Self>, logged_in: LoggedIn) -> After {
        let Newcomer { shared, socket, wire, reader, entry, .. } = *self;
        let workers_serve = shared.load.needs_workers();
        let connection = connection::logged_in(shared, socket, wire, reader, logged_in, entry);
        if workers_serve { After::Again(connection) } else { After::Leaves(connection) }
    }

    /// Within a handshake nothing can be said.
    fn can_be_told(&self) -> bool {
        #[cfg(feature = "tls")]
        return !matches!(self.stage, Stage::Tls);
        #[cfg(not(feature = "tls"))]
        true
    }

    fn time_is_up(mut self: Box<Self>) -> After {
        self.shared.backend.note_aborted_login();
        if self.can_be_told() {
            let error = self.wire.process().check_killed().err().unwrap_or_else(Error::net_read_interrupted);
            let _ = self.wire.send_error(&error);
        }
        self.wire.close();
        After::Ended
    }

    fn refuse(mut self: Box<Self>, error: LoginError) -> After {
        self.shared.backend.note_aborted_login();
        let LoginError::Tell(error) = error else {
            self.wire.close();
            return After::Ended;
        };
        let error = self.wire.process().check_killed().err().unwrap_or(error);
        if self.wire.send_error(&error).is_err() {
            return After::Ended;
        }
        self.wire.begin_to_linger();
        self.stage = Stage::Lingers(Instant::now() + LINGER_MAX);
        After::Again(self)
    }

    /// In order that the client may come to read the error, what it still sends is dropped for a while.
    fn linger(mut self: Box<Self>, why: Why, until: Instant) -> After {
        if why == Why::Expired || Instant::now() >= until {
            return After::Ended;
        }
        match self.wire.try_linger() {
            Lingers::Gone => After::Ended,
            Lingers::Talks => After::Again(self),
            Lingers::Silent => After::Idle { who: self, patience: LINGER_PAUSE_MAX },
        }
    }
}

pub(super) fn show(client: &Client) {
    client.process.set_user(&client.user);
    client.process.set_database(client.database.as_deref());
}

fn random_nonce() -> Result<[u8; NONCE_LEN]> {
    let mut random = [0; NONCE_LEN];
    getrandom::fill(&mut random).map_err(|e| Error::internal(format_args!("no random numbers: {e}")))?;
    Ok(protocol::nonce_from_random(random))
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
