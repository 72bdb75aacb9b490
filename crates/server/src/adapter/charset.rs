//! Clients that speak another character set than UTF-8.
//!
//! Inside, text is UTF-8. What a client sends is in `character_set_client`, what it gets in `character_set_results`;
//! both may be latin1. Statements are converted as a whole, so bytes in a string literal are characters too, also where
//! it is stored as binary.

use std::borrow::Cow;

use types::{Collation, SqlType, cp1252};
use vector::{Batch, Chunk, ChunkBuilder, Vector};

use super::text_rows::Format;
use crate::net::DEFAULT_COLLATION_ID;

/// Id of latin1's default collation.
pub(super) const LATIN1_COLLATION_ID: u16 = 8;

/// The character sets of a session's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Charsets {
    pub(super) client_is_latin1: bool,
    pub(super) results_are_latin1: bool,
}

impl Charsets {
    /// The collation that results are announced with.
    pub(super) fn results_collation_id(&self) -> u16 {
        if self.results_are_latin1 { LATIN1_COLLATION_ID } else { DEFAULT_COLLATION_ID }
    }

    /// Text from the client as UTF-8.
    pub(super) fn decode<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.client_is_latin1 || text.is_ascii() {
            return text.into();
        }
        cp1252::decode(text).into_owned().into_bytes().into()
    }
}

/// The batch with its character strings in latin1.
pub(super) fn encode(batch: &Batch, formats: &[Format]) -> Batch {
    let is_text = |ty: &SqlType| matches!(ty, SqlType::String { collation, .. } if *collation != Collation::Binary);
    let columns = batch
        .columns
        .iter()
        .zip(formats)
        .map(|(vector, format)| match vector {
            _ if !is_text(&format.sql_type) => vector.clone(),
            Vector::Flat(chunk) => Vector::flat(encode_chunk(chunk, &format.sql_type)),
            Vector::Const(chunk) => Vector::Const(encode_chunk(chunk, &format.sql_type).into()),
        })
        .collect();
    Batch { columns, ..batch.clone() }
}

fn encode_chunk(chunk: &Chunk, ty: &SqlType) -> Chunk {
    let mut out = ChunkBuilder::new(ty.phys(), chunk.len());
    for i in 0..chunk.len() {
        if chunk.is_valid(i) {
            out.push_bytes(&cp1252::encode(chunk.values.str_bytes(i)));
        } else {
            out.push_null();
        }
    }
    out.finish()
}
