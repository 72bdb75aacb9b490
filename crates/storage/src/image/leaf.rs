//! Leaf images: positions are kept, dead ones included, because row ids must not change.
//!
//! ```text
//!   packed = | raw length: 8 | method: 1 | bytes |             method 0: as they are, 1: LZ4 block
//!   raw    = | rows: 4 | columns: 4 | live: a word per 64 rows | column ... |
//!   column = | kind: 1 | has NULLs: 1 | validity words, if it has | values |
//!   values = fixed width: little-endian, one a row; strings of rows that do not live are empty
//!            strings: lengths, 4 bytes a row | bytes of those of at most 12 | bytes of the others
//!            codes: one byte a row | entries of the dictionary: count, then each
//! ```

use disk::codec::{Get, Put};
use std::sync::Arc;
use types::{I256, PhysType};
use vector::{
    Bitmap, Chunk, DictValues, INLINE_BYTES_MAX, OWN_BLOCK_BYTES_MIN, StrHeap, StrValues, StrView, StringDict, Values,
};

/// A leaf's rows, as they come back.
#[derive(Debug)]
pub struct LeafImage {
    pub rows: usize,
    pub live: Bitmap,
    pub columns: Vec<Chunk>,
}

/// Gives out the dictionary that a column's leaves share. Called with the column, the number of entries and their
/// bytes.
pub type InternDict<'a> = &'a dyn Fn(usize, usize, &[u8]) -> Option<Arc<StringDict>>;

const DICT: u8 = 0x40;
/// Longer raw images stay as they are: the block format is not made for them.
const COMPRESS_BYTES_MAX: usize = 1 << 30;

fn kind_of(phys: PhysType) -> u8 {
    match phys {
        PhysType::I8 => 1,
        PhysType::U8 => 2,
        PhysType::I16 => 3,
        PhysType::U16 => 4,
        PhysType::I32 => 5,
        PhysType::U32 => 6,
        PhysType::I64 => 7,
        PhysType::U64 => 8,
        PhysType::I128 => 9,
        PhysType::I256 => 10,
        PhysType::F32 => 11,
        PhysType::F64 => 12,
        PhysType::Str => 13,
    }
}

fn put_words(words: &[u64], out: &mut Vec<u8>) {
    words.iter().for_each(|w| out.put_u64(*w));
}

fn get_bitmap(get: &mut Get<'_>, len: usize) -> Option<Bitmap> {
    let mut map = Bitmap::zeros(len);
    for w in map.words_mut() {
        *w = get.u64()?;
    }
    let tail = len % 64;
    let clean = tail == 0 || map.words().last().is_none_or(|w| w >> tail == 0);
    clean.then_some(map)
}

/// Appends the packed image of a leaf.
pub fn put<'a>(rows: usize, live: &Bitmap, columns: impl ExactSizeIterator<Item = &'a Chunk>, out: &mut Vec<u8>) {
    let mut raw = Vec::with_capacity(rows * 16);
    raw.put_u32(rows as u32);
    raw.put_u32(columns.len() as u32);
    debug_assert_eq!(live.len(), rows);
    put_words(live.words(), &mut raw);
    for chunk in columns {
        put_chunk(chunk, rows, live, &mut raw);
    }
    out.put_u64(raw.len() as u64);
    if raw.len() <= COMPRESS_BYTES_MAX {
        let packed = lz4_flex::block::compress(&raw);
        if packed.len() < raw.len() {
            out.put_u8(1);
            out.extend_from_slice(&packed);
            return;
        }
    }
    out.put_u8(0);
    out.extend_from_slice(&raw);
}

fn put_fixed<const N: usize, T: Copy>(v: &[T], out: &mut Vec<u8>, bytes: impl Fn(T) -> [u8; N]) {
    let from = out.len();
    out.resize(from + v.len() * N, 0);
    for (o, &x) in out[from..].chunks_exact_mut(N).zip(v) {
        o.copy_from_slice(&bytes(x));
    }
}

fn put_chunk(chunk: &Chunk, rows: usize, live: &Bitmap, out: &mut Vec<u8>) {
    assert_eq!(chunk.len(), rows, "a column has every row of its leaf");
    let dict = if let Values::Dict(_) = chunk.values { DICT } else { 0 };
    out.put_u8(kind_of(chunk.values.phys()) | dict);
    out.put_u8(chunk.validity.is_some() as u8);
    if let Some(v) = &chunk.validity {
        put_words(v.words(), out);
    }
    match &chunk.values {
        Values::I8(v) => put_fixed(v, out, i8::to_le_bytes),
        Values::U8(v) => out.extend_from_slice(v),
        Values::I16(v) => put_fixed(v, out, i16::to_le_bytes),
        Values::U16(v) => put_fixed(v, out, u16::to_le_bytes),
        Values::I32(v) => put_fixed(v, out, i32::to_le_bytes),
        Values::U32(v) => put_fixed(v, out, u32::to_le_bytes),
        Values::I64(v) => put_fixed(v, out, i64::to_le_bytes),
        Values::U64(v) => put_fixed(v, out, u64::to_le_bytes),
        Values::I128(v) => put_fixed(v, out, i128::to_le_bytes),
        Values::I256(v) => {
            v.iter().for_each(|x| {
                out.extend_from_slice(&x.lo.to_le_bytes());
                out.extend_from_slice(&x.hi.to_le_bytes());
            });
        }
        Values::F32(v) => put_fixed(v, out, f32::to_le_bytes),
        Values::F64(v) => put_fixed(v, out, f64::to_le_bytes),
        Values::Str(s) => put_strings(s, |i| live.get(i) && chunk.is_valid(i), out),
        Values::Dict(d) => {
            out.extend_from_slice(&d.codes);
            let entries = &d.dict.strings;
            out.put_varint(entries.views.len() as u64);
            let mut bytes = Vec::new();
            (0..entries.views.len()).for_each(|i| bytes.put_bytes(entries.bytes(i)));
            out.put_bytes(&bytes);
        }
    }
}

/// Of rows that are none, or NULL, there are no strings.
fn put_strings(s: &StrValues, valid: impl Fn(usize) -> bool, out: &mut Vec<u8>) {
    for (i, view) in s.views.iter().enumerate() {
        out.put_u32(if valid(i) { view.len() as u32 } else { 0 });
    }
    for short in [true, false] {
        for (i, view) in s.views.iter().enumerate() {
            if view.is_inline() == short && valid(i) {
                out.extend_from_slice(view.bytes(&s.heap));
            }
        }
    }
}

/// The image that [`put`] packed; `None` if the bytes are none of a table with these column types.
pub fn get(packed: &[u8], types: &[PhysType], intern: InternDict<'_>) -> Option<LeafImage> {
    let mut get = Get(packed);
    let raw_len = usize::try_from(get.u64()?).ok()?;
    let method = get.u8()?;
    let unpacked;
    let raw = match method {
        0 => get.0,
        // LZ4 makes at most 255 bytes of one; garbage must not reserve memory.
        1 if raw_len <= COMPRESS_BYTES_MAX && raw_len / 255 <= get.0.len() + 16 => {
            unpacked = lz4_flex::block::decompress(get.0, raw_len).ok()?;
            &unpacked
        }
        _ => return None,
    };
    if raw.len() != raw_len {
        return None;
    }
    let mut get = Get(raw);
    let rows = get.u32()? as usize;
    if rows > vector::BATCH_ROWS_MAX || get.u32()? as usize != types.len() {
        return None;
    }
    let live = get_bitmap(&mut get, rows)?;
    let mut columns = Vec::with_capacity(types.len());
    for (c, &phys) in types.iter().enumerate() {
        columns.push(get_chunk(&mut get, c, phys, rows, intern)?);
    }
    get.is_empty().then_some(LeafImage { rows, live, columns })
}

fn get_fixed<const N: usize, T>(get: &mut Get<'_>, rows: usize, value: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
    let bytes = get.take(rows * N)?;
    Some(bytes.chunks_exact(N).map(|b| value(b.try_into().expect("chunks have N bytes"))).collect())
}

fn get_chunk(get: &mut Get<'_>, c: usize, phys: PhysType, rows: usize, intern: InternDict<'_>) -> Option<Chunk> {
    let kind = get.u8()?;
    let validity = match get.u8()? {
        0 => None,
        1 => Some(get_bitmap(get, rows)?),
        _ => return None,
    };
    let stored = [
        PhysType::I8,
        PhysType::U8,
        PhysType::I16,
        PhysType::U16,
        PhysType::I32,
        PhysType::U32,
        PhysType::I64,
        PhysType::U64,
        PhysType::I128,
        PhysType::I256,
        PhysType::F32,
        PhysType::F64,
        PhysType::Str,
    ]
    .into_iter()
    .find(|p| kind_of(*p) == kind & !DICT)?;
    // Carriers may be narrower than the column, but strings are strings.
    if (stored == PhysType::Str) != (phys == PhysType::Str) {
        return None;
    }
    let values = match stored {
        PhysType::I8 => Values::I8(get_fixed(get, rows, i8::from_le_bytes)?),
        PhysType::U8 => Values::U8(get.take(rows)?.to_vec()),
        PhysType::I16 => Values::I16(get_fixed(get, rows, i16::from_le_bytes)?),
        PhysType::U16 => Values::U16(get_fixed(get, rows, u16::from_le_bytes)?),
        PhysType::I32 => Values::I32(get_fixed(get, rows, i32::from_le_bytes)?),
        PhysType::U32 => Values::U32(get_fixed(get, rows, u32::from_le_bytes)?),
        PhysType::I64 => Values::I64(get_fixed(get, rows, i64::from_le_bytes)?),
        PhysType::U64 => Values::U64(get_fixed(get, rows, u64::from_le_bytes)?),
        PhysType::I128 => Values::I128(get_fixed(get, rows, i128::from_le_bytes)?),
        PhysType::I256 => Values::I256(get_fixed(get, rows, |b: [u8; 32]| {
            let (lo, hi) = b.split_at(16);
            let half = |h: &[u8]| h.try_into().expect("half of 32 bytes");
            I256 { lo: u128::from_le_bytes(half(lo)), hi: i128::from_le_bytes(half(hi)) }
        })?),
        PhysType::F32 => Values::F32(get_fixed(get, rows, f32::from_le_bytes)?),
        PhysType::F64 => Values::F64(get_fixed(get, rows, f64::from_le_bytes)?),
        PhysType::Str if kind & DICT != 0 => get_codes(get, c, rows, intern)?,
        PhysType::Str => get_strings(get, rows)?,
    };
    let mut chunk = Chunk::new(values, validity);
    chunk.compute_bounds();
    Some(chunk)
}

fn get_codes(get: &mut Get<'_>, column: usize, rows: usize, intern: InternDict<'_>) -> Option<Values> {
    let codes = get.take(rows)?.to_vec();
    let count = get.count(256)?;
    let dict = intern(column, count, get.bytes()?)?;
    let most = codes.iter().max().map_or(0, |c| *c as usize + 1);
    (most <= count && count <= dict.strings.views.len()).then_some(Values::Dict(DictValues { codes, dict }))
}

fn get_strings(get: &mut Get<'_>, rows: usize) -> Option<Values> {
    let lens: Vec<u32> = get_fixed(get, rows, u32::from_le_bytes)?;
    let is_short = |len: &u32| *len as usize <= INLINE_BYTES_MAX;
    let total = |short: bool| lens.iter().filter(|l| is_short(l) == short).map(|l| *l as usize).sum::<usize>();
    let mut short = Get(get.take(total(true))?);
    let mut long = Get(get.take(total(false))?);
    let mut views = Vec::with_capacity(rows);
    // Block 0 has those that share a block.
    let is_packed = |len: &&u32| !is_short(len) && (**len as usize) < OWN_BLOCK_BYTES_MIN;
    let mut packed = Vec::with_capacity(lens.iter().filter(is_packed).map(|l| *l as usize).sum());
    let mut own: Vec<Arc<Vec<u8>>> = Vec::new();
    for len in &lens {
        if is_short(len) {
            views.push(StrView::inline(short.take(*len as usize)?));
            continue;
        }
        let bytes = long.take(*len as usize)?;
        if bytes.len() >= OWN_BLOCK_BYTES_MIN {
            own.push(Arc::new(bytes.to_vec()));
            views.push(StrView::pointing(bytes, own.len() as u32, 0));
            continue;
        }
        views.push(StrView::pointing(bytes, 0, packed.len() as u32));
        packed.extend_from_slice(bytes);
    }
    let mut blocks = Vec::new();
    if !packed.is_empty() || !own.is_empty() {
        blocks.push(Arc::new(packed));
        blocks.append(&mut own);
    }
    Some(Values::Str(StrValues { views, heap: Arc::new(StrHeap::of(blocks)) }))
}

/// A dictionary of its own from the bytes that [`InternDict`] gets.
pub fn read_dict(count: usize, entries: &[u8]) -> Option<Arc<StringDict>> {
    let mut get = Get(entries);
    let mut strings = StrValues::default();
    for _ in 0..count {
        strings.push(get.bytes()?);
    }
    get.is_empty().then(|| Arc::new(StringDict { strings }))
}
