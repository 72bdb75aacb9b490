//! Tables, columns, indexes, views.

use crate::constraint::{BoundUnder, CheckConstraint, ForeignKey, Generated};
use crate::histogram::Histogram;
use expr::Expr;
use std::borrow::Cow;
use std::sync::Arc;
use types::{Collation, Error, Result, SqlType, Value};

/// Identifies a table for as long as it exists; never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TableId(pub u64);

/// What a column gets when INSERT names no value for it.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// No DEFAULT clause: NULL if nullable, else error 1364 in strict mode.
    None,
    /// Already of the column's type.
    Value(Value),
    /// DEFAULT CURRENT_TIMESTAMP[(fsp)]
    CurrentTimestamp,
    /// DEFAULT (expr); the text is what SHOW CREATE TABLE prints.
    /// Column ids are positions of columns that are not generated.
    Expr { expr: Box<Expr>, text: Box<str>, under: BoundUnder },
}

impl DefaultValue {
    /// Whether it is computed from other columns of the row.
    pub fn reads_row(&self) -> bool {
        let DefaultValue::Expr { expr, .. } = self else { return false };
        let mut reads = false;
        expr.walk(&mut |e| reads |= matches!(e.kind, expr::ExprKind::Column(_)));
        reads
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub name: Box<str>,
    pub ty: SqlType,
    pub nullable: bool,
    pub default: DefaultValue,
    pub auto_increment: bool,
    pub on_update_current_timestamp: bool,
    pub comment: Box<str>,
    /// UNSIGNED on DECIMAL, FLOAT or DOUBLE (integers carry theirs in the type).
    pub unsigned: bool,
    pub zerofill: bool,
    /// `INT(11)`-style width, where given and still shown by MySQL 8 (ZEROFILL, TINYINT(1)).
    pub display_width: Option<u32>,
    /// FLOAT(m,d) / DOUBLE(m,d)
    pub float_digits: Option<(u8, u8)>,
    pub invisible: bool,
    pub generated: Option<Generated>,
    /// Made by ANALYZE TABLE .. UPDATE HISTOGRAM; goes when the column changes.
    pub histogram: Option<Arc<Histogram>>,
}

/// What the names of hidden columns begin with.
const HIDDEN: &str = "!hidden!";

impl ColumnDef {
    /// A column with no more than a name and a type.
    pub fn plain(name: &str, ty: SqlType, nullable: bool) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            ty,
            nullable,
            default: DefaultValue::None,
            auto_increment: false,
            on_update_current_timestamp: false,
            comment: "".into(),
            unsigned: false,
            zerofill: false,
            display_width: None,
            float_digits: None,
            invisible: false,
            generated: None,
            histogram: None,
        }
    }

    /// The name of the column behind a key part that is an expression: the index's name and the part's position.
    pub fn hidden_name(index: &str, part: usize) -> Box<str> {
        format!("{HIDDEN}{index}!{part}!0").into()
    }

    /// Whether it is the column behind a key part: a virtual generated column that no statement can name. Hidden
    /// columns come last in the table, in the order of the indexes.
    pub fn is_hidden(&self) -> bool {
        ColumnDef::is_hidden_name(&self.name)
    }

    /// Names that users may not give.
    pub fn is_hidden_name(name: &str) -> bool {
        name.starts_with(HIDDEN)
    }

    /// How plans call it: by its name, or by what a hidden column stands for.
    pub fn shown_name(&self) -> Cow<'_, str> {
        match self.key_expr() {
            Some(g) => Cow::Owned(format!("({})", g.text)),
            None => Cow::Borrowed(&self.name),
        }
    }

    /// The expression of a hidden column.
    pub fn key_expr(&self) -> Option<&Generated> {
        self.generated.as_ref().filter(|_| self.is_hidden())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    FullText,
    Spatial,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IndexAlgorithm {
    BTree,
    Hash,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexPart {
    /// Position in [`TableDef::columns`].
    pub column_idx: usize,
    /// `col(10)`: characters (bytes for binary strings).
    pub prefix_len: Option<u32>,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    /// "PRIMARY" for the primary key.
    pub name: Box<str>,
    pub kind: IndexKind,
    pub parts: Vec<IndexPart>,
    pub algorithm: Option<IndexAlgorithm>,
    pub comment: Box<str>,
    pub invisible: bool,
    /// Nobody asked for it: a foreign key needs it. It goes when another key will do.
    pub made_for_foreign_key: bool,
}

impl IndexDef {
    /// Whether the key begins with these columns, whole.
    pub fn begins_with(&self, columns: impl ExactSizeIterator<Item = usize>) -> bool {
        let of = |part: &IndexPart| part.prefix_len.is_none().then_some(part.column_idx);
        self.parts.len() >= columns.len() && self.parts.iter().zip(columns).all(|(p, c)| of(p) == Some(c))
    }

    /// PRIMARY and UNIQUE.
    pub fn is_unique(&self) -> bool {
        matches!(self.kind, IndexKind::Primary | IndexKind::Unique)
    }
}

/// Where a table's rows live.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableEngine {
    InnoDb,
    Memory,
    /// Rows made by the server itself: information_schema, performance_schema.
    Virtual,
}

impl TableEngine {
    /// The engine of a name in ENGINE = and in variables; with the name, where another engine stands in for it. Error
    /// 1286.
    pub fn named(name: &str) -> Result<(TableEngine, Option<Box<str>>)> {
        let is = |n: &str| name.eq_ignore_ascii_case(n);
        if is("InnoDB") {
            Ok((TableEngine::InnoDb, None))
        } else if is("MEMORY") || is("HEAP") {
            Ok((TableEngine::Memory, None))
        } else if is("MyISAM") || is("Aria") {
            Ok((TableEngine::InnoDb, Some(name.into())))
        } else {
            Err(Error::unknown_storage_engine(name))
        }
    }

    /// As SHOW has it.
    pub fn name(self) -> &'static str {
        if self == TableEngine::Memory { "MEMORY" } else { "InnoDB" }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    pub id: TableId,
    pub schema: Box<str>,
    pub name: Box<str>,
    pub columns: Vec<ColumnDef>,
    /// The primary key first, if there is one; then unique keys, then others, each in order of definition.
    pub indexes: Vec<IndexDef>,
    pub checks: Vec<CheckConstraint>,
    pub foreign_keys: Vec<ForeignKey>,
    pub engine: TableEngine,
    pub collation: Collation,
    pub comment: Box<str>,
    /// ROW_FORMAT and the like, as SHOW CREATE TABLE repeats them: (name, value).
    pub options: Vec<(Box<str>, Box<str>)>,
    /// Seconds since 1970 UTC.
    pub created_at: i64,
    pub temporary: bool,
}

impl TableDef {
    /// The position of the unique index whose parts are exactly these columns, which a foreign key refers to.
    pub fn referenced_index(&self, columns: &[Box<str>]) -> Option<usize> {
        let columns: Vec<usize> = columns.iter().map(|n| self.column_idx(n)).collect::<Option<_>>()?;
        self.indexes.iter().take_while(|i| i.is_unique()).position(|i| {
            i.parts.len() == columns.len()
                && i.parts.iter().zip(&columns).all(|(p, c)| p.column_idx == *c && p.prefix_len.is_none())
        })
    }

    /// Puts foreign keys and CHECK constraints in the order of their names, as MySQL's dictionary keeps them.
    pub fn sort_constraints(&mut self) {
        self.foreign_keys.sort_by_cached_key(|f| f.name.to_lowercase());
        self.checks.sort_by_cached_key(|c| c.name.to_lowercase());
    }

    /// The key that clients are shown as primary: that, or else the first unique key that holds whole columns which are
    /// never NULL.
    pub fn shown_primary_key(&self) -> Option<&IndexDef> {
        let is_whole = |p: &IndexPart| {
            let c = &self.columns[p.column_idx];
            !c.nullable && p.prefix_len.is_none() && c.generated.as_ref().is_none_or(|g| g.stored)
        };
        let is_unique = |i: &&IndexDef| i.kind == IndexKind::Unique && i.parts.iter().all(is_whole);
        self.primary_key().or_else(|| self.indexes.iter().find(is_unique))
    }

    pub fn primary_key(&self) -> Option<&IndexDef> {
        self.indexes.first().filter(|i| i.kind == IndexKind::Primary)
    }

    /// Column names are case-insensitive. Hidden columns are not found.
    pub fn column_idx(&self, name: &str) -> Option<usize> {
        self.shown_columns()
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name) || c.name.to_lowercase() == name.to_lowercase())
    }

    /// The columns without the hidden ones, which come last.
    pub fn shown_columns(&self) -> &[ColumnDef] {
        let hidden = self.columns.iter().rev().take_while(|c| c.is_hidden()).count();
        &self.columns[..self.columns.len() - hidden]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ViewDef {
    pub schema: Box<str>,
    pub name: Box<str>,
    /// Output column names.
    pub columns: Vec<Box<str>>,
    /// The SELECT, every table in it with its database; parsed and bound anew at each use.
    pub select_text: Box<str>,
    /// `collation_connection` at CREATE VIEW.
    pub collation: Collation,
    /// ALGORITHM, DEFINER, SQL SECURITY, CHECK OPTION as SHOW CREATE VIEW prints them.
    pub algorithm: Box<str>,
    pub definer: Box<str>,
    pub security: Box<str>,
    pub check_option: Box<str>,
}
