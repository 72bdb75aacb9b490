//! Sorting that can be stopped.
//!
//! The library's sort of ten million entries takes a second in which nobody can say a word. Here it gets pieces of
//! [`PIECE`] entries; above them quicksort's own steps, which each go through their part once, are made by hand, and
//! whether to go on is asked between them. Many equal entries only cost time.

use crate::index::ordered::GoOn;
use std::cmp::Ordering;
use types::Result;

/// Entries that are sorted at a stretch: some milliseconds.
const PIECE: usize = 1 << 17;
/// Entries of which the median is the pivot.
const SAMPLES: usize = 63;

/// Sorts by `compare`; an error of `go_on` leaves some order.
pub fn sort_while<T>(all: &mut [T], compare: &impl Fn(&T, &T) -> Ordering, go_on: GoOn<'_>) -> Result<()> {
    let mut parts = vec![all];
    while let Some(part) = parts.pop() {
        go_on()?;
        if part.len() <= PIECE {
            part.sort_unstable_by(compare);
            continue;
        }
        let mut at = partition(part, compare, go_on)?;
        if at.min(part.len() - at) < part.len() / 32 {
            // A bad pivot: rare, and then the library knows how.
            at = part.len() / 2;
            part.select_nth_unstable_by(at, compare);
        }
        let (low, high) = part.split_at_mut(at);
        parts.extend([high, low]);
    }
    Ok(())
}

/// Puts what is below a pivot first; answers how many these are. Without a branch on what is compared (Lomuto's
/// scheme).
fn partition<T>(part: &mut [T], compare: &impl Fn(&T, &T) -> Ordering, go_on: GoOn<'_>) -> Result<usize> {
    let mut samples: Vec<usize> = (0..SAMPLES).map(|i| part.len() / SAMPLES * i).collect();
    samples.sort_by(|a, b| compare(&part[*a], &part[*b]));
    part.swap(0, samples[SAMPLES / 2]);
    let (pivot, rest) = part.split_first_mut().expect("more than a piece");
    let mut low = 0;
    for from in (0..rest.len()).step_by(8 * PIECE) {
        go_on()?;
        for i in from..rest.len().min(from + 8 * PIECE) {
            rest.swap(i, low);
            low += usize::from(compare(&rest[low], pivot).is_lt());
        }
    }
    part.swap(0, low);
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use types::Error;

    #[test]
    fn sorts_whatever_comes() {
        let mut rng = fastrand::Rng::with_seed(7);
        let n = 5 * PIECE as u64;
        let mut inputs: Vec<Vec<u64>> = vec![(0..n).collect(), (0..n).rev().collect(), vec![], vec![3, 1]];
        inputs.push((0..n).map(|i| (i % 3) << 40 | i).collect());
        inputs.push((0..n).map(|i| if i % 5 == 0 { i } else { u64::MAX - i }).collect());
        inputs.push((0..n).map(|i| i % 2).collect());
        inputs.push((0..n).map(|i| rng.u64(..) << 20 | i).collect());
        for mut input in inputs {
            let mut expected = input.clone();
            expected.sort_unstable();
            sort_while(&mut input, &u64::cmp, &|| Ok(())).unwrap();
            assert!(input == expected);
        }
    }

    #[test]
    fn can_be_stopped() {
        let mut entries: Vec<u64> = (0..5 * PIECE as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let asked = AtomicUsize::new(0);
        let go_on = || if asked.fetch_add(1, Relaxed) < 3 { Ok(()) } else { Err(Error::query_interrupted()) };
        assert!(sort_while(&mut entries, &u64::cmp, &go_on).is_err());
        assert_eq!(asked.load(Relaxed), 4);
    }
}
