use super::{leaf, row};
use disk::codec::Get;
use proptest::prelude::*;
use std::sync::Arc;
use types::{Decimal, I256, PhysType, SqlType, Value};
use vector::{Bitmap, Chunk, ChunkBuilder, DictValues, StrValues, StringDict, Values};

const TYPES: [SqlType; 5] = [
    SqlType::INT,
    SqlType::BIGINT_UNSIGNED,
    SqlType::Double,
    SqlType::Decimal { precision: 60, scale: 2 },
    SqlType::varchar(100, types::Collation::Binary),
];

fn phys() -> Vec<PhysType> {
    TYPES.iter().map(|t| t.phys()).collect()
}

fn rows() -> impl Strategy<Value = Vec<(Vec<Value>, bool)>> {
    let or_null = |v: BoxedStrategy<Value>| prop_oneof![1 => Just(Value::Null), 4 => v];
    let row = (
        or_null(any::<i32>().prop_map(|v| Value::Int(v as i64)).boxed()),
        or_null(any::<u64>().prop_map(Value::UInt).boxed()),
        or_null((-1e9..1e9).prop_map(Value::Double).boxed()),
        or_null(
            (any::<u128>(), any::<i64>())
                .prop_map(|(lo, hi)| Value::Decimal(Decimal { unscaled: I256 { lo, hi: hi as i128 }, scale: 2 }))
                .boxed(),
        ),
        or_null(prop::collection::vec(any::<u8>(), 0..40).prop_map(|b| Value::Bytes(b.into())).boxed()),
    );
    let row = row.prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e]);
    prop::collection::vec((row, any::<bool>()), 0..70)
}

fn chunks(rows: &[(Vec<Value>, bool)]) -> Vec<Chunk> {
    (0..TYPES.len())
        .map(|c| {
            let mut b = ChunkBuilder::new(phys()[c], rows.len());
            rows.iter().for_each(|r| b.push(&r.0[c]));
            b.finish()
        })
        .collect()
}

fn value(chunk: &Chunk, c: usize, i: usize) -> Value {
    chunk.value(i, &TYPES[c])
}

proptest! {
    #[test]
    fn leaves_come_back(rows in rows()) {
        let columns = chunks(&rows);
        let mut live = Bitmap::zeros(rows.len());
        rows.iter().enumerate().for_each(|(i, r)| live.set(i, r.1));
        let mut packed = Vec::new();
        leaf::put(rows.len(), &live, columns.iter(), &mut packed);
        let none = |_: usize, _: usize, _: &[u8]| None;
        let image = leaf::get(&packed, &phys(), &none).expect("it was just made");
        prop_assert_eq!((image.rows, &image.live), (rows.len(), &live));
        for (c, chunk) in image.columns.iter().enumerate() {
            for (i, row) in rows.iter().enumerate() {
                // Strings of rows that are gone do not come back.
                let gone = !row.1 && matches!(row.0[c], Value::Bytes(_));
                let wanted = if gone { Value::str("") } else { row.0[c].clone() };
                prop_assert_eq!(value(chunk, c, i), wanted);
            }
        }
        for cut in 0..packed.len().min(200) {
            leaf::get(&packed[..cut], &phys(), &none);
        }
    }

    #[test]
    fn rows_come_back(rows in rows(), picked in prop::collection::btree_set(0usize..5, 1..5)) {
        let columns = chunks(&rows);
        let mut out: Vec<Arc<Chunk>> = phys().iter().map(|p| Arc::new(Chunk::empty(*p, 0))).collect();
        for (i, row) in rows.iter().enumerate() {
            out.iter_mut().for_each(|c| row::grow(c, i + 1));
            let mut bytes = Vec::new();
            row::put(&phys(), picked.iter().copied(), |c| (&columns[c], i), &mut bytes);
            let picked: Vec<usize> = picked.iter().copied().collect();
            let mut get = Get(&bytes);
            row::set(&mut get, &phys(), picked.iter().copied(), &mut out, i).expect("it was just made");
            prop_assert!(get.is_empty());
            for &c in &picked {
                prop_assert_eq!(value(&out[c], c, i), row.0[c].clone());
            }
            row::set(&mut Get(&bytes[..bytes.len() / 2]), &phys(), picked.into_iter(), &mut out, i);
        }
    }

    #[test]
    fn garbage_is_no_image(bytes: Vec<u8>) {
        leaf::get(&bytes, &phys(), &|_, n, b| leaf::read_dict(n, b));
    }
}

#[test]
fn codes_keep_their_dictionary() {
    let mut strings = StrValues::default();
    ["a", "some longer string", ""].iter().for_each(|s| strings.push(s.as_bytes()));
    let dict = Arc::new(StringDict { strings });
    let chunk = Chunk::new(Values::Dict(DictValues { codes: vec![1, 0, 2, 1], dict: dict.clone() }), None);
    let mut packed = Vec::new();
    leaf::put(4, &Bitmap::ones(4), [&chunk].into_iter(), &mut packed);
    let image = leaf::get(&packed, &[PhysType::Str], &|_, n, b| leaf::read_dict(n, b)).unwrap();
    let Values::Dict(d) = &image.columns[0].values else { panic!("codes became strings") };
    assert_eq!((&d.codes[..], d.bytes(0)), (&[1u8, 0, 2, 1][..], &b"some longer string"[..]));
}
