//! Chunks against vectors of plain values: every way to change a chunk, with NULLs, of every physical type.

use proptest::prelude::*;
use std::sync::Arc;
use types::{Collation, Decimal, I256, PhysType, SqlType, Value};
use vector::{Bitmap, Chunk, ChunkBuilder, DictValues, Rows, Selection, StrValues, StringDict, Values};

const TYPES: [SqlType; 7] = [
    SqlType::INT,
    SqlType::BIGINT_UNSIGNED,
    SqlType::Double,
    SqlType::Decimal { precision: 15, scale: 2 },
    SqlType::Decimal { precision: 30, scale: 3 },
    SqlType::Decimal { precision: 60, scale: 0 },
    SqlType::varchar(100, Collation::Binary),
];

fn value(ty: SqlType, n: i32) -> Value {
    if n % 5 == 0 {
        return Value::Null;
    }
    match ty {
        SqlType::INT => Value::Int(n as i64),
        SqlType::BIGINT_UNSIGNED => Value::UInt(n as u64),
        SqlType::Double => Value::Double(n as f64 / 4.0),
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal { unscaled: I256::from(n as i128), scale }),
        _ => Value::str(&format!("{n}-").repeat(n.unsigned_abs() as usize % 7)),
    }
}

fn build(ty: SqlType, ns: &[i32]) -> Chunk {
    let mut b = ChunkBuilder::new(ty.phys(), ns.len());
    ns.iter().for_each(|&n| b.push(&value(ty, n)));
    let mut chunk = b.finish();
    chunk.compute_bounds();
    chunk
}

/// The strings of `chunk` as codes, if they are few enough.
fn encode(chunk: &Chunk) -> Chunk {
    let mut strings = StrValues::default();
    let mut codes = Vec::new();
    for i in 0..chunk.len() {
        let bytes = chunk.values.str_bytes(i);
        let known = (0..strings.views.len()).find(|&c| strings.bytes(c) == bytes);
        codes.push(known.unwrap_or_else(|| {
            strings.push(bytes);
            strings.views.len() - 1
        }) as u8);
    }
    let dict = Arc::new(StringDict { strings });
    Chunk::new(Values::Dict(DictValues { codes, dict }), chunk.validity.clone())
}

fn values(chunk: &Chunk, ty: SqlType) -> Vec<Value> {
    (0..chunk.len()).map(|i| chunk.value(i, &ty)).collect()
}

fn check(chunk: &Chunk, ty: SqlType, wanted: &[i32]) {
    let wanted: Vec<Value> = wanted.iter().map(|&n| value(ty, n)).collect();
    assert_eq!(values(chunk, ty), wanted);
    if let Some(b) = chunk.bounds {
        for i in (0..chunk.len()).filter(|&i| chunk.is_valid(i)) {
            let v = chunk.values.int_at(i).expect("bounds are of integers");
            assert!(b.min <= v && v <= b.max, "{v} outside {b:?}");
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Append(Vec<i32>),
    AppendDict(Vec<i32>),
    AppendSome(Vec<i32>, Vec<prop::sample::Index>),
    Set(prop::sample::Index, i32),
    Share,
    Shrink,
    Compact,
    ToDict,
    Gather(Vec<prop::sample::Index>),
}

fn op() -> impl Strategy<Value = Op> {
    let n = -40i32..40;
    let ns = proptest::collection::vec(n.clone(), 1..30);
    let at = any::<prop::sample::Index>();
    prop_oneof![
        3 => ns.clone().prop_map(Op::Append),
        1 => ns.clone().prop_map(Op::AppendDict),
        2 => (ns, proptest::collection::vec(at.clone(), 0..10)).prop_map(|(ns, at)| Op::AppendSome(ns, at)),
        5 => (at.clone(), n).prop_map(|(at, n)| Op::Set(at, n)),
        2 => Just(Op::Share),
        1 => Just(Op::Shrink),
        1 => Just(Op::Compact),
        1 => Just(Op::ToDict),
        1 => proptest::collection::vec(at, 1..20).prop_map(Op::Gather),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 }))]

    #[test]
    fn a_chunk_is_a_vector(ty in 0..TYPES.len(), ops in proptest::collection::vec(op(), 1..30)) {
        let ty = TYPES[ty];
        let is_str = ty.phys() == PhysType::Str;
        let mut model: Vec<i32> = vec![];
        let mut chunk = Arc::new(Chunk::empty(ty.phys(), 0));
        let mut shared: Vec<(Arc<Chunk>, Vec<i32>)> = vec![];
        for op in ops {
            // Arc::make_mut as storage does: in place if nobody shares the chunk, else on a copy.
            match op {
                Op::Append(ns) => {
                    let c = Arc::make_mut(&mut chunk);
                    c.append(&build(ty, &ns), Rows::Range(0, ns.len()));
                    model.extend(&ns);
                }
                Op::AppendDict(ns) => {
                    let from = build(ty, &ns);
                    let from = if is_str { encode(&from) } else { from };
                    Arc::make_mut(&mut chunk).append(&from, Rows::Range(0, ns.len()));
                    model.extend(&ns);
                }
                Op::AppendSome(ns, at) => {
                    let at: Vec<u16> = at.iter().map(|i| i.index(ns.len()) as u16).collect();
                    Arc::make_mut(&mut chunk).append(&build(ty, &ns), Rows::At(&at));
                    model.extend(at.iter().map(|&i| ns[i as usize]));
                }
                Op::Set(at, n) if !model.is_empty() => {
                    let at = at.index(model.len());
                    Arc::make_mut(&mut chunk).set(at, &build(ty, &[7, n]), 1);
                    model[at] = n;
                }
                Op::Share => shared.push((chunk.clone(), model.clone())),
                Op::Shrink => Arc::make_mut(&mut chunk).shrink(),
                Op::Compact => {
                    if let Values::Str(s) = &mut Arc::make_mut(&mut chunk).values {
                        s.compact();
                        prop_assert_eq!(s.heap_bytes_live(), s.heap.blocks().iter().map(|b| b.len()).sum::<usize>());
                        prop_assert_eq!(s.heap_bytes_live(), s.heap.live_bytes());
                    }
                }
                Op::ToDict if is_str && !model.is_empty() => chunk = Arc::new(encode(&chunk)),
                Op::Gather(at) if !model.is_empty() => {
                    let at: Vec<u16> = at.iter().map(|i| i.index(model.len()) as u16).collect();
                    let wanted: Vec<i32> = at.iter().map(|&i| model[i as usize]).collect();
                    check(&chunk.gather(&at), ty, &wanted);
                    check(&chunk.gather_owned(&at), ty, &wanted);
                }
                _ => {}
            }
            check(&chunk, ty, &model);
        }
        // Nobody who shared the chunk ever sees it change.
        for (chunk, model) in shared {
            check(&chunk, ty, &model);
        }
    }

    #[test]
    fn a_bitmap_is_a_vector_of_bools(bits in proptest::collection::vec(any::<bool>(), 0..300), keep in 0usize..300) {
        let mut b = Bitmap::default();
        bits.iter().for_each(|&on| b.push(on));
        prop_assert_eq!(b.count_ones(), bits.iter().filter(|on| **on).count());
        let ones: Vec<usize> = bits.iter().enumerate().filter(|(_, on)| **on).map(|(i, _)| i).collect();
        prop_assert_eq!(b.iter_ones().collect::<Vec<_>>(), ones.clone());
        let selection = Selection::from_bitmap(&b);
        prop_assert_eq!(selection.to_positions(bits.len()), ones.iter().map(|&i| i as u16).collect::<Vec<_>>());
        b.resize(keep);
        prop_assert!((0..keep).all(|i| b.get(i) == bits.get(i).copied().unwrap_or(false)));
        prop_assert_eq!(b.len(), keep);
        let mut all = Bitmap::ones(keep);
        prop_assert!(all.all());
        all.and(&b);
        prop_assert_eq!(&all, &b);
        let mut none = Bitmap::zeros(keep);
        none.or(&b);
        prop_assert_eq!(&none, &b);
    }
}

#[test]
fn decimals_in_flight_are_widened() {
    let narrow = Chunk::new(Values::I64(vec![1, -2, 3]), None);
    for phys in [PhysType::I64, PhysType::I128, PhysType::I256] {
        let mut chunk = Chunk::empty(phys, 0);
        chunk.append(&narrow, Rows::Range(0, 3));
        chunk.set(0, &narrow, 1);
        let ty = SqlType::Decimal { precision: 60, scale: 0 };
        let int = |v: i128| Value::Decimal(Decimal { unscaled: I256::from(v), scale: 0 });
        assert_eq!(values(&chunk, ty), [int(-2), int(-2), int(3)]);
    }
}

#[test]
fn unsigned_values_past_i64_have_no_bounds() {
    let mut chunk = Chunk::empty(PhysType::U64, 0);
    chunk.append(&Chunk::new(Values::U64(vec![5]), None), Rows::Range(0, 1));
    assert!(chunk.bounds.is_some());
    chunk.append(&Chunk::new(Values::U64(vec![u64::MAX]), None), Rows::Range(0, 1));
    assert_eq!(chunk.bounds, None);
    chunk.append(&Chunk::new(Values::U64(vec![6]), None), Rows::Range(0, 1));
    assert_eq!(chunk.bounds, None);
}
