//! Expressions: one arm per construct of the grammar, each built through `expr::build`.

use super::MAX_CHAIN;
use super::api::Bind;
use expr::{ArithOp, CmpOp, Expr, ExprKind, Truth, build};
use parser::ast;
use types::{Error, Result, SqlType};

impl<'a> Bind<'a, '_, '_> {
    /// An expression that is no row: 1241 otherwise.
    pub fn expr(&mut self, e: &'a ast::Expr) -> Result<Expr> {
        let bound = self.operand(e)?;
        match bound.kind {
            ExprKind::Row(_) => Err(Error::operand_columns(1)),
            _ => Ok(bound),
        }
    }

    pub(super) fn exprs(&mut self, v: &'a [ast::Expr]) -> Result<Vec<Expr>> {
        v.iter().map(|e| self.expr(e)).collect()
    }

    /// An expression that may be a row.
    pub fn operand(&mut self, e: &'a ast::Expr) -> Result<Expr> {
        use ast::ExprKind as K;
        self.shared.pace.step()?;
        match &e.kind {
            K::Literal(l) => self.literal(l),
            K::Column(c) => self.column(c),
            K::Param(n) => self.param(*n),
            K::UserVar(name) => Ok(self.user_variable(name)),
            K::Assign(a) => self.assign(&a.0, &a.1),
            K::SysVar(v) => self.system_variable(v),
            K::Default => Err(Error::not_supported("DEFAULT here")),
            K::DefaultOf(c) => self.default_of(c),
            K::ValuesOf(c) => self.values_of(c),
            K::Unary(op, x) => self.unary(*op, x),
            K::Binary(b) => self.chain(b),
            K::And(terms) => {
                let terms = self.terms(terms, CmpOp::Ne)?;
                build::and(terms)
            }
            K::Or(terms) => {
                let terms = self.terms(terms, CmpOp::Eq)?;
                self.any_of(terms)
            }
            K::Is(is) => {
                let x = self.expr(&is.expr)?;
                match is.test {
                    ast::IsTest::Null => build::is_null(x, is.negated),
                    ast::IsTest::True => build::is_truth(x, Truth::True, is.negated),
                    ast::IsTest::False => build::is_truth(x, Truth::False, is.negated),
                    ast::IsTest::Unknown => build::is_truth(x, Truth::Unknown, is.negated),
                }
            }
            K::InList(i) => {
                let x = self.operand(&i.expr)?;
                if let Some(found) = self.in_const_set(&x, &i.list, i.negated)? {
                    return Ok(found);
                }
                if let Some(found) = self.in_const_rows(&x, &i.list, i.negated)? {
                    return Ok(found);
                }
                let list = i.list.iter().map(|v| self.operand(v)).collect::<Result<Vec<_>>>()?;
                let list = list.into_iter().map(|v| self.dated(v, &x)).collect();
                self.in_list(x, list, i.negated)
            }
            K::InSubquery(i) => {
                let x = self.operand(&i.expr)?;
                let found = self.quantified(x, CmpOp::Eq, false, &i.query)?;
                if i.negated { build::not(found) } else { Ok(found) }
            }
            K::Between(b) => {
                let (x, low, high) = (self.expr(&b.expr)?, self.expr(&b.low)?, self.expr(&b.high)?);
                let (low, high) = (self.dated(low, &x), self.dated(high, &x));
                build::between(x, low, high, b.negated)
            }
            K::Like(l) => {
                let (x, pattern) = (self.expr(&l.expr)?, self.expr(&l.pattern)?);
                let escape = self.escape(l.escape.as_ref())?;
                build::like(x, pattern, escape, l.negated, self.shared.session.collation_connection)
            }
            K::Regexp(r) => {
                let (x, pattern) = (self.expr(&r.expr)?, self.expr(&r.pattern)?);
                build::regexp(x, pattern, r.negated, self.shared.session.collation_connection)
            }
            K::Quantified(q) => {
                let left = self.operand(&q.left)?;
                let op = comparison(q.op).ok_or_else(|| Error::internal("a quantified operator compares"))?;
                self.quantified(left, op, q.all, &q.query)
            }
            K::Row(items) => {
                let items = items.iter().map(|i| self.operand(i)).collect::<Result<Vec<_>>>()?;
                let nullable = items.iter().any(|i| i.nullable);
                Ok(Expr::new(ExprKind::Row(items), SqlType::Null, nullable))
            }
            K::Subquery(q) => self.scalar_subquery(q),
            K::Exists(q) => self.exists(q),
            K::Case(c) => {
                let operand = c.operand.as_ref().map(|o| self.expr(o)).transpose()?;
                let mut whens = vec![];
                for (when, then) in &c.whens {
                    let when = self.expr(when)?;
                    let when = if let Some(o) = &operand { self.dated(when, o) } else { when };
                    whens.push((when, self.expr(then)?));
                }
                let otherwise = c.else_expr.as_ref().map(|o| self.expr(o)).transpose()?;
                build::case(operand, whens, otherwise, self.shared.session.collation_connection)
            }
            _ => self.call(e),
        }
    }

    fn unary(&mut self, op: ast::UnaryOp, x: &'a ast::Expr) -> Result<Expr> {
        let x = self.expr(x)?;
        match op {
            ast::UnaryOp::Neg => build::neg(x),
            ast::UnaryOp::Plus => Ok(x),
            ast::UnaryOp::BitNot => build::bit_not(x),
            ast::UnaryOp::Not => build::not(x),
            ast::UnaryOp::Binary => build::cast_char(x, None, types::Collation::Binary),
        }
    }

    /// A left-deep chain of binary operators, without recursion.
    fn chain(&mut self, b: &'a ast::BinaryExpr) -> Result<Expr> {
        let (first, nodes) = b.spine();
        if nodes.len() > MAX_CHAIN {
            return Err(Error::stack_overrun(MAX_CHAIN));
        }
        let mut rest = &nodes[..];
        let mut left = match (&first.kind, nodes[0], comparison(nodes[0].op)) {
            // (query) op row
            (ast::ExprKind::Subquery(q), node, Some(op)) if matches!(node.right.kind, ast::ExprKind::Row(_)) => {
                let ExprKind::Row(row) = self.operand(&node.right)?.kind else {
                    return Err(Error::internal("a row is bound as a row"));
                };
                rest = &nodes[1..];
                self.row_subquery(row, flipped(op), q)?
            }
            _ => self.operand(first)?,
        };
        for node in rest {
            left = match (&left.kind, &node.right.kind, comparison(node.op)) {
                (ExprKind::Row(_), ast::ExprKind::Subquery(q), Some(op)) => {
                    let ExprKind::Row(row) = left.kind else {
                        return Err(Error::internal("matched above"));
                    };
                    self.row_subquery(row, op, q)?
                }
                _ => {
                    let right = self.operand(&node.right)?;
                    self.binary(node.op, left, right)?
                }
            };
        }
        Ok(left)
    }

    /// An operand that is compared with `other`, where sql_mode takes days that no month has.
    pub(super) fn dated(&self, e: Expr, other: &Expr) -> Expr {
        if self.shared.session.sql_mode.allow_invalid_dates { build::invalid_date(e, &other.ty) } else { e }
    }

    fn binary(&mut self, op: ast::BinaryOp, l: Expr, r: Expr) -> Result<Expr> {
        use ast::BinaryOp as B;
        if let Some(op) = comparison(op) {
            let r = self.dated(r, &l);
            return build::compare(op, self.dated(l, &r), r);
        }
        let session = &*self.shared.session;
        let arith = match op {
            B::Add => ArithOp::Add,
            B::Sub => ArithOp::Sub,
            B::Mul => ArithOp::Mul,
            B::Div => ArithOp::Div,
            B::IntDiv => ArithOp::IntDiv,
            B::Mod => ArithOp::Mod,
            B::BitAnd => ArithOp::BitAnd,
            B::BitOr => ArithOp::BitOr,
            B::BitXor => ArithOp::BitXor,
            B::ShiftLeft => ArithOp::Shl,
            B::ShiftRight => ArithOp::Shr,
            B::Xor => return build::xor(l, r),
            B::Concat => return build::function("concat", vec![l, r], session),
            B::SoundsLike => {
                let l = build::function("soundex", vec![l], session)?;
                let r = build::function("soundex", vec![r], session)?;
                return build::compare(CmpOp::Eq, l, r);
            }
            B::JsonExtract | B::JsonUnquote | B::MemberOf => {
                return Err(Error::not_supported(op.symbol().to_ascii_uppercase()));
            }
            B::Eq | B::NullSafeEq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => {
                return Err(Error::internal("comparisons were built above"));
            }
        };
        build::arith(arith, l, r, session)
    }

    fn escape(&mut self, e: Option<&'a ast::Expr>) -> Result<Option<char>> {
        let Some(e) = e else {
            return Ok(if self.shared.session.sql_mode.no_backslash_escapes { None } else { Some('\\') });
        };
        let bound = build::plain(self.expr(e)?);
        let text = match bound.as_const() {
            Some(types::Value::Bytes(b)) => String::from_utf8_lossy(b).into_owned(),
            Some(types::Value::Null) => return Ok(Some('\\')),
            _ => return Err(Error::wrong_arguments("ESCAPE")),
        };
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (c, None) => Ok(c),
            _ => Err(Error::wrong_arguments("ESCAPE")),
        }
    }
}

pub fn comparison(op: ast::BinaryOp) -> Option<CmpOp> {
    use ast::BinaryOp as B;
    Some(match op {
        B::Eq => CmpOp::Eq,
        B::NullSafeEq => CmpOp::NullSafeEq,
        B::Ne => CmpOp::Ne,
        B::Lt => CmpOp::Lt,
        B::Le => CmpOp::Le,
        B::Gt => CmpOp::Gt,
        B::Ge => CmpOp::Ge,
        _ => return None,
    })
}

fn flipped(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        same => same,
    }
}
