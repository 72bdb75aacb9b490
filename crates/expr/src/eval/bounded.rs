//! Expressions that make long strings, evaluated some rows at a time.
//!
//! A batch has up to 1024 rows, and `REPEAT(s, 1000000)` of each is a gigabyte. So where a tree may make long strings
//! it is first tried on all rows with a bound on the bytes that one node makes; where they are exceeded the rows are
//! parted, until a part keeps within it or is one row. What one row makes is bounded by max_allowed_packet.
//!
//! A try that fails leaves nothing behind: its warnings are dropped. Trees whose evaluation shows (variables that are
//! assigned, volatile functions) are evaluated once, without a bound.

use super::assemble::assemble;
use super::node::{Cx, Node, Op};
use crate::EvalContext;
use std::sync::atomic::{AtomicBool, Ordering};
use types::{Error, ErrorCode, Result, SqlType};
use vector::{Selection, Vector};

/// Bytes that a node may make of several rows.
const BYTES_MAX: usize = 16 << 20;

/// Strings that may have more characters than this are long.
const SHORT_CHARS_MAX: u32 = 4096;

/// Into how many parts rows are cut that make too much.
const PARTS: usize = 16;

/// What several rows may make at a time.
#[derive(Debug, Default)]
pub struct Bound {
    exceeded: AtomicBool,
}

impl Bound {
    /// Notes what a node has made of `rows` rows so far; fails where that is too much.
    pub(crate) fn check(&self, bytes: usize, rows: usize) -> Result<()> {
        if rows <= 1 || bytes <= memory::part_bytes(BYTES_MAX) {
            return Ok(());
        }
        self.exceeded.store(true, Ordering::Relaxed);
        Err(Error::internal("more bytes than a part of a batch may make"))
    }
}

/// Whether the tree is to be evaluated under a bound.
pub(super) fn is_bounded(root: &Node) -> bool {
    makes_long_strings(root, false) && !shows(root)
}

/// Whether the tree may make long strings: of rows, or also once for all rows.
pub(super) fn makes_long_strings(node: &Node, also_once: bool) -> bool {
    let long = match node.ty {
        SqlType::String { len, .. } => len > SHORT_CHARS_MAX,
        _ => false,
    };
    let makes = matches!(node.op, Op::Call { .. } | Op::Cast { .. }) && (also_once || !node.is_fixed());
    long && makes || node.args.iter().any(|a| makes_long_strings(a, also_once))
}

fn shows(node: &Node) -> bool {
    let here = match &node.op {
        Op::SetUserVar { .. } => true,
        Op::Call { function, .. } => function.is_volatile(),
        _ => false,
    };
    here || node.args.iter().any(shows)
}

/// What `f` answers of `count` rows under a bound; `None` if that was exceeded, or if several rows need more together
/// than the statement or the process may hold.
pub(super) fn attempt<R>(
    ctx: &EvalContext,
    count: usize,
    f: impl FnOnce(&EvalContext) -> Result<R>,
) -> Result<Option<R>> {
    let bound = Bound::default();
    let warnings = ctx.warnings.empty_like();
    let answer = f(&EvalContext { warnings: &warnings, bound: Some(&bound), ..*ctx });
    let is_too_much = |e: &Error| count > 1 && e.code() == ErrorCode::CAPACITY_EXCEEDED;
    if bound.exceeded.load(Ordering::Relaxed) || answer.as_ref().is_err_and(is_too_much) {
        return Ok(None);
    }
    ctx.warnings.absorb(warnings);
    answer.map(Some)
}

/// The selected positions in parts.
pub fn parts(selection: &Selection, rows: usize) -> Vec<Selection> {
    let positions = selection.to_positions(rows);
    let size = positions.len().div_ceil(PARTS).max(1);
    positions.chunks(size).map(|part| Selection::Some(part.to_vec())).collect()
}

/// The values at the selected positions, part by part.
pub(super) fn eval_parts(root: &Node, cx: &Cx, sel: &Selection) -> Result<Vector> {
    let mut done = Vec::new();
    for part in parts(sel, cx.rows) {
        let v = match attempt(cx.ctx, part.count(cx.rows), |ctx| root.eval(&Cx { ctx, ..*cx }, &part))? {
            Some(v) => v,
            None => eval_parts(root, cx, &part)?,
        };
        done.push((part, v));
    }
    assemble(&root.ty, cx.rows, sel, done)
}

/// The selected positions at which the predicate is TRUE, part by part.
pub(super) fn filter_parts(root: &Node, cx: &Cx, sel: &Selection) -> Result<Selection> {
    let mut kept = Vec::new();
    for part in parts(sel, cx.rows) {
        let true_of = match attempt(cx.ctx, part.count(cx.rows), |ctx| root.filter(&Cx { ctx, ..*cx }, part.clone()))? {
            Some(s) => s,
            None => filter_parts(root, cx, &part)?,
        };
        kept.extend(true_of.to_positions(cx.rows).iter());
    }
    Ok(Selection::Some(kept))
}
