//! GROUP_CONCAT: each group's strings, ordered if asked for, joined by the separator, cut at group_concat_max_len.
//!
//! What would be cut off anyway is not kept: without ORDER BY the text ends when it is long enough; with it, strings
//! that come after enough others are dropped now and then. So a group holds a few times group_concat_max_len at most.

use super::accumulator::Rows;
use crate::sort_keys::SortKeyWriter;
use expr::{AggCall, EvalContext};
use types::{Error, ErrorCode, PhysType, Result, Warning, WarningLevel};
use vector::{Chunk, ChunkBuilder, Vector};

struct Item {
    /// Normalized ORDER BY key.
    order: Box<[u8]>,
    text: Box<[u8]>,
}

/// What an item takes beside its bytes.
const ITEM_BYTES: usize = 48;
const GROUP_BYTES: usize = size_of::<Group>();

/// Texts longer than this grow by an eighth, others by doubling.
const LONG_BYTES: usize = 1 << 20;

/// One group's strings: joined already (no ORDER BY), or as items.
#[derive(Default)]
struct Group {
    /// A string has come, be it empty.
    any: bool,
    joined: Vec<u8>,
    items: Vec<Item>,
    /// Bytes of the items' texts and separators, and how many of them call for a look at what can be dropped.
    text_bytes: usize,
    prune_at: usize,
}

pub struct Concat {
    groups: Vec<Group>,
    arg_count: usize,
    keys: SortKeyWriter,
    ordered: bool,
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
            ordered: !call.order_by.is_empty(),
            separator: call.separator.clone(),
            max_len: ctx.session.group_concat_max_len.min(ctx.session.max_allowed_packet) as usize,
            is_text,
            bytes: 0,
        }
    }

    pub fn resize(&mut self, groups: usize) {
        self.groups.resize_with(groups, Group::default);
    }

    pub fn bytes(&self) -> usize {
        self.bytes + self.groups.capacity() * GROUP_BYTES
    }

    /// `args`: the strings to join, then the ORDER BY values.
    pub fn update(&mut self, rows: Rows<'_>, args: &[Vector], _: &EvalContext<'_>) -> Result<()> {
        let (texts, order) = args.split_at(self.arg_count);
        let mut text = Vec::new();
        let mut j = 0;
        rows.selection.for_each(rows.rows, |i| {
            let g = rows.groups[j] as usize;
            j += 1;
            if !texts.iter().all(|t| t.is_valid(i)) {
                return;
            }
            text.clear();
            texts.iter().for_each(|t| text.extend_from_slice(t.bytes(i)));
            if self.ordered {
                let mut key = Vec::new();
                self.keys.write(order, i, &mut key);
                self.add_item(g, Item { order: key.into(), text: text.as_slice().into() });
            } else {
                self.join(g, &text);
            }
        });
        Ok(())
    }

    /// About how many bytes the group's result has.
    pub fn result_bytes(&self, g: usize) -> usize {
        let group = &self.groups[g];
        (group.joined.len() + group.text_bytes).min(self.max_len)
    }

    fn join(&mut self, g: usize, text: &[u8]) {
        let group = &mut self.groups[g];
        if group.joined.len() > self.max_len {
            return;
        }
        let before = group.joined.capacity();
        let room = before - group.joined.len();
        if before > LONG_BYTES && room < text.len() + self.separator.len() {
            group.joined.reserve_exact(text.len() + self.separator.len() + before / 8);
        }
        if std::mem::replace(&mut group.any, true) {
            group.joined.extend_from_slice(self.separator.as_bytes());
        }
        group.joined.extend_from_slice(text);
        self.bytes += group.joined.capacity() - before;
    }

    fn add_item(&mut self, g: usize, item: Item) {
        let group = &mut self.groups[g];
        group.any = true;
        // An item without text or separator counts too, or there would be no end of them.
        group.text_bytes += (item.text.len() + self.separator.len()).max(1);
        self.bytes += ITEM_BYTES + item.text.len() + item.order.len();
        group.items.push(item);
        if group.text_bytes > group.prune_at.max(2 * self.max_len) {
            self.prune(g);
        }
    }

    /// Drops the items that come after a whole group_concat_max_len of others.
    fn prune(&mut self, g: usize) {
        let (max_len, separator) = (self.max_len, self.separator.len());
        let group = &mut self.groups[g];
        group.items.sort_by(|a, b| a.order.cmp(&b.order));
        let (mut len, mut counted, mut kept) = (0, 0, 0);
        for (k, item) in group.items.iter().enumerate() {
            len += item.text.len() + if k > 0 { separator } else { 0 };
            counted += (item.text.len() + separator).max(1);
            kept = k + 1;
            if len > max_len {
                break;
            }
        }
        let dropped = group.items.split_off(kept);
        group.items.shrink_to(2 * kept);
        group.text_bytes = counted;
        group.prune_at = 2 * counted;
        self.bytes -= dropped.iter().map(|i| ITEM_BYTES + i.text.len() + i.order.len()).sum::<usize>();
    }

    pub fn merge(&mut self, other: &Concat, src: &[u32], dst: &[u32]) {
        for (&s, &d) in src.iter().zip(dst) {
            let from = &other.groups[s as usize];
            if !self.ordered && from.any {
                self.join(d as usize, &from.joined);
            }
            for item in &from.items {
                self.add_item(d as usize, Item { order: item.order.clone(), text: item.text.clone() });
            }
        }
    }

    /// The group's text, or a little more than group_concat_max_len of it.
    fn text(&self, group: &mut Group) -> Vec<u8> {
        let mut out = std::mem::take(&mut group.joined);
        group.items.sort_by(|a, b| a.order.cmp(&b.order));
        for (k, item) in group.items.iter().enumerate() {
            if k > 0 {
                out.extend_from_slice(self.separator.as_bytes());
            }
            out.extend_from_slice(&item.text);
            if out.len() > self.max_len {
                break;
            }
        }
        group.items = Vec::new();
        out
    }

    /// The texts of groups `from..to`, once.
    pub fn finish(&mut self, from: usize, to: usize, ctx: &EvalContext<'_>) -> Chunk {
        let mut b = ChunkBuilder::new(PhysType::Str, to - from);
        for g in from..to {
            let mut group = std::mem::take(&mut self.groups[g]);
            if !group.any {
                b.push_null();
                continue;
            }
            let mut out = self.text(&mut group);
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
                let e = Error::cut_value_group_concat(g + 1, "GROUP_CONCAT()");
                ctx.warnings.push(Warning {
                    level: WarningLevel::Warning,
                    code: ErrorCode::CUT_VALUE_GROUP_CONCAT,
                    message: e.message().into(),
                });
            }
            b.push_vec(out);
        }
        b.finish()
    }
}
