//! How a server is started, in a process of its own: its options, its files, and clients that never log in.

mod files;
mod half_open;
mod logs;
mod memory;
mod options;
#[allow(dead_code)]
#[path = "../net/raw.rs"]
mod raw;
mod users_files;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

pub struct Started {
    pub dir: PathBuf,
    pub child: Child,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A server with a folder of its own, which `DIR` names in its options; its data is in `DIR/data`.
pub fn start(name: &str, options: &[&str]) -> Started {
    let dir = folder(name);
    let child = run(&dir, options);
    Started { dir, child }
}

pub fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("nextleaf-start-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

/// The same in a folder that is there.
pub fn run(dir: &std::path::Path, options: &[&str]) -> Child {
    run_under(dir, None, options)
}

/// The same under an umask, in octal.
pub fn run_under(dir: &std::path::Path, umask: Option<&str>, options: &[&str]) -> Child {
    run_after(dir, &umask.map_or(String::new(), |mask| format!("umask {mask}; ")), options)
}

/// The same by a shell that has done something before.
pub fn run_after(dir: &std::path::Path, before: &str, options: &[&str]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_nextleaf"), "--port=0"]);
    if !options.contains(&"--ssl") {
        command.arg("--skip-ssl");
    }
    command
        .arg("--datadir")
        .arg(dir.join("data"))
        .args(options.iter().map(|o| o.replace("DIR", dir.to_str().expect("plain"))))
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts")
}

impl Started {
    /// What it says until it is ready, or ends.
    pub fn said(&mut self) -> String {
        let mut said = String::new();
        for line in BufReader::new(self.child.stderr.take().expect("piped")).lines() {
            let line = line.expect("text");
            said.push_str(&line);
            said.push('\n');
            if line.contains("ready for connections on 127") {
                break;
            }
        }
        said
    }

    pub fn port(said: &str) -> u16 {
        let port = said.split("127.0.0.1:").nth(1).and_then(|s| s.split(',').next()).expect("an address");
        port.parse().expect("a port")
    }

    pub fn connect(said: &str) -> mysql::Conn {
        Started::try_connect(Started::port(said)).expect("connects")
    }

    pub fn try_connect(port: u16) -> mysql::Result<mysql::Conn> {
        Started::connect_as(port, "root")
    }

    pub fn connect_as(port: u16, user: &str) -> mysql::Result<mysql::Conn> {
        let opts = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(port)
            .prefer_socket(false)
            .user(Some(user));
        mysql::Conn::new(opts)
    }
}
