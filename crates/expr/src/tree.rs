//! The expression tree.

use crate::{ConstSet, Function};
use std::sync::Arc;
use types::{SqlType, Value};

/// Names a column. In a logical plan: unique in the statement. In a physical plan: the position in the input batch.
pub type ColumnId = u32;
/// A slot of [`crate::Params`]: statement parameters and values computed before or outside a pipeline (uncorrelated
/// scalar subqueries, outer columns of a dependent plan).
pub type ParamId = u32;
/// Names a subquery kept by the planner; never present in a physical plan.
pub type SubqueryId = u32;

/// A typed expression. `ty` is what the expression yields; `nullable` is false only if it can never yield NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: SqlType,
    pub nullable: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `<=>`
    NullSafeEq,
}

impl CmpOp {
    /// The operator in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            CmpOp::Eq => "=",
            CmpOp::Ne => "<>",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
            CmpOp::NullSafeEq => "<=>",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArithOp {
    Add,
    Sub,
    Mul,
    /// `/`: exact division, scale grows by div_precision_increment.
    Div,
    /// `DIV`
    IntDiv,
    Mod,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

impl ArithOp {
    /// The operator in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            ArithOp::Add => "+",
            ArithOp::Sub => "-",
            ArithOp::Mul => "*",
            ArithOp::Div => "/",
            ArithOp::IntDiv => "DIV",
            ArithOp::Mod => "%",
            ArithOp::BitAnd => "&",
            ArithOp::BitOr => "|",
            ArithOp::BitXor => "^",
            ArithOp::Shl => "<<",
            ArithOp::Shr => ">>",
        }
    }
}

/// Right side of `IS [NOT] TRUE | FALSE | UNKNOWN`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Truth {
    True,
    False,
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Column(ColumnId),
    Const(Value),
    Param(ParamId),
    /// Three-valued AND of at least two predicates.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Xor(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    /// Both sides have the same comparison class (the builder inserted casts): integers of any size and sign, decimals
    /// of one scale, doubles, strings of one collation, or one temporal type.
    Compare {
        op: CmpOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    IsTruth {
        expr: Box<Expr>,
        truth: Truth,
        negated: bool,
    },
    Arith {
        op: ArithOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Neg(Box<Expr>),
    BitNot(Box<Expr>),
    /// Conversion to `Expr::ty`. Explicit casts (CAST, CONVERT) warn as MySQL's CAST does; implicit ones as comparison
    /// and arithmetic do.
    Cast {
        expr: Box<Expr>,
        explicit: bool,
    },
    /// `expr [NOT] IN (list)`; all of one comparison type. Constant lists are evaluated through a hash set. Copies of
    /// an expression share the list, which may be long.
    InList {
        expr: Box<Expr>,
        list: Arc<[Expr]>,
        negated: bool,
    },
    /// The same of many constants.
    InSet {
        expr: Box<Expr>,
        set: Arc<ConstSet>,
        negated: bool,
    },
    /// `expr [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<char>,
        negated: bool,
    },
    /// `CASE WHEN when THEN then ... ELSE otherwise END`; branches are evaluated only for rows that reach them.
    /// IF and NULLIF are built as this.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Call {
        function: Function,
        args: Vec<Expr>,
    },
    /// `@name`; fixed if the statement does not assign it, so that it has one value while it runs.
    UserVar {
        name: Box<str>,
        is_fixed: bool,
    },
    /// `@name := expr`
    SetUserVar {
        name: Box<str>,
        expr: Box<Expr>,
    },
    /// A row constructor; the builder expands comparisons of rows, so none reaches the evaluator.
    Row(Vec<Expr>),
    /// Planner only. `Expr::ty` is the type of the subquery's value (Bool for IN/EXISTS/quantified forms).
    Subquery(SubqueryId),
}

impl Expr {
    pub fn new(kind: ExprKind, ty: SqlType, nullable: bool) -> Expr {
        Expr { kind, ty, nullable }
    }

    pub fn column(id: ColumnId, ty: SqlType, nullable: bool) -> Expr {
        Expr::new(ExprKind::Column(id), ty, nullable)
    }

    pub fn constant(value: Value, ty: SqlType) -> Expr {
        let nullable = value.is_null();
        Expr::new(ExprKind::Const(value), ty, nullable)
    }

    pub fn as_const(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Const(v) => Some(v),
            _ => None,
        }
    }

    /// Yields the same value for every row of one execution: no columns, no subqueries, nothing volatile.
    pub fn is_constant(&self) -> bool {
        let here = match &self.kind {
            ExprKind::Column(_) | ExprKind::Subquery(_) | ExprKind::SetUserVar { .. } => false,
            ExprKind::UserVar { is_fixed, .. } => *is_fixed,
            ExprKind::Call { function, .. } => !function.is_volatile(),
            _ => true,
        };
        here && self.children().into_iter().all(Expr::is_constant)
    }

    /// Reads what a subquery answers.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e.kind, ExprKind::Subquery(_)));
        found
    }

    /// Neither warns nor fails, whatever the rows hold: nobody can tell for which of them it is evaluated, or when.
    pub fn is_harmless(&self) -> bool {
        let mut harmless = true;
        self.walk(&mut |e| {
            harmless &= match &e.kind {
                ExprKind::Column(_)
                | ExprKind::Const(_)
                | ExprKind::Param(_)
                | ExprKind::UserVar { is_fixed: true, .. }
                | ExprKind::And(_)
                | ExprKind::Or(_)
                | ExprKind::Xor(..)
                | ExprKind::Not(_)
                | ExprKind::Compare { .. }
                | ExprKind::IsNull { .. }
                | ExprKind::IsTruth { .. }
                | ExprKind::InList { .. }
                | ExprKind::InSet { .. }
                | ExprKind::Like { .. }
                | ExprKind::Case { .. } => true,
                ExprKind::Cast { expr, explicit } => !explicit && converts_all(&expr.ty, &e.ty),
                // sums and averages in the digits they are shown with
                ExprKind::Call { function, args } if function.is_rounding() => {
                    matches!(args[0].kind, ExprKind::Column(_))
                }
                ExprKind::Call { function, .. } => function.is_harmless(),
                ExprKind::UserVar { .. }
                | ExprKind::SetUserVar { .. }
                | ExprKind::Arith { .. }
                | ExprKind::Neg(_)
                | ExprKind::BitNot(_)
                | ExprKind::Row(_)
                | ExprKind::Subquery(_) => false,
            };
        });
        harmless
    }

    /// Assigns user variables, or reads some that the statement assigns: it depends on which rows were computed before.
    pub fn follows_variables(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= matches!(e.kind, ExprKind::SetUserVar { .. } | ExprKind::UserVar { is_fixed: false, .. });
        });
        found
    }

    /// Yields the same value for the same inputs in every statement and session.
    pub fn is_deterministic(&self) -> bool {
        let here = match &self.kind {
            ExprKind::Subquery(_) | ExprKind::SetUserVar { .. } | ExprKind::UserVar { .. } | ExprKind::Param(_) => {
                false
            }
            ExprKind::Call { function, .. } => !function.is_volatile() && !function.is_session(),
            _ => true,
        };
        here && self.children().into_iter().all(Expr::is_deterministic)
    }

    /// The direct children, left to right.
    pub fn children(&self) -> Vec<&Expr> {
        use ExprKind::*;
        match &self.kind {
            Column(_) | Const(_) | Param(_) | UserVar { .. } | Subquery(_) => vec![],
            And(v) | Or(v) | Row(v) | Call { args: v, .. } => v.iter().collect(),
            Xor(a, b) | Compare { left: a, right: b, .. } | Arith { left: a, right: b, .. } => vec![a, b],
            Not(e) | Neg(e) | BitNot(e) | IsNull { expr: e, .. } | IsTruth { expr: e, .. } | Cast { expr: e, .. } => {
                vec![e]
            }
            InSet { expr, .. } => vec![expr],
            SetUserVar { expr, .. } => vec![expr],
            InList { expr, list, .. } => std::iter::once(&**expr).chain(list.iter()).collect(),
            Like { expr, pattern, .. } => vec![expr, pattern],
            Case { branches, otherwise } => {
                branches.iter().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref()).collect()
            }
        }
    }

    /// The direct children, mutable, left to right; without the values of a list of constants.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        use ExprKind::*;
        match &mut self.kind {
            Column(_) | Const(_) | Param(_) | UserVar { .. } | Subquery(_) => vec![],
            And(v) | Or(v) | Row(v) | Call { args: v, .. } => v.iter_mut().collect(),
            Xor(a, b) | Compare { left: a, right: b, .. } | Arith { left: a, right: b, .. } => vec![a, b],
            Not(e) | Neg(e) | BitNot(e) | IsNull { expr: e, .. } | IsTruth { expr: e, .. } | Cast { expr: e, .. } => {
                vec![e]
            }
            InSet { expr, .. } => vec![expr],
            SetUserVar { expr, .. } => vec![expr],
            // Constants stay what they are, and shared.
            InList { expr, list, .. } => match list.iter().all(|e| e.as_const().is_some()) {
                true => vec![expr],
                false => std::iter::once(&mut **expr).chain(Arc::make_mut(list)).collect(),
            },
            Like { expr, pattern, .. } => vec![expr, pattern],
            Case { branches, otherwise } => {
                branches.iter_mut().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref_mut()).collect()
            }
        }
    }

    /// Calls `f` on this node and every node below it, parents first.
    pub fn walk<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        f(self);
        for c in self.children() {
            c.walk(f);
        }
    }

    /// Calls `f` on every node, children first; `f` may replace the node.
    pub fn rewrite(&mut self, f: &mut impl FnMut(&mut Expr)) {
        for c in self.children_mut() {
            c.rewrite(f);
        }
        f(self);
    }
}

/// Whether every value of `from` is one of `to` or near to one.
fn converts_all(from: &SqlType, to: &SqlType) -> bool {
    match to {
        SqlType::Float | SqlType::Double | SqlType::Decimal { .. } => from.is_numeric(),
        SqlType::String { .. } => true,
        SqlType::DateTime { .. } => matches!(from, SqlType::Date | SqlType::DateTime { .. }),
        _ => from == to,
    }
}
