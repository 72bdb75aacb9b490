//! GROUP_CONCAT: each group's strings, ordered if asked for, joined by the separator, cut at group_concat_max_len.

use super::accumulator::Rows;
use crate::sort_keys::SortKeyWriter;
use expr::{AggCall, EvalContext};
use types::{Error, ErrorCode, PhysType, Result, Warning, WarningLevel};
use vector::{Chunk, ChunkBuilder, Vector};

struct Item {
    /// Normalized ORDER BY key; empty without ORDER BY.
    order: Box<[u8]>,
    text: Box<[u8]>,
}

pub struct Concat {
    groups: Vec<Vec<Item>>,
    arg_count: usize,
    keys: SortKeyWriter,
    separator: Box<str>,
    max_len: usize,
    is_text: bool,
    bytes: usize,
}

impl Concat {
    pub fn new(call: &AggCall, ctx: &EvalContext<'_>) -> Concat {
        let is_text = !matches!(call.ty.collation(), Some(types::Collation::Binary));
        Concat {
            groups: Vec::new(),
            arg_count: call.args.len(),
            keys: SortKeyWriter::new(call.order_by.iter().map(|(e, d)| (e.ty, *d)).collect()),
            separator: call.separator.clone(),
            max_len: ctx.session.group_concat_max_len as usize,
            is_text,
            bytes: 0,
        }
    }

    pub fn resize(&mut self, groups: usize) {
        self.groups.resize_with(groups, Vec::new);
    }

    pub fn bytes(&self) -> usize {
        self.bytes + self.groups.capacity() * 24
    }

    /// `args`: the strings to join, then the ORDER BY values.
    pub fn update(&mut self, rows: Rows<'_>, args: &[Vector], _: &EvalContext<'_>) -> Result<()> {
        let (texts, order) = args.split_at(self.arg_count);
        let mut j = 0;
        rows.selection.for_each(rows.rows, |i| {
            let g = rows.groups[j] as usize;
            j += 1;
            if !texts.iter().all(|t| t.is_valid(i)) {
                return;
            }
            let mut text = Vec::new();
            texts.iter().for_each(|t| text.extend_from_slice(t.bytes(i)));
            let mut key = Vec::new();
            self.keys.write(order, i, &mut key);
            self.bytes += 48 + text.len() + key.len();
            self.groups[g].push(Item { order: key.into(), text: text.into() });
        });
        Ok(())
    }

    pub fn merge(&mut self, other: &Concat, src: &[u32], dst: &[u32]) {
        for (&s, &d) in src.iter().zip(dst) {
            for item in &other.groups[s as usize] {
                self.bytes += 48 + item.text.len() + item.order.len();
                self.groups[d as usize].push(Item { order: item.order.clone(), text: item.text.clone() });
            }
        }
    }

    pub fn finish(&mut self, from: usize, to: usize, ctx: &EvalContext<'_>) -> Chunk {
        let mut b = ChunkBuilder::new(PhysType::Str, to - from);
        for (row, items) in self.groups[from..to].iter_mut().enumerate() {
            if items.is_empty() {
                b.push_null();
                continue;
            }
            items.sort_by(|a, b| a.order.cmp(&b.order));
            let mut out: Vec<u8> = Vec::new();
            for (k, item) in items.iter().enumerate() {
                if k > 0 {
                    out.extend_from_slice(self.separator.as_bytes());
                }
                out.extend_from_slice(&item.text);
                if out.len() > self.max_len {
                    break;
                }
            }
            if out.len() > self.max_len {
                out.truncate(self.max_len);
                if self.is_text {
                    // Not within a character.
                    let whole = match std::str::from_utf8(&out) {
                        Ok(s) => s.len(),
                        Err(e) => e.valid_up_to(),
                    };
                    out.truncate(whole);
                }
                let e = Error::cut_value_group_concat(from + row + 1, "GROUP_CONCAT()");
                ctx.warnings.push(Warning {
                    level: WarningLevel::Warning,
                    code: ErrorCode::CUT_VALUE_GROUP_CONCAT,
                    message: e.message().into(),
                });
            }
            b.push_bytes(&out);
        }
        b.finish()
    }
}
