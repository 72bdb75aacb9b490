//! Who a client is: the account that it names, and the proof that it is its own. For logins, which let go of the
//! connection while the client is silent, and for COM_CHANGE_USER, which waits.

use protocol::auth::{Account, Exchange, Plugin, Step, Waiting};
use protocol::{Capabilities, ChangeUser, NONCE_LEN, PacketReader};
use types::Error;

use super::connection::Shared;
use super::login::{LoggedIn, LoginError, show, text};
use super::wire::Wire;
use super::{Client, ClientHost};

/// The first proof that a client offers.
pub(super) struct Proof<'a> {
    pub(super) plugin: Option<&'a [u8]>,
    pub(super) bytes: &'a [u8],
}

/// A client says that it is `user`.
pub(super) struct Claim {
    user: String,
    host: ClientHost,
    nonce: [u8; NONCE_LEN],
    known: Option<Account>,
    /// Stands in for an account that is not there, so that nobody can tell.
    decoy: Option<Account>,
    /// TLS or a Unix socket: passwords may travel in clear.
    secure: bool,
    waiting: Option<Waiting>,
    /// What was right, where a salted verifier has to be made of it.
    password: Option<Box<[u8]>>,
}

impl Claim {
    /// With what the claim begins with. Error 1251 for clients that cannot prove it in the account's way.
    pub(super) fn new(
        shared: &Shared,
        wire: &mut Wire,
        user: String,
        host: ClientHost,
        nonce: &[u8; NONCE_LEN],
        proof: &Proof<'_>,
    ) -> Result<(Claim, Step), LoginError> {
        shared.digests.obey_flushes(shared.backend.privilege_flushes());
        let known = shared.backend.account(&user, &host);
        let decoy = known.is_none().then(|| Account::decoy(&user));
        let secure = wire.stream().socket().is_unix() || wire.stream().tls_names().is_some();
        let mut claim = Claim { user, host, nonce: *nonce, known, decoy, secure, waiting: None, password: None };
        let account = claim.account();
        let plugin_auth = wire.capabilities.has(Capabilities::PLUGIN_AUTH);
        let known = claim.known.is_some();
        if !plugin_auth && known && account.plugin != Plugin::NativePassword && account.has_password() {
            return Err(Error::not_supported_auth_mode().into());
        }
        let mut exchange = claim.exchange(shared);
        let step = exchange.begin(proof.plugin, proof.bytes);
        claim.waiting = Some(exchange.waiting());
        Ok((claim, step))
    }

    fn account(&self) -> &Account {
        self.known.as_ref().or(self.decoy.as_ref()).expect("one of the two is there")
    }

    fn exchange<'a>(&'a self, shared: &'a Shared) -> Exchange<'a> {
        Exchange::new(self.account(), &self.nonce, self.secure, &shared.digests, &*shared.secrets)
    }

    /// Goes on with the client's answer to the last [`Step::Ask`].
    pub(super) fn resume(&mut self, shared: &Shared, answer: &[u8]) -> Step {
        let mut exchange = self.exchange(shared);
        if let Some(waiting) = self.waiting {
            exchange = exchange.at(waiting);
        }
        let step = exchange.resume(answer);
        let (waiting, password) = (exchange.waiting(), exchange.take_password());
        (self.waiting, self.password) = (Some(waiting), password);
        step
    }

    pub(super) fn denied(&self, password_given: bool) -> LoginError {
        denied(&self.user, &self.host, password_given).into()
    }

    /// The claim is proved: the account, if it may be used from there. One whose verifier has no salt gets one.
    pub(super) fn accept(self, shared: &Shared, wire: &mut Wire) -> Result<(String, Account), LoginError> {
        let Claim { user, host, known, password, .. } = self;
        let mut account = known.ok_or_else(|| denied(&user, &host, true))?;
        if account.locked {
            return Err(Error::account_has_been_locked(&user, host.name()).into());
        }
        let unprotected = !account.has_password() && !host.is_loopback();
        if unprotected || (account.tls_required && wire.stream().tls_names().is_none()) {
            return Err(denied(&user, &host, account.has_password()).into());
        }
        if let Some(password) = password
            && let Some(secret) = shared.backend.salt(&account, &password)
        {
            account.secret = secret;
            shared.digests.remember(&account, &password);
        }
        Ok((user, account))
    }
}

fn denied(user: &str, host: &ClientHost, password_given: bool) -> Error {
    Error::access_denied(user, host.name(), if password_given { "YES" } else { "NO" })
}

/// COM_CHANGE_USER, up to but without the OK packet. The session stays the connection's own, under another name; after
/// an error the connection is closed.
pub(super) fn change_user(
    shared: &Shared,
    wire: &mut Wire,
    reader: &mut PacketReader,
    logged_in: &mut LoggedIn,
    payload: &[u8],
) -> Result<(), LoginError> {
    let change = ChangeUser::parse(payload, wire.capabilities).map_err(Error::from)?;
    let proof = Proof { plugin: change.plugin, bytes: change.proof };
    let (host, limit) = (logged_in.client.host, wire.limits.read);
    let (mut claim, mut step) = Claim::new(shared, wire, text(change.user), host, &logged_in.nonce, &proof)?;
    loop {
        match step {
            Step::Ask(payload) => {
                wire.out.packet(|out| out.extend_from_slice(&payload));
                wire.flush()?;
                wire.receive(reader, limit, limit)?;
                step = claim.resume(shared, reader.packet());
            }
            Step::Accept(last) => {
                if let Some(payload) = last {
                    wire.out.packet(|out| out.extend_from_slice(&payload));
                }
                break;
            }
            Step::Deny { password_given } => return Err(claim.denied(password_given)),
        }
    }
    let (user, account) = claim.accept(shared, wire)?;
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
