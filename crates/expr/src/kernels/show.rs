//! Expressions as text, for the messages of errors.

use crate::{ArithOp, Expr, ExprKind};
use types::Value;

/// `(a + 1)`; columns, of which only numbers are known here, as `#3`.
pub(crate) fn show(e: &Expr) -> String {
    let mut out = String::new();
    write(e, &mut out, 0);
    out
}

fn write(e: &Expr, out: &mut String, depth: usize) {
    use std::fmt::Write;
    if depth > 20 || out.len() > 200 {
        out.push_str("...");
        return;
    }
    match &e.kind {
        ExprKind::Column(id) => {
            let _ = write!(out, "#{id}");
        }
        ExprKind::Const(v) => match v {
            Value::Null => out.push_str("NULL"),
            Value::Int(v) => {
                let _ = write!(out, "{v}");
            }
            Value::UInt(v) => {
                let _ = write!(out, "{v}");
            }
            Value::Double(v) => {
                let _ = write!(out, "{v}");
            }
            Value::Decimal(d) => {
                let _ = write!(out, "{d}");
            }
            Value::Bytes(b) => {
                let _ = write!(out, "'{}'", String::from_utf8_lossy(b));
            }
            other => {
                let _ = write!(out, "{other:?}");
            }
        },
        ExprKind::Arith { op, left, right } => {
            out.push('(');
            write(left, out, depth + 1);
            out.push_str(match op {
                ArithOp::Add => " + ",
                ArithOp::Sub => " - ",
                ArithOp::Mul => " * ",
                ArithOp::Div => " / ",
                ArithOp::IntDiv => " DIV ",
                ArithOp::Mod => " % ",
                ArithOp::BitAnd => " & ",
                ArithOp::BitOr => " | ",
                ArithOp::BitXor => " ^ ",
                ArithOp::Shl => " << ",
                ArithOp::Shr => " >> ",
            });
            write(right, out, depth + 1);
            out.push(')');
        }
        ExprKind::Neg(e) => {
            out.push_str("-(");
            write(e, out, depth + 1);
            out.push(')');
        }
        ExprKind::Cast { expr, .. } => write(expr, out, depth + 1),
        ExprKind::Call { function, args } => {
            out.push_str(&function.name().to_ascii_lowercase());
            out.push('(');
            for (i, a) in args.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(a, out, depth + 1);
            }
            out.push(')');
        }
        _ => out.push_str("expression"),
    }
}
