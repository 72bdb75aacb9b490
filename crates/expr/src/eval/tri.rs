//! Three-valued results of predicates, as bitmaps.

use vector::{Bitmap, Chunk, Values};

/// One truth value a position: TRUE where `truth` is set, FALSE where only `known` is, else NULL.
///
/// Invariant: `truth` is a subset of `known`; `known` of `None` is all positions.
#[derive(Clone, Debug)]
pub(crate) struct Tri {
    pub truth: Bitmap,
    pub known: Option<Bitmap>,
}

impl Tri {
    pub fn all(value: bool, rows: usize) -> Tri {
        Tri { truth: if value { Bitmap::ones(rows) } else { Bitmap::zeros(rows) }, known: None }
    }

    pub fn null(rows: usize) -> Tri {
        Tri { truth: Bitmap::zeros(rows), known: Some(Bitmap::zeros(rows)) }
    }

    /// `truth` where `known`.
    pub fn new(mut truth: Bitmap, known: Option<Bitmap>) -> Tri {
        if let Some(k) = &known {
            truth.and(k);
        }
        Tri { truth, known }
    }

    pub fn rows(&self) -> usize {
        self.truth.len()
    }

    pub fn not(mut self) -> Tri {
        let n = self.rows();
        match &self.known {
            None => invert(&mut self.truth),
            Some(k) => {
                for (t, k) in self.truth.words_mut().iter_mut().zip(k.words()) {
                    *t = !*t & k;
                }
            }
        }
        debug_assert_eq!(self.truth.len(), n);
        self
    }

    /// Positions known to be FALSE.
    pub fn falsehood(&self) -> Bitmap {
        self.clone().not().truth
    }

    pub fn and(mut self, other: &Tri) -> Tri {
        if self.known.is_none() && other.known.is_none() {
            self.truth.and(&other.truth);
            return self;
        }
        let mut known = self.falsehood();
        known.or(&other.falsehood());
        self.truth.and(&other.truth);
        known.or(&self.truth);
        Tri { truth: self.truth, known: Some(known) }
    }

    pub fn or(mut self, other: &Tri) -> Tri {
        if self.known.is_none() && other.known.is_none() {
            self.truth.or(&other.truth);
            return self;
        }
        let mut known = self.falsehood();
        known.and(&other.falsehood());
        self.truth.or(&other.truth);
        known.or(&self.truth);
        Tri { truth: self.truth, known: Some(known) }
    }

    pub fn xor(mut self, other: &Tri) -> Tri {
        for (a, b) in self.truth.words_mut().iter_mut().zip(other.truth.words()) {
            *a ^= b;
        }
        let known = and_validity(self.known, other.known.as_ref());
        Tri::new(self.truth, known)
    }

    /// As a vector of 0 and 1.
    pub fn into_chunk(self) -> Chunk {
        let rows = self.rows();
        let mut out = vec![0i8; rows];
        for (chunk, &w) in out.chunks_mut(64).zip(self.truth.words()) {
            for (k, o) in chunk.iter_mut().enumerate() {
                *o = (w >> k & 1) as i8;
            }
        }
        let validity = self.known.filter(|k| !k.all());
        let mut chunk = Chunk::new(Values::I8(out), validity);
        chunk.bounds = Some(vector::Bounds { min: 0, max: 1 });
        chunk
    }
}

fn invert(b: &mut Bitmap) {
    let n = b.len();
    for w in b.words_mut() {
        *w = !*w;
    }
    b.resize(n);
}

/// Both valid.
pub(crate) fn and_validity(a: Option<Bitmap>, b: Option<&Bitmap>) -> Option<Bitmap> {
    match (a, b) {
        (None, None) => None,
        (Some(a), None) => Some(a),
        (None, Some(b)) => Some(b.clone()),
        (Some(mut a), Some(b)) => {
            a.and(b);
            Some(a)
        }
    }
}
