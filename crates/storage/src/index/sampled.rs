//! How many entries a range of an index has, by the table's sample.
//!
//! The sample's rows are put into the order of the index once for each making of the statistics; a range is then two
//! binary searches.

use super::cursor::Interval;
use super::encode::KeyEncoder;
use catalog::TableStats;
use std::sync::Arc;
use vector::Vector;

/// The keys of a sample's rows, in order.
#[derive(Debug)]
pub struct SampledKeys {
    /// Whose sample it is.
    of: Arc<TableStats>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl SampledKeys {
    pub fn new(encoder: &KeyEncoder, of: Arc<TableStats>) -> SampledKeys {
        let sample = &of.sample;
        let chunk = |c: usize, row: u16| match &sample.columns[c] {
            Vector::Flat(chunk) => (&**chunk, row as usize),
            Vector::Const(chunk) => (&**chunk, 0),
        };
        let key = |row: u16| {
            let mut key = Vec::new();
            encoder.encode_row(&|c| chunk(c, row), &mut key);
            key
        };
        let mut keys: Vec<Vec<u8>> = sample.selection.to_positions(sample.rows).into_iter().map(key).collect();
        keys.sort_unstable();
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(keys.len()));
        for key in keys {
            bytes.extend_from_slice(&key);
            ends.push(bytes.len() as u32);
        }
        SampledKeys { of, bytes, ends }
    }

    pub fn is_of(&self, statistics: &Arc<TableStats>) -> bool {
        Arc::ptr_eq(&self.of, statistics)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    fn key(&self, i: usize) -> &[u8] {
        let from = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[from..self.ends[i] as usize]
    }

    /// Keys below this one.
    fn below(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Keys in the interval.
    pub fn count(&self, interval: &Interval) -> usize {
        let end = interval.end.as_ref().map_or(self.len(), |e| self.below(e));
        end.saturating_sub(self.below(&interval.start))
    }
}
