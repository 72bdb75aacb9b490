//! What a process has used, from /proc.

use std::time::Duration;

/// The kernel counts processor time for user space in hundredths of a second.
const TICKS_PER_SECOND: u64 = 100;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Processor time, in user space and in the kernel.
    pub cpu: Duration,
    pub resident_bytes: u64,
}

impl Usage {
    /// `None`: there is no such process.
    pub fn of(pid: u32) -> Option<Usage> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let resident_kb =
            status.lines().find_map(|l| l.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<u64>().ok());
        Some(Usage { cpu: cpu(&stat)?, resident_bytes: resident_kb.unwrap_or(0) * 1024 })
    }

    /// The processor time since `before`, and the memory now.
    pub fn since(self, before: Usage) -> Usage {
        Usage { cpu: self.cpu.saturating_sub(before.cpu), ..self }
    }

    /// Microseconds of processor time for each of `items`.
    pub fn cpu_us_per(&self, items: u64) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / items as f64
    }
}

/// utime and stime: fields 14 and 15. The second field is the name, in brackets, and may contain anything.
fn cpu(stat: &str) -> Option<Duration> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let ticks: Vec<u64> = after_name.split_whitespace().skip(11).take(2).map_while(|t| t.parse().ok()).collect();
    let [user, system] = ticks[..] else { return None };
    Some(Duration::from_millis((user + system) * 1000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_brackets() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 100 1000 10 18446744073709551615";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(cpu("7 (x"), None);
    }

    #[test]
    fn this_process_uses_something() {
        let usage = Usage::of(std::process::id()).expect("it runs");
        assert!(usage.resident_bytes > 1 << 20);
        assert_eq!(Usage::of(u32::MAX), None);
    }
}
