//! Configuration of the server: option files, environment, command line; later ones win.
//!
//! Every option has one name, written with underscores (`bind_address`); files and the command line may write dashes.
//! An option is either the network's, and lands in a field of [`ServerConfig`], or a system variable of the engine,
//! which judges it. Options that an option file shares with MySQL's server (groups `[mysqld]` and `[server]`) may be
//! unknown here and are then only warned about, like stray environment variables; those meant for this server may not.

mod args;
mod option_file;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::net;

pub use args::ServerArgs;
pub use option_file::{FileOption, read_option_file};
pub use value::{parse_bool, parse_size};

/// Where an option was set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    File { path: PathBuf, line: usize, group: String },
    Environment(String),
    CommandLine,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Source::Environment(name) => write!(f, "environment variable {name}"),
            Source::CommandLine => f.write_str("command line"),
        }
    }
}

/// One option, as it was set somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// With underscores, without `loose_` and its like.
    pub name: String,
    pub value: String,
    pub source: Source,
    /// Being unknown is worth a warning only.
    pub lenient: bool,
}

impl Setting {
    /// Takes MySQL's prefixes off: `loose_x`, `skip_x`, `disable_x`, `enable_x`. Without a value an option is ON.
    pub fn new(name: &str, value: Option<&str>, source: Source) -> Setting {
        let mut name = name.replace('-', "_").to_ascii_lowercase();
        let mut lenient = match &source {
            Source::File { group, .. } => group != "nextleaf",
            Source::Environment(_) => true,
            Source::CommandLine => false,
        };
        if let Some(rest) = name.strip_prefix("loose_") {
            (name, lenient) = (rest.to_owned(), true);
        }
        let mut value = value.unwrap_or("ON").to_owned();
        if !NAMED_SKIP.contains(&name.as_str()) {
            for (prefix, meaning) in [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")] {
                if let Some(rest) = name.strip_prefix(prefix) {
                    (name, value) = (rest.to_owned(), meaning.to_owned());
                    break;
                }
            }
        }
        Setting { name, value, source, lenient }
    }

    pub fn error(&self, what: impl fmt::Display) -> ConfigError {
        ConfigError(format!("{}: option {}={}: {what}", self.source, self.name, self.value))
    }
}

/// System variables whose own name begins with `skip_`.
const NAMED_SKIP: [&str; 4] = ["skip_networking", "skip_name_resolve", "skip_show_database", "skip_external_locking"];

/// A configuration that cannot be used, in words for the person who wrote it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Everything that is known before the engine is opened.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub datadir: PathBuf,
    pub bind_address: String,
    pub port: u16,
    pub socket: Option<PathBuf>,
    pub skip_networking: bool,
    pub max_connections: usize,
    pub connect_timeout: Duration,
    pub require_secure_transport: bool,
    pub tls: bool,
    pub ssl_cert: Option<PathBuf>,
    pub ssl_key: Option<PathBuf>,
    /// Statements to execute before anybody can connect.
    pub init_file: Option<PathBuf>,
    /// Where the log goes instead of standard error.
    pub log_error: Option<PathBuf>,
    /// Holds the number of the process while it serves.
    pub pid_file: Option<PathBuf>,
    /// System variables, for the engine; in the order in which they were set.
    pub variables: Vec<Setting>,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            datadir: PathBuf::from("nextleaf-data"),
            bind_address: "127.0.0.1".to_owned(),
            port: 3306,
            socket: None,
            skip_networking: false,
            max_connections: 151,
            connect_timeout: Duration::from_secs(10),
            require_secure_transport: false,
            tls: cfg!(feature = "tls"),
            ssl_cert: None,
            ssl_key: None,
            init_file: None,
            log_error: None,
            pid_file: None,
            variables: Vec::new(),
        }
    }
}

/// MySQL lets nobody set more, since each needs a descriptor.
const MAX_CONNECTIONS_MAX: u64 = 100_000;

impl ServerConfig {
    pub fn from_settings(settings: impl IntoIterator<Item = Setting>) -> Result<ServerConfig, ConfigError> {
        let mut config = ServerConfig::default();
        for setting in settings {
            config.apply(setting)?;
        }
        Ok(config)
    }

    fn apply(&mut self, setting: Setting) -> Result<(), ConfigError> {
        let value = setting.value.as_str();
        let number = |min: u64, max: u64| match parse_size(value) {
            Some(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(setting.error(format_args!("not a number from {min} to {max}"))),
        };
        let flag = || parse_bool(value).ok_or_else(|| setting.error("neither ON nor OFF"));
        let path = || match value {
            "" => Err(setting.error("an empty path")),
            _ => Ok(PathBuf::from(value)),
        };
        match setting.name.as_str() {
            "datadir" => self.datadir = path()?,
            "bind_address" => self.bind_address = value.to_owned(),
            "port" => self.port = number(0, 65535)? as u16,
            "socket" => self.socket = Some(path()?).filter(|_| value != "OFF"),
            "skip_networking" => self.skip_networking = flag()?,
            "networking" => self.skip_networking = !flag()?,
            "max_connections" => self.max_connections = number(1, MAX_CONNECTIONS_MAX)? as usize,
            "connect_timeout" => self.connect_timeout = Duration::from_secs(number(2, 31_536_000)?),
            "require_secure_transport" => self.require_secure_transport = flag()?,
            "ssl" | "tls" => self.tls = flag()?,
            "ssl_cert" => self.ssl_cert = Some(path()?),
            "ssl_key" => self.ssl_key = Some(path()?),
            "init_file" => self.init_file = Some(path()?),
            // without a value it is a file of the data directory, as in MySQL
            "log_error" => {
                self.log_error = match value {
                    "stderr" => None,
                    "" | "ON" => Some(PathBuf::from("nextleaf.err")),
                    _ => Some(path()?),
                }
            }
            "pid_file" => self.pid_file = Some(path()?),
            _ => self.variables.push(setting),
        }
        Ok(())
    }

    /// What the listener needs.
    pub fn net_options(&self) -> Result<net::Options, ConfigError> {
        if self.tls && !cfg!(feature = "tls") {
            return Err(ConfigError("this server was built without TLS (cargo feature `tls`)".to_owned()));
        }
        if self.require_secure_transport && !self.tls && self.socket.is_none() {
            return Err(ConfigError(
                "require_secure_transport=ON leaves no way in without TLS or a socket file".to_owned(),
            ));
        }
        let mut options = net::Options::new(&self.datadir);
        options.bind_addresses = match self.skip_networking {
            true => Vec::new(),
            false => self.bind_address.split(',').map(|name| name.trim().to_owned()).collect(),
        };
        options.port = self.port;
        options.socket = self.socket.as_deref().map(|path| self.datadir_or_absolute(path));
        options.max_connections = self.max_connections;
        options.connect_timeout = self.connect_timeout;
        options.require_secure_transport = self.require_secure_transport;
        options.tls.enabled = self.tls;
        options.tls.cert = self.ssl_cert.as_deref().map(|path| self.datadir_or_absolute(path));
        options.tls.key = self.ssl_key.as_deref().map(|path| self.datadir_or_absolute(path));
        Ok(options)
    }

    /// Relative paths begin at the data directory, as in MySQL.
    pub fn datadir_or_absolute(&self, path: &Path) -> PathBuf {
        self.datadir.join(path)
    }

    /// The fields as system variables, for SHOW VARIABLES.
    pub fn shown_variables(&self) -> Vec<(&'static str, String)> {
        let on_off = |flag: bool| if flag { "ON" } else { "OFF" }.to_owned();
        let path = |path: &Option<PathBuf>| path.as_ref().map_or(String::new(), |path| path.display().to_string());
        vec![
            ("datadir", self.datadir.display().to_string()),
            ("bind_address", self.bind_address.clone()),
            ("port", self.port.to_string()),
            ("socket", path(&self.socket)),
            ("log_error", self.log_error.as_ref().map_or("stderr".to_owned(), |path| path.display().to_string())),
            ("pid_file", path(&self.pid_file)),
            ("skip_networking", on_off(self.skip_networking)),
            ("max_connections", self.max_connections.to_string()),
            ("connect_timeout", self.connect_timeout.as_secs().to_string()),
            ("require_secure_transport", on_off(self.require_secure_transport)),
            ("ssl_cert", path(&self.ssl_cert)),
            ("ssl_key", path(&self.ssl_key)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(options: &[(&str, Option<&str>)]) -> Result<ServerConfig, ConfigError> {
        let settings = options.iter().map(|(name, value)| Setting::new(name, *value, Source::CommandLine));
        ServerConfig::from_settings(settings.collect::<Vec<_>>())
    }

    #[test]
    fn later_settings_win() {
        let config = config(&[
            ("port", Some("3307")),
            ("bind-address", Some("10.0.0.1, ::1")),
            ("port", Some("3308")),
            ("skip-ssl", None),
            ("socket", Some("my.sock")),
            ("sort_buffer_size", Some("1M")),
        ])
        .unwrap();
        assert_eq!((config.port, config.tls), (3308, false));
        assert_eq!(config.variables[0].name, "sort_buffer_size");
        let options = config.net_options().unwrap();
        assert_eq!(options.bind_addresses, ["10.0.0.1", "::1"]);
        assert_eq!(options.socket, Some(PathBuf::from("nextleaf-data/my.sock")));
    }

    #[test]
    fn wrong_values_are_told_with_their_place() {
        for (name, value) in [("port", "70000"), ("port", "x"), ("max_connections", "0"), ("skip_networking", "maybe")]
        {
            let error = config(&[(name, Some(value))]).unwrap_err();
            assert!(
                error.0.contains(name) && error.0.contains(value) && error.0.starts_with("command line"),
                "{error}"
            );
        }
    }

    #[test]
    fn prefixes() {
        let setting = |name| Setting::new(name, None, Source::CommandLine);
        assert_eq!(
            (setting("skip-networking").name.as_str(), setting("skip-networking").value.as_str()),
            ("skip_networking", "ON")
        );
        assert_eq!((setting("skip-foo").name.as_str(), setting("skip-foo").value.as_str()), ("foo", "OFF"));
        assert!(setting("loose_foo").lenient && !setting("foo").lenient);
        assert_eq!(setting("loose-skip-foo").name, "foo");
        assert!(config(&[("skip_networking", None)]).unwrap().net_options().unwrap().bind_addresses.is_empty());
    }
}
