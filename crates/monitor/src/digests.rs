//! Sums over all statements that differ in their constants only.
//!
//! ```text
//!   (schema, digest text) ─▶ shard ─▶ Digest ── stripe 0..4, by session: count, times, rows, histogram of times
//! ```
//! A cached plan holds its [`Digest`], so a statement that is answered by one neither lexes its text again nor looks
//! into the map: it locks a stripe that no other session is likely to hold, and adds. Quantiles come from a histogram
//! of 4 buckets an octave: they are at most a fifth too high.
//!
//! Invariants
//! 1. At most [`DIGESTS_MAX`] digests are kept; what comes beyond is summed up under a digest without a text, as in
//!    MySQL.
//! 2. TRUNCATE sets all sums to zero; digests that plans hold stay known.

use super::Ended;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// `performance_schema_digests_size`
pub const DIGESTS_MAX: usize = 10_000;
const SHARDS: usize = 16;
const STRIPES: usize = 4;
/// Text that is looked at: statements that differ beyond count as one.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// `performance_schema_max_sql_text_length`
const SAMPLE_BYTES_MAX: usize = 1024;
/// Four an octave from 1 us on.
const BUCKETS: usize = 128;

/// One shape of statements.
#[derive(Debug)]
pub struct Digest {
    pub schema: Option<Box<str>>,
    /// 64 hexadecimal digits; `None`: all that found no place.
    pub digest: Option<Box<str>>,
    pub text: Option<Box<str>>,
    id: u64,
    stripes: [Mutex<Option<Box<Sums>>>; STRIPES],
}

/// What was added up.
#[derive(Clone, Debug)]
pub struct Sums {
    pub count: u64,
    pub nanos: u64,
    pub nanos_min: u64,
    pub nanos_max: u64,
    pub errors: u64,
    pub no_index_used: u64,
    /// Sums of everything else.
    pub all: Ended,
    pub first_seen_us: i64,
    pub last_seen_us: i64,
    /// The slowest statement: its text, when it began, how long it took.
    pub sample: Box<[u8]>,
    pub sample_us: i64,
    pub sample_nanos: u64,
    histogram: [u32; BUCKETS],
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            count: 0,
            nanos: 0,
            nanos_min: u64::MAX,
            nanos_max: 0,
            errors: 0,
            no_index_used: 0,
            all: Ended::default(),
            first_seen_us: i64::MAX,
            last_seen_us: 0,
            sample: Box::default(),
            sample_us: 0,
            sample_nanos: 0,
            histogram: [0; BUCKETS],
        }
    }
}

fn bucket(nanos: u64) -> usize {
    let us = (nanos / 1000).max(1);
    let octave = us.ilog2();
    let quarter = if octave >= 2 { us >> (octave - 2) & 3 } else { us << (2 - octave) & 3 };
    (octave as usize * 4 + quarter as usize).min(BUCKETS - 1)
}

/// The upper bound of a bucket, in nanoseconds.
fn bucket_end(i: usize) -> u64 {
    let (octave, quarter) = (i as u32 / 4, i as u64 % 4);
    (1u64 << octave).saturating_mul(5 + quarter).saturating_mul(250)
}

impl Sums {
    fn add(&mut self, e: &Ended, text: impl FnOnce() -> Box<[u8]>) {
        self.count += 1;
        self.nanos = self.nanos.saturating_add(e.nanos);
        self.nanos_min = self.nanos_min.min(e.nanos);
        self.errors += u64::from(e.failed);
        self.no_index_used += u64::from(e.used_no_index());
        self.first_seen_us = self.first_seen_us.min(e.began_us);
        self.last_seen_us = self.last_seen_us.max(e.began_us);
        self.histogram[bucket(e.nanos)] += 1;
        add_all(&mut self.all, e);
        if e.nanos > self.nanos_max {
            self.nanos_max = e.nanos;
            // Not each time a little slower one comes by: a sample costs a copy.
            if e.nanos / 2 > self.sample_nanos || self.sample.is_empty() {
                self.sample = text();
                self.sample_us = e.began_us;
                self.sample_nanos = e.nanos;
            }
        }
    }

    fn merge(&mut self, other: &Sums) {
        self.count += other.count;
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.nanos_min = self.nanos_min.min(other.nanos_min);
        self.nanos_max = self.nanos_max.max(other.nanos_max);
        self.errors += other.errors;
        self.no_index_used += other.no_index_used;
        self.first_seen_us = self.first_seen_us.min(other.first_seen_us);
        self.last_seen_us = self.last_seen_us.max(other.last_seen_us);
        add_all(&mut self.all, &other.all);
        for (a, b) in self.histogram.iter_mut().zip(&other.histogram) {
            *a += b;
        }
        if other.sample_nanos > self.sample_nanos {
            self.sample = other.sample.clone();
            self.sample_us = other.sample_us;
            self.sample_nanos = other.sample_nanos;
        }
    }

    /// The time that `share` of the statements did not exceed, in nanoseconds.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (i, n) in self.histogram.iter().enumerate() {
            seen += u64::from(*n);
            if seen >= wanted {
                return bucket_end(i).min(self.nanos_max.max(1));
            }
        }
        self.nanos_max
    }
}

fn add_all(to: &mut Ended, e: &Ended) {
    to.lock_nanos = to.lock_nanos.saturating_add(e.lock_nanos);
    to.warnings += e.warnings;
    to.rows_affected += e.rows_affected;
    to.rows_sent += e.rows_sent;
    to.rows_examined += e.rows_examined;
    to.created_tmp_disk_tables += e.created_tmp_disk_tables;
    to.created_tmp_tables += e.created_tmp_tables;
    to.select_full_join += e.select_full_join;
    to.select_full_range_join += e.select_full_range_join;
    to.select_range += e.select_range;
    to.select_range_check += e.select_range_check;
    to.select_scan += e.select_scan;
    to.sort_merge_passes += e.sort_merge_passes;
    to.sort_range += e.sort_range;
    to.sort_rows += e.sort_rows;
    to.sort_scan += e.sort_scan;
}

impl Digest {
    fn new(schema: Option<&str>, digest: Option<Box<str>>, text: Option<Box<str>>, id: u64) -> Digest {
        Digest { schema: schema.map(Into::into), digest, text, id, stripes: Default::default() }
    }

    /// A number that no other digest has; 0: of those without a place.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Adds a statement of the session of this number.
    pub fn add(&self, session: u32, e: &Ended, text: impl FnOnce() -> Box<[u8]>) {
        let mut sums = self.stripes[session as usize % STRIPES].lock();
        sums.get_or_insert_default().add(e, text);
    }

    /// `None`: there was no such statement, or none since TRUNCATE.
    pub fn sums(&self) -> Option<Sums> {
        let mut all: Option<Sums> = None;
        for stripe in &self.stripes {
            if let Some(sums) = &*stripe.lock() {
                all.get_or_insert_default().merge(sums);
            }
        }
        all
    }

    fn clear(&self) {
        self.stripes.iter().for_each(|s| *s.lock() = None);
    }
}

type Key = (Option<Box<str>>, Box<str>);

/// See the module head.
#[derive(Debug)]
pub struct Digests {
    on: AtomicBool,
    shards: [Mutex<HashMap<Key, Arc<Digest>>>; SHARDS],
    count: AtomicUsize,
    last_id: AtomicU64,
    beyond: Arc<Digest>,
}

impl Default for Digests {
    fn default() -> Digests {
        Digests {
            on: AtomicBool::new(true),
            shards: Default::default(),
            count: AtomicUsize::new(0),
            beyond: Arc::new(Digest::new(None, None, None, 0)),
            last_id: AtomicU64::new(0),
        }
    }
}

impl Digests {
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// The digest of a statement's text.
    pub fn of(&self, schema: Option<&str>, text: &[u8], options: &parser::ParseOptions) -> Arc<Digest> {
        let text = parser::digest::digest_text(&text[..text.len().min(TEXT_BYTES_MAX)], options);
        let key: Key = (schema.map(Into::into), text.into());
        let hash =
            key.1.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut shard = self.shards[hash as usize % SHARDS].lock();
        if let Some(known) = shard.get(&key) {
            return known.clone();
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= DIGESTS_MAX {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return self.beyond.clone();
        }
        let hex: String = Sha256::digest(key.1.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
        let made = Arc::new(Digest::new(
            schema,
            Some(hex.into()),
            Some(key.1.clone()),
            self.last_id.fetch_add(1, Ordering::Relaxed) + 1,
        ));
        shard.insert(key, made.clone());
        made
    }

    /// All that were seen, the one of those without a place last.
    pub fn all(&self) -> Vec<(Arc<Digest>, Sums)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let digests: Vec<Arc<Digest>> = shard.lock().values().cloned().collect();
            all.extend(digests.into_iter().filter_map(|d| d.sums().map(|s| (d, s))));
        }
        all.sort_by_key(|(_, s)| s.first_seen_us);
        all.extend(self.beyond.sums().map(|s| (self.beyond.clone(), s)));
        all
    }

    /// All that are known, by their ids.
    pub fn by_id(&self) -> HashMap<u64, Arc<Digest>> {
        let shards = self.shards.iter();
        shards.flat_map(|s| s.lock().values().map(|d| (d.id, d.clone())).collect::<Vec<_>>()).collect()
    }

    /// TRUNCATE TABLE.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let before = shard.len();
            shard.retain(|_, d| {
                d.clear();
                Arc::strong_count(d) > 1
            });
            self.count.fetch_sub(before - shard.len(), Ordering::Relaxed);
        }
        self.beyond.clear();
    }
}

/// What is kept of a statement's text.
pub fn sample(text: &[u8]) -> Box<[u8]> {
    text[..text.len().min(SAMPLE_BYTES_MAX)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for us in [1u64, 2, 3, 4, 5, 7, 8, 100, 1000, 123_456, 10_000_000] {
            let end = bucket_end(bucket(us * 1000));
            assert!(end >= us * 1000 && end <= us * 1000 * 2, "{us}: {end}");
            assert!(us < 4 || end <= us * 1300, "{us}: {end}");
        }
    }

    #[test]
    fn statements_of_one_shape_are_one() {
        let digests = Digests::default();
        let options = parser::ParseOptions::default();
        let a = digests.of(Some("d"), b"select 1 from t where a = 5", &options);
        let b = digests.of(Some("d"), b"SELECT 2 FROM t WHERE a = 6", &options);
        let c = digests.of(None, b"SELECT 2 FROM t WHERE a = 6", &options);
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &c));
        for session in 0..10 {
            let e = Ended { nanos: 1000 * u64::from(session + 1), rows_sent: 2, ..Default::default() };
            a.add(session, &e, || (*b"x").into());
        }
        let sums = a.sums().unwrap();
        assert_eq!((sums.count, sums.all.rows_sent, sums.nanos_min, sums.nanos_max), (10, 20, 1000, 10_000));
        assert!(sums.quantile(0.95) >= 9_000 && sums.quantile(0.95) <= 10_000);
        assert_eq!(digests.all().len(), 1);
        digests.clear();
        assert!(digests.all().is_empty() && a.sums().is_none());
    }
}
