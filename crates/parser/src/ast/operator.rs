//! Operators, and the left-deep chains that they make.

use super::{Expr, ExprKind};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `+x`: the value itself
    Plus,
    /// `~x`
    BitNot,
    /// `NOT x` and `!x`
    Not,
    /// `BINARY x`
    Binary,
}

/// Binary operators other than AND and OR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Xor,
    Eq,
    /// `<=>`
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%` and MOD
    Mod,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    /// `column -> path`
    JsonExtract,
    /// `column ->> path`
    JsonUnquote,
    /// `x MEMBER OF (y)`
    MemberOf,
    /// `x SOUNDS LIKE y`
    SoundsLike,
}

impl BinaryOp {
    /// `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`
    pub const fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge)
    }

    /// The operator in SQL.
    pub const fn symbol(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Xor => "xor",
            Eq => "=",
            NullSafeEq => "<=>",
            Ne => "<>",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
            BitOr => "|",
            BitAnd => "&",
            BitXor => "^",
            ShiftLeft => "<<",
            ShiftRight => ">>",
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            IntDiv => "DIV",
            Mod => "%",
            Concat => "||",
            JsonExtract => "->",
            JsonUnquote => "->>",
            MemberOf => "member of",
            SoundsLike => "sounds like",
        }
    }
}

/// `left op right`. Left-associative chains are deep on the left; use [`BinaryExpr::spine`] to walk them.
pub struct BinaryExpr {
    pub op: BinaryOp,
    pub left: Expr,
    pub right: Expr,
}

impl BinaryExpr {
    pub fn new(op: BinaryOp, left: Expr, right: Expr) -> Box<BinaryExpr> {
        Box::new(BinaryExpr { op, left, right })
    }

    /// Takes the node apart (its `Drop` forbids moving fields out).
    pub fn into_parts(mut self) -> (BinaryOp, Expr, Expr) {
        (self.op, self.left.take(), self.right.take())
    }

    /// The left-deep chain as (leftmost operand, nodes from the innermost to this one): evaluate the operand, then
    /// apply each node's `op` and `right` in turn. Never recurses.
    pub fn spine(&self) -> (&Expr, Vec<&BinaryExpr>) {
        let mut nodes = vec![self];
        let mut left = &self.left;
        while let ExprKind::Binary(b) = &left.kind {
            nodes.push(b);
            left = &b.left;
        }
        nodes.reverse();
        (left, nodes)
    }
}

impl Drop for BinaryExpr {
    fn drop(&mut self) {
        if !matches!(self.left.kind, ExprKind::Binary(_)) {
            return;
        }
        let mut left = self.left.take();
        while let ExprKind::Binary(b) = &mut left.kind {
            left = b.left.take();
        }
    }
}

impl Clone for BinaryExpr {
    fn clone(&self) -> BinaryExpr {
        let (first, nodes) = self.spine();
        let mut left = first.clone();
        for (i, node) in nodes.iter().enumerate() {
            let joined = BinaryExpr { op: node.op, left, right: node.right.clone() };
            match nodes.get(i + 1) {
                Some(outer) => left = Expr::new(ExprKind::Binary(Box::new(joined)), outer.left.span),
                None => return joined,
            }
        }
        unreachable!("the spine holds at least its own node")
    }
}

impl PartialEq for BinaryExpr {
    fn eq(&self, other: &BinaryExpr) -> bool {
        let ((a, a_nodes), (b, b_nodes)) = (self.spine(), other.spine());
        a_nodes.len() == b_nodes.len()
            && a == b
            && a_nodes.iter().zip(&b_nodes).all(|(x, y)| x.op == y.op && x.right == y.right)
    }
}

impl fmt::Debug for BinaryExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, nodes) = self.spine();
        for _ in &nodes {
            f.write_str("(")?;
        }
        write!(f, "{first:?}")?;
        for node in &nodes {
            write!(f, " {} {:?})", node.op.symbol(), node.right)?;
        }
        Ok(())
    }
}
