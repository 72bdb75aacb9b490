//! Optimizer hints as text.

use super::list;
use crate::ast::{Hint, HintArgs, HintTable, HintValue, Ident};
use std::fmt::{Display, Formatter, Result};

/// `` `name` ``
struct Quoted<'a>(&'a Ident);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "`{}`", self.0.as_str().replace('`', "``"))
    }
}

impl Display for HintTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", Quoted(&self.name))?;
        match &self.block {
            Some(block) => write!(f, "@{}", Quoted(block)),
            None => Ok(()),
        }
    }
}

impl Display for HintValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            HintValue::Word(w) | HintValue::Number(w) => f.write_str(w),
            HintValue::Text(t) => write!(f, "'{}'", t.replace('\'', "''")),
        }
    }
}

impl Display for Hint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.name.word())?;
        let block = |f: &mut Formatter<'_>, block: &Option<Ident>, more: bool| match block {
            Some(b) => write!(f, "@{}{}", Quoted(b), if more { " " } else { "" }),
            None => Ok(()),
        };
        match &self.args {
            HintArgs::Tables { block: b, tables } => {
                block(f, b, !tables.is_empty())?;
                list(f, tables, ", ", |f, t| t.fmt(f))?;
            }
            HintArgs::Indexes { table, indexes } => {
                write!(f, "{table}{}", if indexes.is_empty() { "" } else { " " })?;
                list(f, indexes, ", ", |f, i| Quoted(i).fmt(f))?;
            }
            HintArgs::Strategies { block: b, strategies } => {
                block(f, b, !strategies.is_empty())?;
                list(f, strategies, ", ", |f, s| f.write_str(s.word()))?;
            }
            HintArgs::Name(name) => write!(f, "{}", Quoted(name))?,
            HintArgs::Limit(ms) => write!(f, "{ms}")?,
            HintArgs::Variable { name, value } => write!(f, "{}={value}", Quoted(name))?,
        }
        f.write_str(")")
    }
}
