//! The connection phase: greeting, TLS, proof, session. Also COM_CHANGE_USER, which repeats the last two.

use std::time::{Duration, Instant};

use protocol::auth::{Account, Exchange, Plugin, Step};
use protocol::{Capabilities, ChangeUser, Greeting, Login, NONCE_LEN, OkPacket, PacketReader, StatusFlags};
use types::{Error, ErrorCode, Result};

use super::connection::Shared;
use super::wire::{ReadError, Wire};
use super::{Client, ClientHost, DEFAULT_COLLATION_ID, SERVER_VERSION, Session};

/// A login packet is small; its attributes are at most 64 KiB.
pub(crate) const LOGIN_LEN_MAX: usize = 256 << 10;

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

/// Receives packets until a point in time.
struct Deadline(Instant);

impl Deadline {
    fn left(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    fn receive(&self, wire: &mut Wire, reader: &mut PacketReader) -> std::result::Result<(), LoginError> {
        wire.receive(reader, self.left(), self.left())?;
        Ok(())
    }
}

/// The whole connection phase, OK packet included.
pub(crate) fn log_in(
    shared: &Shared,
    wire: &mut Wire,
    reader: &mut PacketReader,
    host: ClientHost,
) -> std::result::Result<LoggedIn, LoginError> {
    let deadline = Deadline(Instant::now() + shared.connect_timeout());
    let nonce = random_nonce()?;
    let (connection_id, offered) = (wire.process().id(), offered(shared));
    wire.out.packet(|out| {
        Greeting {
            server_version: SERVER_VERSION,
            connection_id,
            nonce: &nonce,
            capabilities: offered,
            collation: DEFAULT_COLLATION_ID,
            status: StatusFlags::AUTOCOMMIT,
            plugin: Plugin::CachingSha2Password.name(),
        }
        .encode(out);
    });
    wire.flush()?;

    deadline.receive(wire, reader)?;
    if protocol::is_ssl_request(reader.packet()) {
        start_tls(shared, wire, reader, &deadline)?;
        deadline.receive(wire, reader)?;
    }
    let payload = reader.packet().to_vec();
    let login = Login::parse(&payload).map_err(|_| Error::handshake())?;
    let tls = wire.stream().tls_names();
    if shared.options.require_secure_transport && tls.is_none() && !wire.stream().socket().is_unix() {
        return Err(Error::secure_transport_required().into());
    }
    wire.capabilities = login.capabilities & offered;
    let user = text(login.user);
    let proof = Proof { plugin: login.plugin, bytes: login.proof };
    let account = prove(shared, wire, reader, &user, &host, &nonce, proof, || deadline.left())?;
    let client = Client {
        process: wire.process().clone(),
        user,
        host,
        account,
        database: login.database.map(text),
        capabilities: wire.capabilities,
        collation_id: u16::from(login.collation),
        attributes: login.attributes.iter().map(|(name, value)| (text(name), text(value))).collect(),
        tls,
    };
    let session = open_session(shared, &client)?;
    let status = session.status();
    wire.out.packet(|out| protocol::ok(out, &OkPacket { status, ..OkPacket::default() }, wire.capabilities));
    wire.flush()?;
    if wire.capabilities.has(Capabilities::COMPRESS) {
        wire.start_compression(reader);
    }
    Ok(LoggedIn { session, nonce, client })
}

/// COM_CHANGE_USER, up to but without the OK packet. The session stays the connection's own, under another name; after
/// an error the connection is closed.
pub(crate) fn change_user(
    shared: &Shared,
    wire: &mut Wire,
    reader: &mut PacketReader,
    logged_in: &mut LoggedIn,
    payload: &[u8],
) -> std::result::Result<(), LoginError> {
    let change = ChangeUser::parse(payload, wire.capabilities).map_err(Error::from)?;
    let (user, host) = (text(change.user), logged_in.client.host);
    let proof = Proof { plugin: change.plugin, bytes: change.proof };
    let limit = wire.limits.read;
    let account = prove(shared, wire, reader, &user, &host, &logged_in.nonce, proof, || limit)?;
    let client = Client {
        user,
        account,
        database: change.database.map(text),
        collation_id: change.collation.unwrap_or(logged_in.client.collation_id),
        attributes: change.attributes.iter().map(|(name, value)| (text(name), text(value))).collect(),
        ..logged_in.client.clone()
    };
    logged_in.session.change_user(client.clone())?;
    show(&client);
    logged_in.client = client;
    Ok(())
}

fn offered(shared: &Shared) -> Capabilities {
    let mut offered = Capabilities::SERVER | Capabilities::COMPRESS;
    if shared.secrets.has_tls() {
        offered |= Capabilities::SSL;
    }
    offered
}

fn start_tls(
    shared: &Shared,
    wire: &mut Wire,
    reader: &mut PacketReader,
    deadline: &Deadline,
) -> std::result::Result<(), LoginError> {
    #[cfg(feature = "tls")]
    if let Some(config) = shared.secrets.tls() {
        // the client's first TLS record may have come together with its request
        let early = reader.take_buffered();
        let started = wire.stream().start_tls(config, early, deadline.left());
        return started.map_err(|_| LoginError::Silent);
    }
    let _ = (shared, wire, reader, deadline);
    Err(Error::handshake().into())
}

/// The first proof that a client offers.
struct Proof<'a> {
    plugin: Option<&'a [u8]>,
    bytes: &'a [u8],
}

/// Has the client prove that it is `user`.
#[expect(clippy::too_many_arguments, reason = "the parties, and what they have said so far")]
fn prove(
    shared: &Shared,
    wire: &mut Wire,
    reader: &mut PacketReader,
    user: &str,
    host: &ClientHost,
    nonce: &[u8; NONCE_LEN],
    proof: Proof<'_>,
    limit: impl Fn() -> Duration,
) -> std::result::Result<Account, LoginError> {
    let known = shared.backend.account(user, host);
    let decoy = known.is_none().then(|| Account::decoy(user));
    let account = known.as_ref().or(decoy.as_ref()).expect("one of the two is there");
    let secure = wire.stream().socket().is_unix() || wire.stream().tls_names().is_some();
    let plugin_auth = wire.capabilities.has(Capabilities::PLUGIN_AUTH);
    if !plugin_auth && known.is_some() && account.plugin != Plugin::NativePassword && account.has_password() {
        return Err(Error::not_supported_auth_mode().into());
    }
    let mut exchange = Exchange::new(account, nonce, secure, &shared.digests, &*shared.secrets);
    let mut step = exchange.begin(proof.plugin, proof.bytes);
    let accepted = loop {
        match step {
            Step::Ask(payload) => {
                wire.out.packet(|out| out.extend_from_slice(&payload));
                wire.flush()?;
                wire.receive(reader, limit(), limit())?;
                step = exchange.resume(reader.packet());
            }
            Step::Accept(last) => {
                if let Some(payload) = last {
                    wire.out.packet(|out| out.extend_from_slice(&payload));
                }
                break Ok(());
            }
            Step::Deny { password_given } => break Err(denied(user, host, password_given)),
        }
    };
    accepted?;
    let account = known.ok_or_else(|| denied(user, host, true))?;
    if account.locked {
        return Err(Error::account_has_been_locked(user, host.name()).into());
    }
    let unprotected = !account.has_password() && !host.is_loopback();
    if unprotected || (account.tls_required && wire.stream().tls_names().is_none()) {
        return Err(denied(user, host, account.has_password()).into());
    }
    Ok(account)
}

fn denied(user: &str, host: &ClientHost, password_given: bool) -> Error {
    Error::access_denied(user, host.name(), if password_given { "YES" } else { "NO" })
}

fn open_session(shared: &Shared, client: &Client) -> Result<Box<dyn Session>> {
    show(client);
    shared.backend.connect(client.clone())
}

fn show(client: &Client) {
    client.process.set_user(&client.user);
    client.process.set_database(client.database.as_deref());
}

fn random_nonce() -> Result<[u8; NONCE_LEN]> {
    let mut random = [0; NONCE_LEN];
    getrandom::fill(&mut random).map_err(|e| Error::internal(format_args!("no random numbers: {e}")))?;
    Ok(protocol::nonce_from_random(random))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
