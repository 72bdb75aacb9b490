//! Before-images of a leaf's rows, column by column.
//!
//! ```text
//!   set 0, columns (2):      12 │ 17 │ 12 │ 40        an update's record names a set and a position in it
//!   set 1, columns (2, 5):   13 "x" │ 9 "y"
//! ```
//! Updates of the same columns share a *set*: so an image costs its values and nothing else. Positions that no record
//! names any more are garbage until [`Images::compact`].

use std::sync::Arc;
use vector::{Chunk, Rows};

/// Where an update's record has its before-image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Image {
    set: u32,
    at: u32,
}

/// A before-image: what some columns held.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    columns: &'a [(u16, Chunk)],
    at: usize,
}

impl<'a> Before<'a> {
    /// The chunk and position of the column's value, if the image has the column.
    #[inline]
    pub fn value(self, column: usize) -> Option<(&'a Chunk, usize)> {
        self.columns.iter().find(|(c, _)| *c as usize == column).map(|(_, chunk)| (chunk, self.at))
    }

    pub fn has(self, column: usize) -> bool {
        self.value(column).is_some()
    }

    pub fn has_all(self, columns: &[usize]) -> bool {
        columns.iter().all(|&c| self.has(c))
    }

    /// Each column, with the chunk and position of its value.
    pub fn each(self) -> impl Iterator<Item = (usize, &'a Chunk, usize)> {
        self.columns.iter().map(move |(c, chunk)| (*c as usize, chunk, self.at))
    }
}

#[derive(Debug)]
struct ImageSet {
    columns: Box<[(u16, Chunk)]>,
    /// Positions that records name.
    held: u32,
}

impl ImageSet {
    fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, chunk)| chunk.len())
    }

    fn garbage(&self) -> usize {
        self.len() - self.held as usize
    }

    fn is_of(&self, columns: impl Iterator<Item = usize>) -> bool {
        self.columns.iter().map(|(c, _)| *c as usize).eq(columns)
    }
}

/// All before-images of one leaf.
#[derive(Debug, Default)]
pub struct Images {
    sets: Vec<ImageSet>,
}

/// Fewer positions are not worth a pass over the leaf's records.
const GARBAGE_MIN: usize = 32;

impl Images {
    pub fn get(&self, image: Image) -> Before<'_> {
        Before { columns: &self.sets[image.set as usize].columns, at: image.at as usize }
    }

    /// Copies what `columns`, of which there is one at least, hold at a position: `from` tells the chunk and position
    /// of each.
    pub fn put<'a>(
        &mut self,
        columns: impl Iterator<Item = usize> + Clone,
        from: impl Fn(usize) -> (&'a Chunk, usize),
    ) -> Image {
        let known = self.sets.iter().rposition(|s| s.is_of(columns.clone()));
        let set = known.unwrap_or_else(|| self.add_set(columns.map(|c| (c as u16, from(c).0.values.phys()))));
        let ImageSet { columns, held } = &mut self.sets[set];
        let at = columns[0].1.len();
        for (c, chunk) in columns {
            let (values, i) = from(*c as usize);
            chunk.append(values, Rows::Range(i, i + 1));
        }
        *held += 1;
        Image { set: set as u32, at: at as u32 }
    }

    fn add_set(&mut self, columns: impl Iterator<Item = (u16, types::PhysType)>) -> usize {
        let columns = columns.map(|(c, phys)| (c, Chunk::empty(phys, 0))).collect();
        let set = ImageSet { columns, held: 0 };
        match self.sets.iter().position(|s| s.held == 0) {
            Some(free) => {
                self.sets[free] = set;
                free
            }
            None => {
                self.sets.reserve_exact(if self.sets.is_empty() { 1 } else { self.sets.len() });
                self.sets.push(set);
                self.sets.len() - 1
            }
        }
    }

    /// The older one of a row's images, and of the newer one what only that has.
    pub fn extend(&mut self, older: Image, newer: Image) -> Image {
        let mut both: Vec<(usize, Chunk)> = Vec::new();
        for (c, chunk, at) in self.get(older).each().chain(self.get(newer).each()) {
            if both.iter().all(|b| b.0 != c) {
                let mut one = Chunk::empty(chunk.values.phys(), 1);
                one.append(chunk, Rows::Range(at, at + 1));
                both.push((c, one));
            }
        }
        let value = |c: usize| (&both.iter().find(|b| b.0 == c).expect("one of its columns").1, 0);
        let joined = self.put(both.iter().map(|b| b.0), value);
        self.let_go(older);
        joined
    }

    /// Nobody needs the image any more.
    pub fn let_go(&mut self, image: Image) {
        let set = &mut self.sets[image.set as usize];
        set.held -= 1;
        if set.held == 0 {
            for (_, chunk) in &mut set.columns {
                *chunk = Chunk::empty(chunk.values.phys(), 0);
            }
        }
    }

    /// Whether more positions are garbage than not.
    pub fn wants_compact(&self) -> bool {
        self.sets.iter().any(|s| s.garbage() > GARBAGE_MIN.max(s.held as usize))
    }

    /// Copies what is needed of sets that are garbage for the most part; `each` calls its argument with the image of
    /// every record.
    pub fn compact(&mut self, each: impl FnOnce(&mut dyn FnMut(&mut Image))) {
        let mut copied: Vec<Option<ImageSet>> = self.sets.iter().map(Self::successor).collect();
        each(&mut |image| {
            let Some(to) = &mut copied[image.set as usize] else { return };
            let at = image.at as usize;
            image.at = to.len() as u32;
            for ((_, to), (_, from)) in to.columns.iter_mut().zip(&self.sets[image.set as usize].columns) {
                to.append(from, Rows::Range(at, at + 1));
            }
            to.held += 1;
        });
        for (set, copied) in self.sets.iter_mut().zip(copied) {
            if let Some(copied) = copied {
                debug_assert_eq!(set.held, copied.held, "each record has an image of its own");
                *set = copied;
            }
        }
    }

    fn successor(set: &ImageSet) -> Option<ImageSet> {
        let empty = |(c, chunk): &(u16, Chunk)| (*c, Chunk::empty(chunk.values.phys(), set.held as usize));
        let is_due = set.garbage() > set.held as usize;
        is_due.then(|| ImageSet { columns: set.columns.iter().map(empty).collect(), held: 0 })
    }
}

/// The values in place.
pub fn in_place<'a>(columns: &'a [Arc<Chunk>], slot: usize) -> impl Fn(usize) -> (&'a Chunk, usize) {
    move |c| (&*columns[c], slot)
}
