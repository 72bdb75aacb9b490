//! CREATE TABLE's body to a definition.

use super::{column, constraints, defaults, functional, index};
use catalog::{ColumnDef, DefaultValue, IndexDef, TableDef, TableEngine, TableId};
use introspection::show_create;
use parser::ast;
use session::Frame;
use types::{Collation, Error, Result, SqlType, StringKind, Value};

/// Most columns of a table (InnoDB).
const COLUMNS_MAX: usize = 1017;

/// What table options say.
#[derive(Debug)]
pub struct Options {
    pub engine: TableEngine,
    /// The engine named, where another one takes its place (warning 1266).
    pub substituted: Option<Box<str>>,
    /// The engine named, where there is none of the name: the default one takes its place (warnings 1286, 1266).
    pub unknown_engine: Option<Box<str>>,
    pub collation: Collation,
    pub comment: Box<str>,
    pub auto_increment: Option<u64>,
    pub shown: Vec<(Box<str>, Box<str>)>,
}

/// Reads table options; unknown engines are error 1286, or another one without NO_ENGINE_SUBSTITUTION (`substitutes`).
pub fn options(
    list: &[ast::TableOption],
    default_collation: Collation,
    default_engine: TableEngine,
    substitutes: bool,
) -> Result<Options> {
    let mut o = Options {
        engine: default_engine,
        substituted: None,
        unknown_engine: None,
        collation: default_collation,
        comment: "".into(),
        auto_increment: None,
        shown: Vec::new(),
    };
    let mut named = variables::charset::Named::default();
    for option in list {
        use ast::TableOption::*;
        match option {
            Engine(name) => match TableEngine::named(name) {
                Ok(named) => (o.engine, o.substituted) = named,
                Err(_) if substitutes => o.unknown_engine = Some(name.as_str().into()),
                Err(e) => return Err(e),
            },
            AutoIncrement(n) => o.auto_increment = Some(*n),
            Charset(name) => named.charset(name)?,
            Collate(name) => named.collation(name)?,
            Comment(text) if text.chars().count() > 2048 => return Err(Error::too_long_table_comment("table", 2048)),
            Comment(text) => o.comment = text.clone(),
            DataDirectory(_) | IndexDirectory(_) => return Err(Error::not_supported("DATA DIRECTORY")),
            Union(_) => return Err(Error::not_supported("UNION tables")),
            Encryption(e) if e.eq_ignore_ascii_case("y") => return Err(Error::not_supported("ENCRYPTION='Y'")),
            Tablespace(_) => return Err(Error::not_supported("TABLESPACE")),
            // Storage details: some are repeated, all are taken and have no effect, as most have none in MySQL's
            // InnoDB.
            _ => {}
        }
    }
    o.shown = shown(list);
    o.collation = named.resolve(default_collation);
    Ok(o)
}

/// The options that say how other engines would store the table, in the order in which SHOW CREATE TABLE repeats them.
/// What is said last counts; 0 and DEFAULT say nothing where they mean that.
fn shown(list: &[ast::TableOption]) -> Vec<(Box<str>, Box<str>)> {
    const NAMES: [&str; 13] = [
        "MIN_ROWS",
        "MAX_ROWS",
        "AVG_ROW_LENGTH",
        "PACK_KEYS",
        "STATS_PERSISTENT",
        "STATS_AUTO_RECALC",
        "STATS_SAMPLE_PAGES",
        "CHECKSUM",
        "DELAY_KEY_WRITE",
        "ROW_FORMAT",
        "KEY_BLOCK_SIZE",
        "COMPRESSION",
        "AUTOEXTEND_SIZE",
    ];
    let some = |n: u64| (n > 0).then(|| n.to_string());
    let number = |v: ast::OptionValue| match v {
        ast::OptionValue::Number(n) => Some(n.to_string()),
        ast::OptionValue::Default => None,
    };
    let mut values: [Option<String>; NAMES.len()] = Default::default();
    for option in list {
        use ast::TableOption::*;
        let (at, value) = match option {
            MinRows(n) => (0, some(*n)),
            MaxRows(n) => (1, some(*n)),
            AvgRowLength(n) => (2, some(*n)),
            PackKeys(v) => (3, number(*v)),
            StatsPersistent(v) => (4, number(*v)),
            StatsAutoRecalc(v) => (5, number(*v)),
            StatsSamplePages(v) => (6, number(*v).filter(|n| n != "0")),
            Checksum(n) => (7, (*n > 0).then(|| "1".into())),
            DelayKeyWrite(n) => (8, (*n > 0).then(|| "1".into())),
            RowFormat(name) => (9, Some(name.to_uppercase()).filter(|n| n != "DEFAULT")),
            KeyBlockSize(n) => (10, some(*n)),
            Compression(name) => (11, (!name.is_empty()).then(|| show_create::literal(name))),
            AutoextendSize(n) => (12, some(*n)),
            _ => continue,
        };
        values[at] = value;
    }
    let pairs = NAMES.iter().zip(values);
    pairs.filter_map(|(name, value)| Some(((*name).into(), value?.into()))).collect()
}

/// Builds the definition of CREATE TABLE (...), names checked, defaults evaluated.
#[allow(clippy::too_many_arguments)]
pub fn table(
    session: &Frame<'_>,
    id: TableId,
    schema: &str,
    name: &str,
    body: &ast::TableDef,
    options: &Options,
    extra: Vec<ColumnDef>,
    temporary: bool,
) -> Result<TableDef> {
    let mut columns: Vec<ColumnDef> = Vec::new();
    let mut keys: Vec<ast::IndexDef> = Vec::new();
    let (mut defaults, mut expr_defaults) = (Vec::new(), Vec::new());
    let (mut generated, mut checks, mut references) = (Vec::new(), Vec::new(), Vec::new());
    for def in &body.columns {
        let d = column::define(def, options.collation)?;
        if columns.iter().any(|c| c.name.to_lowercase() == d.column.name.to_lowercase()) {
            return Err(Error::dup_fieldname(&d.column.name));
        }
        for (wanted, kind) in [(d.primary, ast::IndexKind::Primary), (d.unique, ast::IndexKind::Unique)] {
            if wanted {
                keys.push(column_key(&def.name, kind));
            }
        }
        if let Some(default) = d.default {
            defaults.push((columns.len(), default));
        }
        generated.extend(d.generated.map(|(expr, stored)| (columns.len(), expr, stored)));
        checks.extend(d.checks.into_iter().map(|c| (Some(columns.len()), c)));
        columns.push(d.column);
    }
    let moved = add_selected(&mut columns, extra)?;
    defaults.iter_mut().for_each(|(idx, _)| *idx = moved[*idx]);
    generated.iter_mut().for_each(|(idx, ..)| *idx = moved[*idx]);
    checks.iter_mut().for_each(|(idx, _)| *idx = idx.map(|i: usize| moved[i]));
    if columns.is_empty() {
        return Err(Error::table_must_have_columns());
    }
    if columns.len() > COLUMNS_MAX {
        return Err(Error::too_many_fields());
    }
    for constraint in &body.constraints {
        match constraint {
            ast::TableConstraint::Index(i) => keys.push(i.clone()),
            ast::TableConstraint::ForeignKey(f) => references.push(f.clone()),
            ast::TableConstraint::Check(c) => checks.push((None, c.clone())),
        }
    }
    if body.partition_by.is_some() {
        return Err(Error::not_supported("PARTITION BY"));
    }
    for (idx, (expr, parens)) in defaults {
        match parens {
            true => expr_defaults.push((idx, expr)),
            false => columns[idx].default = default_value(session, &columns[idx], &expr)?,
        }
    }
    check_row_size(&columns)?;
    let (indexes, key_exprs) = index::define_all(session, &mut columns, keys)?;
    check_auto_column(&columns, &indexes)?;
    for c in &columns {
        if !c.nullable && matches!(&c.default, DefaultValue::Value(v) if v.is_null()) {
            return Err(Error::invalid_default(&c.name));
        }
    }
    if session.vars().on("sql_require_primary_key") && !indexes.iter().any(|i| i.kind == catalog::IndexKind::Primary) {
        return Err(Error::table_without_pk());
    }
    let mut def = TableDef {
        id,
        schema: schema.into(),
        name: name.into(),
        columns,
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        engine: options.engine,
        collation: options.collation,
        comment: options.comment.clone(),
        options: options.shown.clone(),
        created_at: session.now_us() / 1_000_000,
        temporary,
    };
    constraints::generate(session, &mut def, &generated)?;
    expr_defaults.sort_by_key(|(idx, _)| *idx);
    defaults::bind(session, &mut def, &expr_defaults)?;
    functional::add_columns(session, &mut def, &key_exprs)?;
    constraints::add_checks(session, &mut def, &checks)?;
    constraints::add_foreign_keys(session, &mut def, &references)?;
    def.sort_constraints();
    Ok(def)
}

/// CREATE TABLE ... SELECT: first the columns that only the parentheses have, then those of the SELECT, in its order.
/// The answer is where each of the columns went. 1060 where the SELECT has two columns of one name.
fn add_selected(columns: &mut Vec<ColumnDef>, extra: Vec<ColumnDef>) -> Result<Vec<usize>> {
    let selected: Vec<String> = extra.iter().map(|c| c.name.to_lowercase()).collect();
    if let Some(i) = (1..selected.len()).find(|&i| selected[..i].contains(&selected[i])) {
        return Err(Error::dup_fieldname(&extra[i].name));
    }
    let place = |c: &ColumnDef| selected.iter().position(|s| *s == c.name.to_lowercase()).map_or(0, |p| p + 1);
    let mut order: Vec<usize> = (0..columns.len()).collect();
    let defined = columns.len();
    for c in extra {
        if !columns[..defined].iter().any(|d| d.name.to_lowercase() == c.name.to_lowercase()) {
            order.push(columns.len());
            columns.push(c);
        }
    }
    order.sort_by_key(|&i| place(&columns[i]));
    let mut moved = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, from)| moved[*from] = to);
    *columns = order.into_iter().map(|i| columns[i].clone()).collect();
    Ok(moved)
}

pub fn column_key(name: &ast::Ident, kind: ast::IndexKind) -> ast::IndexDef {
    ast::IndexDef {
        kind,
        constraint: None,
        name: None,
        parts: vec![ast::KeyPart { key: ast::KeyPartKey::Column { name: name.clone(), prefix: None }, desc: false }],
        options: ast::IndexOptions::default(),
    }
}

/// At most one AUTO_INCREMENT column, and it leads a key.
fn check_auto_column(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    let mut auto = columns.iter().enumerate().filter(|(_, c)| c.auto_increment).map(|(i, _)| i);
    let Some(idx) = auto.next() else { return Ok(()) };
    if auto.next().is_some() || !indexes.iter().any(|i| i.parts.first().is_some_and(|p| p.column_idx == idx)) {
        return Err(Error::wrong_auto_key());
    }
    Ok(())
}

/// The 65,535-byte limit on a row, BLOB and TEXT counted as pointers (MySQL manual, "Row Size Limits").
fn check_row_size(columns: &[ColumnDef]) -> Result<()> {
    let bytes: u64 = columns
        .iter()
        .map(|c| match c.ty {
            SqlType::String { kind: StringKind::Char, len, collation } => {
                len as u64 * collation.charset().max_len() as u64
            }
            SqlType::String { kind: StringKind::VarChar, len, collation } => {
                len as u64 * collation.charset().max_len() as u64 + if len > 255 { 2 } else { 1 }
            }
            SqlType::String { .. } => 12,
            SqlType::Decimal { precision, .. } => precision as u64 / 9 * 4 + 4,
            _ => 8,
        })
        .sum();
    if bytes > 65535 { Err(Error::too_big_rowsize(65535)) } else { Ok(()) }
}

/// Evaluates DEFAULT without parentheses. Constants are converted to the column's type (1067 if they do not fit);
/// CURRENT_TIMESTAMP is kept.
fn default_value(session: &Frame<'_>, c: &ColumnDef, default: &ast::Expr) -> Result<DefaultValue> {
    let is_lob =
        matches!(c.ty, SqlType::String { kind, .. } if !matches!(kind, StringKind::Char | StringKind::VarChar));
    if let ast::ExprKind::Function(f) = &default.kind {
        let is_now = ["now", "current_timestamp", "localtime", "localtimestamp"].iter().any(|n| f.name.is(n));
        let fsp = match f.args.as_slice() {
            [] => Some(0),
            [arg] => match arg.as_literal() {
                Some(ast::Literal::Int(n)) => Some(*n),
                _ => None,
            },
            _ => None,
        };
        return match c.ty {
            SqlType::DateTime { fsp: f } | SqlType::Timestamp { fsp: f } if is_now && fsp == Some(f as u64) => {
                Ok(DefaultValue::CurrentTimestamp)
            }
            _ => Err(Error::invalid_default(&c.name)),
        };
    }
    let (value, ty) = session.eval_bound(&expr::build::assigned(session.bind_constant_expr(default)?, &c.ty))?;
    if value.is_null() {
        return if c.nullable { Ok(DefaultValue::Value(Value::Null)) } else { Err(Error::invalid_default(&c.name)) };
    }
    if is_lob {
        return Err(Error::blob_cant_have_default(&c.name));
    }
    super::defaults::convert_default(session, &value, &ty, c)
        .map(DefaultValue::Value)
        .map_err(|_| Error::invalid_default(&c.name))
}
