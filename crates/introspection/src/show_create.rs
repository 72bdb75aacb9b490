//! SHOW CREATE TABLE / VIEW / DATABASE: definitions as the statements that make them, in MySQL 8's layout.

use catalog::{
    ColumnDef, DefaultValue, FkAction, ForeignKey, IndexAlgorithm, IndexDef, IndexKind, TableDef, TableEngine, ViewDef,
};
use session::view_text;
use std::fmt::Write;
use types::{Collation, SqlType, StringKind, Value};

/// An identifier in backticks.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\0', "\\0"))
}

/// The type of a column as COLUMN_TYPE and SHOW COLUMNS print it, e.g. `int unsigned`, `decimal(15,2)`.
pub fn column_type(c: &ColumnDef) -> String {
    let mut s = base_type(c);
    if c.unsigned {
        s.push_str(" unsigned");
    }
    if c.zerofill {
        s.push_str(" zerofill");
    }
    s
}

fn base_type(c: &ColumnDef) -> String {
    let name = c.ty.record().name;
    match c.ty {
        SqlType::Int { .. } => match c.display_width {
            Some(w) => format!("{name}({w})"),
            None => name.into(),
        },
        SqlType::Float | SqlType::Double => match c.float_digits {
            Some((m, d)) => format!("{name}({m},{d})"),
            None => name.into(),
        },
        ty => ty.to_string(),
    }
}

/// `CURRENT_TIMESTAMP` with the column's precision.
pub fn current_timestamp(ty: &SqlType) -> String {
    match ty {
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } if *fsp > 0 => format!("CURRENT_TIMESTAMP({fsp})"),
        _ => "CURRENT_TIMESTAMP".into(),
    }
}

/// The text of a column's constant default, as COLUMN_DEFAULT shows it; `None` for no default or NULL.
pub fn default_text(c: &ColumnDef) -> Option<String> {
    match &c.default {
        DefaultValue::None => None,
        DefaultValue::Value(v) if v.is_null() => None,
        DefaultValue::Value(v) => Some(shown_value(v, c)),
        DefaultValue::CurrentTimestamp => Some(current_timestamp(&c.ty)),
        DefaultValue::Expr { text, .. } => Some(parenthesized(text)),
    }
}

/// As the column itself would be sent.
fn shown_value(v: &Value, c: &ColumnDef) -> String {
    let digits = c.float_digits.map(|(_, digits)| usize::from(digits));
    match (v, digits) {
        (Value::Double(x), Some(digits)) => return format!("{x:.digits$}"),
        (Value::Float(x), Some(digits)) => return format!("{:.digits$}", f64::from(*x)),
        _ => {}
    }
    let mut text = Vec::new();
    types::value::render_text(v, &c.ty, &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    match (&c.ty, c.display_width) {
        (SqlType::Int { .. }, Some(width)) if c.zerofill => format!("{text:0>width$}", width = width as usize),
        _ => text,
    }
}

fn column_line(c: &ColumnDef, table_collation: Collation) -> String {
    let mut s = format!("  {} {}", quote(&c.name), column_type(c));
    if let SqlType::String { collation, .. } = c.ty
        && collation != Collation::Binary
        && collation != table_collation
    {
        let _ = write!(s, " CHARACTER SET {} COLLATE {}", collation.charset().name(), collation.name());
    }
    if let Some(g) = &c.generated {
        let _ = write!(
            s,
            " GENERATED ALWAYS AS ({}) {}",
            parenthesized(&g.text),
            if g.stored { "STORED" } else { "VIRTUAL" }
        );
    }
    if !c.nullable {
        s.push_str(" NOT NULL");
    } else if matches!(c.ty, SqlType::Timestamp { .. }) {
        s.push_str(" NULL");
    }
    let is_lob =
        matches!(c.ty, SqlType::String { kind, .. } if !matches!(kind, StringKind::Char | StringKind::VarChar));
    match &c.default {
        DefaultValue::None if c.generated.is_some() => {}
        DefaultValue::None if c.nullable && !is_lob => s.push_str(" DEFAULT NULL"),
        DefaultValue::None => {}
        DefaultValue::Value(v) if v.is_null() => {
            if !is_lob {
                s.push_str(" DEFAULT NULL")
            }
        }
        DefaultValue::Value(_) => {
            let _ = write!(s, " DEFAULT {}", literal(&default_text(c).expect("a value has text")));
        }
        DefaultValue::CurrentTimestamp => {
            let _ = write!(s, " DEFAULT {}", current_timestamp(&c.ty));
        }
        DefaultValue::Expr { text, .. } => {
            let _ = write!(s, " DEFAULT ({})", parenthesized(text));
        }
    }
    if c.on_update_current_timestamp {
        let _ = write!(s, " ON UPDATE {}", current_timestamp(&c.ty));
    }
    if c.auto_increment {
        s.push_str(" AUTO_INCREMENT");
    }
    if c.invisible {
        s.push_str(" /*!80023 INVISIBLE */");
    }
    if !c.comment.is_empty() {
        let _ = write!(s, " COMMENT {}", literal(&c.comment));
    }
    s
}

fn index_line(table: &TableDef, i: &IndexDef) -> String {
    let mut s = match i.kind {
        IndexKind::Primary => "  PRIMARY KEY".to_string(),
        IndexKind::Unique => format!("  UNIQUE KEY {}", quote(&i.name)),
        IndexKind::Plain => format!("  KEY {}", quote(&i.name)),
        IndexKind::FullText => format!("  FULLTEXT KEY {}", quote(&i.name)),
        IndexKind::Spatial => format!("  SPATIAL KEY {}", quote(&i.name)),
    };
    let parts: Vec<String> = i
        .parts
        .iter()
        .map(|p| {
            let prefix = p.prefix_len.map(|n| format!("({n})")).unwrap_or_default();
            let column = &table.columns[p.column_idx];
            let key = match column.key_expr() {
                Some(g) => format!("({})", parenthesized(&g.text)),
                None => quote(&column.name),
            };
            format!("{key}{prefix}{}", if p.descending { " DESC" } else { "" })
        })
        .collect();
    let _ = write!(s, " ({})", parts.join(","));
    match i.algorithm {
        Some(IndexAlgorithm::BTree) => s.push_str(" USING BTREE"),
        Some(IndexAlgorithm::Hash) => s.push_str(" USING HASH"),
        None => {}
    }
    if !i.comment.is_empty() {
        let _ = write!(s, " COMMENT {}", literal(&i.comment));
    }
    if i.invisible {
        s.push_str(" /*!80000 INVISIBLE */");
    }
    s
}

/// A constraint of `child`, as SHOW CREATE TABLE and errors print it.
pub fn foreign_key(child: &TableDef, fk: &ForeignKey) -> String {
    let columns: Vec<String> = fk.columns.iter().map(|c| quote(&child.columns[*c].name)).collect();
    let parents: Vec<String> = fk.parent_columns.iter().map(|c| quote(c)).collect();
    let schema = if fk.parent_schema == child.schema { String::new() } else { quote(&fk.parent_schema) + "." };
    let mut s = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {schema}{} ({})",
        quote(&fk.name),
        columns.join(", "),
        quote(&fk.parent_table),
        parents.join(", ")
    );
    for (clause, action) in [("DELETE", fk.on_delete), ("UPDATE", fk.on_update)] {
        if action != FkAction::NoAction {
            let _ = write!(s, " ON {clause} {}", action.name());
        }
    }
    s
}

/// MySQL prints the expressions that it keeps in parentheses of their own, unless they are names, literals or calls.
pub fn parenthesized(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_name = bytes.first() == Some(&b'`') && text[1..].find('`') == Some(text.len() - 2);
    let word = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let is_call = word > 0 && closes_at_end(&bytes[word..]);
    let is_number = text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_literal = is_number || word == bytes.len() || is_string(bytes);
    if is_name || is_call || is_literal || closes_at_end(bytes) { text.to_string() } else { format!("({text})") }
}

/// Whether the text is one string literal, perhaps with a character set or a type before it.
fn is_string(bytes: &[u8]) -> bool {
    let word = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let rest = bytes[word..].strip_prefix(b" ").unwrap_or(&bytes[word..]);
    let mut i = 1;
    while rest.first() == Some(&b'\'') && i < rest.len() {
        match rest[i] {
            b'\\' => i += 1,
            b'\'' if rest.get(i + 1) == Some(&b'\'') => i += 1,
            b'\'' => return i + 1 == rest.len(),
            _ => {}
        }
        i += 1;
    }
    false
}

/// Whether the text is one parenthesis from its first byte to its last.
fn closes_at_end(bytes: &[u8]) -> bool {
    if bytes.first() != Some(&b'(') {
        return false;
    }
    let (mut depth, mut quoted, mut i) = (0usize, None, 0);
    while i < bytes.len() {
        match (quoted, bytes[i]) {
            (Some(q), b) if b == q => quoted = None,
            (Some(q), b'\\') if q != b'`' => i += 1,
            (Some(_), _) => {}
            (None, b @ (b'\'' | b'"' | b'`')) => quoted = Some(b),
            (None, b'(') => depth += 1,
            (None, b')') => {
                depth -= 1;
                if depth == 0 {
                    return i + 1 == bytes.len();
                }
            }
            _ => {}
        }
        i += 1;
    }
    false
}

/// The engine's name as MySQL shows it.
pub fn engine_name(engine: TableEngine) -> &'static str {
    match engine {
        TableEngine::InnoDb => "InnoDB",
        TableEngine::Memory => "MEMORY",
        TableEngine::Virtual => "",
    }
}

/// CREATE TABLE of a definition; `auto_increment` is the next value, if the table has such a column.
pub fn table(t: &TableDef, auto_increment: Option<u64>) -> String {
    let mut lines: Vec<String> = t.shown_columns().iter().map(|c| column_line(c, t.collation)).collect();
    lines.extend(t.indexes.iter().map(|i| index_line(t, i)));
    lines.extend(t.foreign_keys.iter().map(|f| format!("  {}", foreign_key(t, f))));
    lines.extend(t.checks.iter().map(|c| {
        let enforced = if c.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        format!("  CONSTRAINT {} CHECK ({}){enforced}", quote(&c.name), parenthesized(&c.text))
    }));
    let temporary = if t.temporary { "TEMPORARY " } else { "" };
    let mut s = format!("CREATE {temporary}TABLE {} (\n{}\n)", quote(&t.name), lines.join(",\n"));
    if t.engine != TableEngine::Virtual {
        let _ = write!(s, " ENGINE={}", engine_name(t.engine));
    }
    if let Some(n) = auto_increment.filter(|n| *n > 1) {
        let _ = write!(s, " AUTO_INCREMENT={n}");
    }
    let _ = write!(s, " DEFAULT CHARSET={}", t.collation.charset().name());
    if !t.collation.is_default() || t.collation.charset().name() == "utf8mb4" {
        let _ = write!(s, " COLLATE={}", t.collation.name());
    }
    for (name, value) in &t.options {
        let _ = write!(s, " {name}={value}");
    }
    if !t.comment.is_empty() {
        let _ = write!(s, " COMMENT={}", literal(&t.comment));
    }
    s
}

/// CREATE VIEW of a definition. Where the view's database is the current one and all its tables are in it, no database
/// is named.
pub fn view(v: &ViewDef, current_database: Option<&str>) -> String {
    let short =
        if current_database == Some(&*v.schema) { view_text::unqualified(&v.select_text, &v.schema) } else { None };
    let (name, select) = match &short {
        Some(select) => (quote(&v.name), &**select),
        None => (format!("{}.{}", quote(&v.schema), quote(&v.name)), &*v.select_text),
    };
    let columns: Vec<String> = v.columns.iter().map(|c| quote(c)).collect();
    let check = match &*v.check_option {
        "NONE" => String::new(),
        c => format!(" WITH {c} CHECK OPTION"),
    };
    let definer = match v.definer.split_once('@') {
        Some((user, host)) => format!("{}@{}", quote(user), quote(host)),
        None => quote(&v.definer),
    };
    format!(
        "CREATE ALGORITHM={} DEFINER={definer} SQL SECURITY {} VIEW {name} ({}) AS {select}{check}",
        v.algorithm,
        v.security,
        columns.join(","),
    )
}

/// CREATE DATABASE of a schema.
pub fn database(name: &str, collation: Collation, if_not_exists: bool) -> String {
    let collate = if collation.is_default() && collation.charset().name() != "utf8mb4" {
        String::new()
    } else {
        format!(" COLLATE {}", collation.name())
    };
    format!(
        "CREATE DATABASE {}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" },
        quote(name),
        collation.charset().name()
    )
}
