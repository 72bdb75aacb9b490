//! The command line of `nextleaf server`.
//!
//! The network's options are flags of their own, with help. Any other `--name=value` is a system variable, as with
//! MySQL's server, and is sorted out before clap sees the line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser};

use super::{ConfigError, ServerConfig, Setting, Source, read_option_file};

/// Environment variables are named after options: NEXTLEAF_PORT.
const ENVIRONMENT_PREFIX: &str = "NEXTLEAF_";

/// Serve databases over MySQL's protocol.
///
/// Besides the options below, every system variable can be set: --max-allowed-packet=16M. All of them may also stand in
/// an option file, in the groups [mysqld], [server] and [nextleaf], and in the environment, as NEXTLEAF_PORT=3307. The
/// command line wins over the environment, and that over the file.
#[derive(Parser, Debug, Default)]
#[command(name = "nextleaf server", version = crate::net::SERVER_VERSION, disable_help_flag = true)]
pub struct ServerArgs {
    /// Option file in my.cnf format
    #[arg(long, value_name = "FILE")]
    defaults_file: Option<PathBuf>,
    /// Directory of the data, made if it does not exist [default: ./nextleaf-data]
    #[arg(long, short = 'h', value_name = "DIR")]
    datadir: Option<String>,
    /// Address to listen on, several by commas, * for all [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    bind_address: Option<String>,
    /// TCP port to listen on, 0 for any [default: 3306]
    #[arg(long, short = 'P')]
    port: Option<String>,
    /// Unix socket file to listen on, too; relative to the data directory
    #[arg(long, value_name = "PATH")]
    socket: Option<String>,
    /// Do not listen on TCP
    #[arg(long)]
    skip_networking: bool,
    /// Connections at a time [default: 151]
    #[arg(long, value_name = "COUNT")]
    max_connections: Option<String>,
    /// Time that a client has to log in [default: 10]
    #[arg(long, value_name = "SECONDS")]
    connect_timeout: Option<String>,
    /// Refuse clients that use neither TLS nor the socket file
    #[arg(long)]
    require_secure_transport: bool,
    /// Do not offer TLS
    #[arg(long)]
    skip_ssl: bool,
    /// Certificate chain in PEM [default: one of its own, made at the first start]
    #[arg(long, value_name = "FILE")]
    ssl_cert: Option<String>,
    /// Private key of the certificate, in PEM
    #[arg(long, value_name = "FILE")]
    ssl_key: Option<String>,
    /// SQL statements to execute before anybody can connect, such as CREATE USER
    #[arg(long, value_name = "FILE")]
    init_file: Option<String>,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[arg(skip)]
    variables: Vec<Setting>,
}

impl ServerArgs {
    /// `args` begin with the name of the program. A request for help, or a wrong line, is clap's error.
    pub fn parse_line(args: impl IntoIterator<Item = OsString>) -> Result<ServerArgs, clap::Error> {
        let command = Self::command();
        let known: Vec<String> = command.get_arguments().filter_map(|arg| arg.get_long()).map(str::to_owned).collect();
        let mut variables = Vec::new();
        let mut flags = Vec::new();
        for arg in args {
            let variable = arg.to_str().and_then(|arg| arg.strip_prefix("--")).filter(|rest| !rest.is_empty());
            let (name, value) = match variable.map(|rest| rest.split_once('=').unwrap_or((rest, "ON"))) {
                Some((name, value)) => (name.replace('_', "-"), value),
                None => {
                    flags.push(arg);
                    continue;
                }
            };
            let with_value = arg.to_str().is_some_and(|arg| arg.contains('='));
            let builtin = name == "version" || known.contains(&name);
            if builtin && with_value && matches!(name.as_str(), "skip-networking" | "require-secure-transport") {
                // switches with a value, as in option files
                variables.push(Setting::new(&name, Some(value), Source::CommandLine));
            } else if builtin {
                flags.push(if with_value { format!("--{name}={value}") } else { format!("--{name}") }.into());
            } else {
                variables.push(Setting::new(&name, with_value.then_some(value), Source::CommandLine));
            }
        }
        let mut parsed = Self::from_arg_matches(&command.try_get_matches_from(flags)?)?;
        parsed.variables = variables;
        Ok(parsed)
    }

    /// Reads the option file and the environment, and puts the command line above them.
    pub fn config(self, environment: impl IntoIterator<Item = (String, String)>) -> Result<ServerConfig, ConfigError> {
        let mut settings = Vec::new();
        let mut from_environment = Vec::new();
        let mut defaults_file = self.defaults_file.clone();
        for (name, value) in environment {
            let Some(option) = name.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
            if option == "DEFAULTS_FILE" {
                defaults_file = defaults_file.or(Some(PathBuf::from(value)));
            } else {
                from_environment.push(Setting::new(option, Some(&value), Source::Environment(name.clone())));
            }
        }
        if let Some(path) = &defaults_file {
            settings.extend(read_option_file(path)?);
        }
        settings.extend(from_environment);
        settings.extend(self.settings());
        ServerConfig::from_settings(settings)
    }

    fn settings(self) -> Vec<Setting> {
        let switch = |on: bool| on.then(|| "ON".to_owned());
        let flags = [
            ("datadir", self.datadir),
            ("bind_address", self.bind_address),
            ("port", self.port),
            ("socket", self.socket),
            ("skip_networking", switch(self.skip_networking)),
            ("max_connections", self.max_connections),
            ("connect_timeout", self.connect_timeout),
            ("require_secure_transport", switch(self.require_secure_transport)),
            ("skip_ssl", switch(self.skip_ssl)),
            ("ssl_cert", self.ssl_cert),
            ("ssl_key", self.ssl_key),
            ("init_file", self.init_file),
        ];
        let flags = flags.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let flags = flags.map(|(name, value)| Setting::new(name, Some(&value), Source::CommandLine));
        flags.chain(self.variables).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<ServerArgs, clap::Error> {
        ServerArgs::parse_line(line.split_whitespace().map(OsString::from))
    }

    fn config(line: &str, environment: &[(&str, &str)]) -> Result<ServerConfig, ConfigError> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        parse(line).unwrap().config(environment.collect::<Vec<_>>())
    }

    #[test]
    fn flags_and_variables() {
        let config = config(
            "server --port=3307 --bind_address ::1 --max-allowed-packet=16M --skip-ssl --require-secure-transport=OFF \
             --local-infile -h data",
            &[("NEXTLEAF_PORT", "1"), ("NEXTLEAF_MAX_CONNECTIONS", "7"), ("HOME", "/")],
        )
        .unwrap();
        assert_eq!((config.port, config.max_connections, config.tls), (3307, 7, false));
        assert_eq!(config.datadir, PathBuf::from("data"));
        let variables: Vec<_> = config.variables.iter().map(|s| (s.name.as_str(), s.value.as_str())).collect();
        assert_eq!(variables, [("max_allowed_packet", "16M"), ("local_infile", "ON")]);
    }

    #[test]
    fn wrong_lines() {
        assert!(parse("server stray").is_err());
        assert!(parse("server -x").is_err());
        assert_eq!(parse("server --help").unwrap_err().kind(), clap::error::ErrorKind::DisplayHelp);
        assert_eq!(parse("server --version").unwrap_err().kind(), clap::error::ErrorKind::DisplayVersion);
        assert!(config("server --port=99999", &[]).is_err());
        assert!(config("server --defaults-file=/nowhere/my.cnf", &[]).is_err());
    }
}
