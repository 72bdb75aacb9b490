//! Where index keys meet collations and the text forms of temporal values.

use types::{Collation, SqlType, Value};

fn fold(collation: Collation, bytes: &[u8]) -> Vec<u8> {
    let pad = !matches!(collation, Collation::Utf8mb4_0900AiCi | Collation::Utf8mb4_0900Bin | Collation::Binary);
    let ci =
        matches!(collation, Collation::Utf8mb4_0900AiCi | Collation::Utf8mb4GeneralCi | Collation::Latin1SwedishCi);
    let mut v = bytes.to_vec();
    if pad {
        while v.last() == Some(&b' ') {
            v.pop();
        }
    }
    if ci {
        v = String::from_utf8_lossy(&v).to_lowercase().into_bytes();
    }
    v
}

pub fn hash(collation: Collation, bytes: &[u8]) -> u64 {
    super::key::hash_bytes(&fold(collation, bytes))
}

pub fn equal(collation: Collation, a: &[u8], b: &[u8]) -> bool {
    a == b || fold(collation, a) == fold(collation, b)
}

pub fn write_temporal(value: &Value, _ty: &SqlType, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{value:?}").as_bytes());
}
