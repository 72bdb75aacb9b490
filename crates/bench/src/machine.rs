//! The machine, its noise, and the statistics of repeated runs.

use std::time::Duration;

fn field(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|l| Some(l.strip_prefix(key)?.trim_start_matches([' ', '\t', ':']).trim().to_owned()))
}

/// Threads that the machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// One line: processor, cores, memory, load. A load near or above the number of cores makes all times suspect.
pub fn describe() -> String {
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory_gib = field("/proc/meminfo", "MemTotal")
        .and_then(|t| t.split(' ').next()?.parse::<f64>().ok())
        .map_or("?".into(), |kb| format!("{:.0}", kb / (1 << 20) as f64));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let build = if cfg!(debug_assertions) { ", DEBUG BUILD" } else { "" };
    format!("machine: {model}, {} cores, {memory_gib} GiB; load average {load}{build}", cores())
}

/// Most bytes this process has had resident, and has now.
pub fn resident_bytes() -> (u64, u64) {
    let kb = |key| {
        field("/proc/self/status", key).and_then(|t| t.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    (kb("VmHWM"), kb("VmRSS"))
}

/// Times of one thing done several times.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub fn add(&mut self, time: Duration) {
        let at = self.0.partition_point(|t| *t <= time);
        self.0.insert(at, time);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of least, median and most, in milliseconds.
    pub fn ms(&self) -> [f64; 3] {
        let ms = |i: usize| self.0.get(i).map_or(f64::NAN, |t| t.as_secs_f64() * 1e3);
        [ms(0), ms(self.0.len() / 2), ms(self.0.len().saturating_sub(1))]
    }

    /// Least time.
    pub fn least(&self) -> Duration {
        self.0.first().copied().unwrap_or_default()
    }

    /// Least time, in milliseconds.
    pub fn best_ms(&self) -> f64 {
        self.ms()[0]
    }

    /// Least time per item, in nanoseconds.
    pub fn best_ns_per(&self, items: u64) -> f64 {
        self.best_ms() * 1e6 / items as f64
    }
}

/// Runs `f` `runs` times; its last answer, and the times.
pub fn repeat<R>(runs: usize, mut f: impl FnMut() -> R) -> (R, Times) {
    let mut times = Times::default();
    let mut once = || {
        let started = std::time::Instant::now();
        let r = std::hint::black_box(f());
        times.add(started.elapsed());
        r
    };
    let mut answer = once();
    for _ in 1..runs {
        answer = once();
    }
    (answer, times)
}

/// FNV-1a, for the line that says what an experiment computed.
#[derive(Clone, Copy, Debug)]
pub struct Hash(pub u64);

impl Default for Hash {
    fn default() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ *b as u64).wrapping_mul(0x100_0000_01b3);
        }
    }

    pub fn add_u64(&mut self, v: u64) {
        self.add(&v.to_le_bytes());
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ordered() {
        let mut t = Times::default();
        for ms in [5, 1, 9, 7] {
            t.add(Duration::from_millis(ms));
        }
        assert_eq!(t.ms(), [1.0, 7.0, 9.0]);
        assert_eq!(t.best_ns_per(1000), 1000.0);
    }
}
