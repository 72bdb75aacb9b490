//! Putting matches together: pairs of (probe position, build row) become batches.

use crate::columns::{NO_ROW, gather32, gather32_or_null};
use vector::{Batch, Chunk, Selection, Vector};

/// Matches of one probe batch: position in it, row of the build side ([`NO_ROW`]: none, NULLs).
#[derive(Default)]
pub struct Matches {
    pub positions: Vec<u16>,
    pub rows: Vec<u32>,
}

impl Matches {
    pub fn clear(&mut self) {
        self.positions.clear();
        self.rows.clear();
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Each probe position at most once, ascending.
    fn is_at_most_one_each(&self) -> bool {
        self.positions.windows(2).all(|w| w[0] < w[1])
    }
}

fn build_column(chunk: &Chunk, rows: &[u32], with_null: bool) -> Vector {
    Vector::flat(if with_null { gather32_or_null(chunk, rows) } else { gather32(chunk, rows) })
}

/// The batch of the matches' natural columns `columns` (numbers over probe ++ build).
///
/// Where each probe row has at most one match and enough rows do, probe columns are not moved: build values are placed
/// at the probe positions and the selection narrows to the matches.
pub fn joined(probe: &Batch, build: &[Chunk], m: &Matches, columns: &[usize]) -> Batch {
    let n_probe = probe.columns.len();
    let with_null = m.rows.contains(&NO_ROW);
    if m.len() * 3 >= probe.rows && m.is_at_most_one_each() {
        let every = m.len() == probe.rows;
        let aligned: Vec<u32>;
        let rows: &[u32] = if every {
            &m.rows
        } else {
            let mut a = vec![0u32; probe.rows];
            m.positions.iter().zip(&m.rows).for_each(|(&p, &r)| a[p as usize] = r);
            aligned = a;
            &aligned
        };
        let out = columns
            .iter()
            .map(|&c| match c.checked_sub(n_probe) {
                None => probe.columns[c].clone(),
                Some(b) if build[b].is_empty() && !with_null => Vector::flat(gather32_or_null(&build[b], rows)),
                Some(b) => build_column(&build[b], rows, with_null),
            })
            .collect();
        let selection = if every { Selection::All } else { Selection::Some(m.positions.clone()) };
        return Batch { rows: probe.rows, columns: out, selection };
    }
    let out = columns
        .iter()
        .map(|&c| match c.checked_sub(n_probe) {
            None => probe.columns[c].gather(&m.positions),
            Some(b) => build_column(&build[b], &m.rows, with_null),
        })
        .collect();
    Batch::new(m.len(), out)
}
