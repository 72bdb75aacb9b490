//! A program on a pseudo terminal: keys go in, and what it prints is waited for.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything takes on the busiest machine.
const DEADLINE: Duration = Duration::from_secs(180);

pub const INTERRUPT: &str = "\x03";
pub const END_OF_INPUT: &str = "\x04";
pub const UP: &str = "\x1b[A";
pub const LINE_END: &str = "\x05";

/// What was printed so far, without the terminal's control sequences.
#[derive(Default)]
struct Screen {
    text: Mutex<(String, bool)>,
    more: Condvar,
}

pub struct Terminal {
    shell: Child,
    keys: File,
    screen: Arc<Screen>,
    /// How much of the text has been waited for.
    seen: usize,
    dir: PathBuf,
}

impl Terminal {
    /// `nextleaf sql` with a folder of its own as HOME.
    pub fn start(name: &str) -> Terminal {
        let dir = std::env::temp_dir().join(format!("nextleaf-shell-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        Terminal::in_dir(dir)
    }

    fn in_dir(dir: PathBuf) -> Terminal {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo terminal");
        grantpt(&keys).expect("ours");
        unlockpt(&keys).expect("ours");
        let name = ptsname(&keys, Vec::new()).expect("it has a name");
        // setsid makes it the terminal from which Ctrl-C comes; before that it is nobody's.
        let end = |write| {
            use std::os::unix::fs::OpenOptionsExt;
            let path = name.to_str().expect("plain");
            let noctty = i32::try_from(OpenptFlags::NOCTTY.bits()).expect("a flag");
            OpenOptions::new().read(true).write(write).custom_flags(noctty).open(path).expect("it opens")
        };
        let tty = end(true);
        tcsetwinsize(&tty, Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 }).expect("it has a size");
        let shell = Command::new("setsid")
            .arg("--ctty")
            .args([env!("CARGO_BIN_EXE_nextleaf"), "sql", "--workers", "1"])
            .env("HOME", &dir)
            .env("TERM", "xterm")
            .stdin(Stdio::from(end(true)))
            .stdout(Stdio::from(end(true)))
            .stderr(Stdio::from(tty))
            .spawn()
            .expect("setsid runs");
        let keys = File::from(keys);
        let screen = Arc::new(Screen::default());
        let (output, shown) = (keys.try_clone().expect("a second handle"), screen.clone());
        std::thread::spawn(move || show(output, &shown));
        Terminal { shell, keys, screen, seen: 0, dir }
    }

    /// A new shell in the same folder.
    pub fn again(mut self) -> Terminal {
        Terminal::in_dir(std::mem::take(&mut self.dir))
    }

    pub fn path(&self, name: &str) -> String {
        self.dir.join(name).to_str().expect("plain").to_string()
    }

    pub fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits for `text` behind what was waited for last.
    pub fn expect(&mut self, text: &str) {
        let start = Instant::now();
        let mut shown = self.screen.text.lock().expect("no panic while held");
        loop {
            if let Some(at) = shown.0[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            let left = DEADLINE.saturating_sub(start.elapsed());
            assert!(!shown.1, "the shell ended before {text:?}; it showed:\n{}", shown.0);
            assert!(!left.is_zero(), "no {text:?} behind what follows; it showed:\n{}", shown.0);
            shown = self.screen.more.wait_timeout(shown, left).expect("no panic while held").0;
        }
    }

    /// Waits for the shell to end.
    pub fn ended(&mut self, well: bool) {
        let start = Instant::now();
        let status = loop {
            match self.shell.try_wait().expect("it is our child") {
                Some(status) => break status,
                None => assert!(start.elapsed() < DEADLINE, "the shell does not end"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.success(), well, "{status}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        if !self.dir.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// Reads until the other end is closed, which is an error on Linux.
fn show(mut output: File, screen: &Screen) {
    let mut bytes = [0; 4096];
    let mut plain = Plain::default();
    loop {
        let n = output.read(&mut bytes).unwrap_or(0);
        let mut text = screen.text.lock().expect("no panic while held");
        bytes[..n].iter().for_each(|b| plain.push(*b, &mut text.0));
        text.1 = n == 0;
        screen.more.notify_all();
        if n == 0 {
            return;
        }
    }
}

/// Leaves out control sequences (ECMA-48: ESC [ parameters letter) and what is not ASCII.
#[derive(Default)]
enum Plain {
    #[default]
    Text,
    Escape,
    Sequence,
}

impl Plain {
    fn push(&mut self, byte: u8, out: &mut String) {
        *self = match (&self, byte) {
            (Plain::Text, 0x1b) => Plain::Escape,
            (Plain::Text, b' '..=b'~' | b'\n') => {
                out.push(byte as char);
                Plain::Text
            }
            (Plain::Text, _) => Plain::Text,
            (Plain::Escape, b'[') => Plain::Sequence,
            (Plain::Sequence, b'@'..=b'~') | (Plain::Escape, _) => Plain::Text,
            (Plain::Sequence, _) => Plain::Sequence,
        };
    }
}
