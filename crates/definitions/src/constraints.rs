//! Generated columns, CHECK constraints and FOREIGN KEYs of CREATE TABLE.
//!
//! MySQL manual, "CREATE TABLE and Generated Columns", "CHECK Constraints", "FOREIGN KEY Constraints".

use super::index;
use catalog::BoundUnder;
use catalog::{
    CheckConstraint, FkAction, ForeignKey, Generated, IndexDef, IndexKind, IndexPart, Relation, TableDef, TableEngine,
};
use expr::{Expr, ExprKind};
use parser::ast;
use session::Frame;
use types::{Error, ErrorCode, Result, SqlType, StringKind};

/// `GENERATED ALWAYS AS` of one column: its position, the expression, STORED.
pub type GeneratedClause = (usize, ast::Expr, bool);

/// Binds the expressions of generated columns, all other columns being defined.
pub fn generate(session: &Frame<'_>, def: &mut TableDef, clauses: &[GeneratedClause]) -> Result<()> {
    for (idx, clause, stored) in clauses {
        let name = def.columns[*idx].name.clone();
        let bound = bind_table_expr(session, clause, def).map_err(|e| match e.code() {
            ErrorCode::BAD_FIELD => Error::bad_field(unknown_column(&e), "generated column function"),
            ErrorCode::NOT_SUPPORTED_YET => Error::generated_column_function_is_not_allowed(&name),
            _ => e,
        })?;
        match disallowed(session, clause, &bound) {
            Some(Disallowed::Function(f)) => {
                return Err(Error::generated_column_named_function_is_not_allowed(&name, f));
            }
            Some(Disallowed::Variable) => return Err(Error::generated_column_function_is_not_allowed(&name)),
            None => {}
        }
        for used in columns_of(&bound) {
            if def.columns[used].auto_increment {
                return Err(Error::generated_column_ref_auto_inc(&name));
            }
            let is_later = clauses.iter().any(|(i, ..)| *i == used) && used >= *idx;
            if is_later {
                return Err(Error::generated_column_non_prior());
            }
        }
        let bound = expr::build::assigned(bound, &def.columns[*idx].ty);
        let (text, under) = (clause.to_string().into(), bound_under(session));
        let generated = Generated { expr: Box::new(bound), text, under, stored: *stored };
        def.columns[*idx].generated = Some(generated);
    }
    let virtual_key = |i: &IndexDef| {
        let is_virtual = |p: &IndexPart| def.columns[p.column_idx].generated.as_ref().is_some_and(|g| !g.stored);
        i.kind == IndexKind::Primary && i.parts.iter().any(is_virtual)
    };
    if def.indexes.iter().any(virtual_key) {
        return Err(Error::unsupported_action_on_generated_column(
            "Defining a virtual generated column as primary key",
        ));
    }
    Ok(())
}

/// The column that an error 1054 names.
pub fn unknown_column(e: &Error) -> String {
    e.message().split('\'').nth(1).unwrap_or_default().to_string()
}

pub enum Disallowed {
    Function(String),
    Variable,
}

/// What an expression that is kept must not depend on: the session, time, chance.
pub fn disallowed(session: &Frame<'_>, clause: &ast::Expr, bound: &Expr) -> Option<Disallowed> {
    let mut found = reads_system_variable(session, clause).then_some(Disallowed::Variable);
    bound.walk(&mut |e| match &e.kind {
        ExprKind::Call { function, .. } if !function.record().may_be_kept() => {
            let name = function.name().to_ascii_lowercase();
            found.get_or_insert(Disallowed::Function(name));
        }
        ExprKind::UserVar { .. } | ExprKind::SetUserVar { .. } | ExprKind::Param(_) => {
            found.get_or_insert(Disallowed::Variable);
        }
        _ => {}
    });
    found
}

/// `@@name` is a constant once it is bound, so the clause itself tells. Folders in which definitions were texts may
/// have such clauses; they open, with the values that the variables have then.
pub fn reads_system_variable(session: &Frame<'_>, clause: &ast::Expr) -> bool {
    clause.has_system_variable() && !session.db().options().is_helper
}

pub fn columns_of(e: &Expr) -> Vec<usize> {
    let mut out = Vec::new();
    e.walk(&mut |e| {
        if let ExprKind::Column(c) = e.kind {
            out.push(c as usize);
        }
    });
    out
}

/// 3108: a generated column that stays reads a column that does not, or not under its name.
pub fn check_columns_kept(
    old: &TableDef,
    stays: impl Fn(usize) -> bool,
    is_kept: impl Fn(usize) -> bool,
) -> Result<()> {
    for (idx, c) in old.shown_columns().iter().enumerate().filter(|(idx, _)| stays(*idx)) {
        let Some(g) = &c.generated else { continue };
        if let Some(&used) = columns_of(&g.expr).iter().find(|u| **u != idx && !is_kept(**u)) {
            return Err(Error::dependent_by_generated_column(&old.columns[used].name));
        }
    }
    Ok(())
}

/// Adds CHECK constraints; those of a column come with its position.
pub fn add_checks(session: &Frame<'_>, def: &mut TableDef, checks: &[(Option<usize>, ast::CheckDef)]) -> Result<()> {
    if checks.is_empty() {
        return Ok(());
    }
    let taken = names_in_schema(session, def, |t| t.checks.iter().map(|c| c.name.clone()).collect());
    let mut number = 0;
    for (column, check) in checks {
        let name: Box<str> = match &check.name {
            Some(n) => n.as_str().into(),
            None => loop {
                number += 1;
                let name = format!("{}_chk_{number}", def.name).into_boxed_str();
                if !checks.iter().any(|(_, c)| c.name.as_ref().is_some_and(|n| n.is(&name))) {
                    break name;
                }
            },
        };
        if name.chars().count() > 64 {
            return Err(Error::too_long_ident(&name));
        }
        let is = |n: &str| n.eq_ignore_ascii_case(&name);
        if def.checks.iter().any(|c| is(&c.name)) || taken.iter().any(|n| is(n)) {
            return Err(Error::check_constraint_dup_name(&name));
        }
        let expr = bind_check(session, def, *column, &name, &check.expr)?;
        let (text, under) = (check.expr.to_string().into(), bound_under(session));
        def.checks.push(CheckConstraint { name, expr: Box::new(expr), text, under, enforced: check.enforced });
    }
    Ok(())
}

fn bind_check(
    session: &Frame<'_>,
    def: &TableDef,
    column: Option<usize>,
    name: &str,
    expr: &ast::Expr,
) -> Result<Expr> {
    let bound = bind_table_expr(session, expr, def).map_err(|e| match e.code() {
        ErrorCode::BAD_FIELD => Error::check_constraint_refers_unknown_column(name, unknown_column(&e)),
        ErrorCode::NOT_SUPPORTED_YET => Error::check_constraint_function_is_not_allowed(name),
        _ => e,
    })?;
    match disallowed(session, expr, &bound) {
        Some(Disallowed::Function(f)) => return Err(Error::check_constraint_named_function_is_not_allowed(name, f)),
        Some(Disallowed::Variable) => return Err(Error::check_constraint_variables(name)),
        None => {}
    }
    if bound.ty != SqlType::Bool && bound.as_const().is_none() {
        return Err(Error::non_boolean_expr_for_check_constraint(name));
    }
    for used in columns_of(&bound) {
        if def.columns[used].auto_increment {
            return Err(Error::check_constraint_refers_auto_increment_column(name));
        }
        if column.is_some_and(|c| c != used) {
            return Err(Error::column_check_constraint_references_other_column(name));
        }
    }
    expr::build::truth(bound)
}

/// Of all tables but the one being defined, which is there already when it is altered.
fn names_in_schema(session: &Frame<'_>, def: &TableDef, names: impl Fn(&TableDef) -> Vec<Box<str>>) -> Vec<Box<str>> {
    session.db().catalog().read(|s| {
        let relations = s.get(&def.schema).into_iter().flat_map(|s| s.relations.iter());
        let others = relations.filter_map(|r| match r {
            Relation::Table(t) if t.name != def.name => Some(t),
            _ => None,
        });
        others.flat_map(|t| names(t)).collect()
    })
}

/// Adds FOREIGN KEYs, and an index for each that has none. Engines without transactions forget them, as in MySQL.
pub fn add_foreign_keys(session: &Frame<'_>, def: &mut TableDef, keys: &[ast::ForeignKey]) -> Result<()> {
    if keys.is_empty() || def.engine != TableEngine::InnoDb {
        return Ok(());
    }
    if def.temporary {
        return Err(Error::cannot_add_foreign());
    }
    let taken = names_in_schema(session, def, |t| t.foreign_keys.iter().map(|f| f.name.clone()).collect());
    let mut number = 0;
    for key in keys {
        let name: Box<str> = match &key.constraint {
            Some(n) => n.as_str().into(),
            None => {
                number += 1;
                format!("{}_ibfk_{number}", def.name).into()
            }
        };
        if name.chars().count() > 64 {
            return Err(Error::too_long_ident(&name));
        }
        let is = |n: &str| n.eq_ignore_ascii_case(&name);
        if def.foreign_keys.iter().any(|f| is(&f.name)) || taken.iter().any(|n| is(n)) {
            return Err(Error::fk_dup_name(&name));
        }
        let fk = foreign_key(session, def, name, key)?;
        check_parent(session, def, &fk)?;
        add_index(def, key, &fk);
        def.foreign_keys.push(fk);
    }
    drop_superseded_keys(def);
    for fk in &def.foreign_keys {
        let acts = |a| matches!(a, FkAction::Cascade | FkAction::SetNull);
        let uses = |c: &&CheckConstraint| columns_of(&c.expr).iter().any(|u| fk.columns.contains(u));
        if (acts(fk.on_update) || fk.on_delete == FkAction::SetNull)
            && let Some(check) = def.checks.iter().find(uses)
        {
            let column = &def.columns[fk.columns[0]].name;
            return Err(Error::check_constraint_clause_using_fk_refer_action_column(column, &check.name, &fk.name));
        }
    }
    Ok(())
}

fn action(a: Option<ast::FkAction>) -> Result<FkAction> {
    Ok(match a {
        None | Some(ast::FkAction::NoAction) => FkAction::NoAction,
        Some(ast::FkAction::Restrict) => FkAction::Restrict,
        Some(ast::FkAction::Cascade) => FkAction::Cascade,
        Some(ast::FkAction::SetNull) => FkAction::SetNull,
        // InnoDB refuses it.
        Some(ast::FkAction::SetDefault) => return Err(Error::cannot_add_foreign()),
    })
}

fn foreign_key(session: &Frame<'_>, def: &TableDef, name: Box<str>, key: &ast::ForeignKey) -> Result<ForeignKey> {
    let r = &key.references;
    if matches!(r.match_, Some(ast::FkMatch::Full | ast::FkMatch::Partial)) {
        return Err(Error::not_supported("MATCH FULL and MATCH PARTIAL"));
    }
    let mut columns = Vec::new();
    for c in &key.columns {
        let idx = def.column_idx(c).ok_or_else(|| Error::key_column_does_not_exist(c.as_str()))?;
        if columns.contains(&idx) {
            return Err(Error::dup_fieldname(c.as_str()));
        }
        columns.push(idx);
    }
    if columns.len() != r.columns.len() {
        return Err(Error::wrong_fk_def(&name, "Key reference and table reference don't match"));
    }
    let (on_delete, on_update) = (action(r.on_delete)?, action(r.on_update)?);
    for &c in &columns {
        let c = &def.columns[c];
        if !c.nullable && (on_delete == FkAction::SetNull || on_update == FkAction::SetNull) {
            return Err(Error::fk_column_not_null(&c.name, &name));
        }
        let Some(g) = &c.generated else { continue };
        if !g.stored {
            return Err(Error::fk_cannot_use_virtual_column(&name, &c.name));
        }
        let clause = match (on_update, on_delete) {
            (FkAction::Cascade, _) => "ON UPDATE CASCADE",
            (FkAction::SetNull, _) => "ON UPDATE SET NULL",
            (_, FkAction::SetNull) => "ON DELETE SET NULL",
            _ => continue,
        };
        return Err(Error::wrong_fk_option_for_generated_column(clause));
    }
    let parent_schema: Box<str> = match &r.table.schema {
        Some(s) => session.canonical_schema(s).unwrap_or_else(|| s.as_str().into()),
        None => def.schema.clone(),
    };
    Ok(ForeignKey {
        name,
        columns,
        parent_schema,
        parent_table: r.table.name.as_str().into(),
        parent_columns: r.columns.iter().map(|c| c.as_str().into()).collect(),
        on_delete,
        on_update,
    })
}

/// The parent's columns must fit, and be a unique key. Without foreign_key_checks a missing parent is no fault, nor is
/// it where the table itself has no such key.
fn check_parent(session: &Frame<'_>, def: &TableDef, fk: &ForeignKey) -> Result<()> {
    let strict = session.vars().on("foreign_key_checks");
    let found;
    let parent: &TableDef = if fk.references(&def.schema, &def.name) {
        def
    } else {
        match session.db().catalog().relation(&fk.parent_schema, &fk.parent_table) {
            Some(Relation::Table(t)) => {
                found = t;
                &found
            }
            _ if strict => return Err(Error::fk_cannot_open_parent(&fk.parent_table)),
            _ => return Ok(()),
        }
    };
    if parent.engine != TableEngine::InnoDb {
        return if strict { Err(Error::cannot_add_foreign()) } else { Ok(()) };
    }
    for (&child, name) in fk.columns.iter().zip(&fk.parent_columns) {
        let Some(idx) = parent.column_idx(name) else {
            return Err(Error::fk_no_column_parent(name, &fk.name, &fk.parent_table));
        };
        let (c, p) = (&def.columns[child], &parent.columns[idx]);
        if !compatible(&c.ty, &p.ty) {
            return Err(Error::fk_incompatible_columns(&c.name, &p.name, &fk.name));
        }
        if p.generated.as_ref().is_some_and(|g| !g.stored) {
            return Err(Error::fk_cannot_use_virtual_column(&fk.name, &p.name));
        }
    }
    let is_own = std::ptr::eq(parent, def);
    if (strict || !is_own) && parent.referenced_index(&fk.parent_columns).is_none() {
        return Err(Error::fk_no_index_parent(&fk.name, &fk.parent_table));
    }
    Ok(())
}

/// A table that others refer to which were made before it (without foreign_key_checks) must fit them when it comes,
/// under this name: 3734, 3780, 1822.
pub fn check_children(session: &Frame<'_>, parent: &TableDef, (schema, name): (&str, &str)) -> Result<()> {
    if parent.engine != TableEngine::InnoDb {
        return Ok(());
    }
    for (child, fk) in session.db().catalog().references_to(schema, name).iter() {
        let fk = &child.foreign_keys[*fk];
        for (&column, parent_column) in fk.columns.iter().zip(&fk.parent_columns) {
            let Some(idx) = parent.column_idx(parent_column) else {
                return Err(Error::fk_no_column_parent(parent_column, &fk.name, name));
            };
            if !compatible(&child.columns[column].ty, &parent.columns[idx].ty) {
                return Err(Error::fk_incompatible_columns(&child.columns[column].name, parent_column, &fk.name));
            }
        }
        if parent.referenced_index(&fk.parent_columns).is_none() {
            return Err(Error::fk_no_index_parent(&fk.name, name));
        }
    }
    Ok(())
}

/// Same type; only strings may differ in length, not in character set or collation.
fn compatible(a: &SqlType, b: &SqlType) -> bool {
    match (a, b) {
        (SqlType::String { kind: ka, collation: ca, .. }, SqlType::String { kind: kb, collation: cb, .. }) => {
            let is_short = |k: &StringKind| matches!(k, StringKind::Char | StringKind::VarChar);
            is_short(ka) && is_short(kb) && ca == cb
        }
        _ => a == b,
    }
}

/// Parents look for their children by an index that begins with the key's columns.
fn add_index(def: &mut TableDef, key: &ast::ForeignKey, fk: &ForeignKey) {
    if def.indexes.iter().any(|i| i.begins_with(fk.columns.iter().copied())) {
        return;
    }
    let name = match (&key.constraint, &key.index_name) {
        (Some(n), _) | (None, Some(n)) => n.as_str().into(),
        (None, None) => index::generated_name(&def.columns[fk.columns[0]].name, &def.indexes),
    };
    let part = |&column_idx: &usize| IndexPart { column_idx, prefix_len: None, descending: false };
    def.indexes.push(IndexDef {
        name,
        kind: IndexKind::Plain,
        parts: fk.columns.iter().map(part).collect(),
        algorithm: None,
        comment: "".into(),
        invisible: false,
        made_for_foreign_key: true,
    });
}

/// Keys that were made for foreign keys go where another one begins with their columns.
pub fn drop_superseded_keys(def: &mut TableDef) {
    while let Some(at) = def.indexes.iter().position(|i| i.made_for_foreign_key && is_superseded(def, i)) {
        def.indexes.remove(at);
    }
}

fn is_superseded(def: &TableDef, index: &IndexDef) -> bool {
    def.indexes.iter().any(|i| i.name != index.name && i.begins_with(index.parts.iter().map(|p| p.column_idx)))
}

/// What the session binds expressions under.
pub fn bound_under(frame: &Frame<'_>) -> BoundUnder {
    BoundUnder::of(&frame.info())
}

/// An expression over the columns of a table.
pub fn bind_table_expr(frame: &Frame<'_>, e: &ast::Expr, table: &TableDef) -> Result<Expr> {
    let info = frame.info();
    frame.binder(&info).bind_table_expr(e, table)
}

/// 3730 if a table that stays refers to one that goes.
pub fn check_no_reference_left(frame: &Frame<'_>, going: &[(Box<str>, Box<str>)]) -> Result<()> {
    if !frame.vars().on("foreign_key_checks") {
        return Ok(());
    }
    for (schema, table) in going {
        for (child, fk) in frame.db().catalog().references_to(schema, table).iter() {
            if !going.iter().any(|(s, t)| *s == child.schema && *t == child.name) {
                let fk = &child.foreign_keys[*fk];
                return Err(Error::fk_cannot_drop_parent(table, &fk.name, &child.name));
            }
        }
    }
    Ok(())
}

/// 1701 if another table refers to the one that is to be emptied.
pub fn check_not_referenced(frame: &Frame<'_>, def: &TableDef) -> Result<()> {
    if !frame.vars().on("foreign_key_checks") {
        return Ok(());
    }
    for (child, fk) in frame.db().catalog().references_to(&def.schema, &def.name).iter() {
        if child.id != def.id {
            let quote = introspection::show_create::quote;
            let constraint = introspection::show_create::foreign_key(child, &child.foreign_keys[*fk]);
            let what = format!("{}.{}, {constraint}", quote(&child.schema), quote(&child.name));
            return Err(Error::truncate_illegal_fk(what));
        }
    }
    Ok(())
}

/// The definition under another name: generated names of its constraints follow.
pub fn renamed(def: &TableDef, schema: &str, name: &str) -> TableDef {
    let mut new = TableDef { schema: schema.into(), name: name.into(), ..def.clone() };
    let rename = |constraint: &mut Box<str>, middle: &str| {
        if let Some(number) = constraint.strip_prefix(&*def.name).and_then(|r| r.strip_prefix(middle)) {
            *constraint = format!("{name}{middle}{number}").into();
        }
    };
    new.checks.iter_mut().for_each(|c| rename(&mut c.name, "_chk_"));
    new.foreign_keys.iter_mut().for_each(|f| rename(&mut f.name, "_ibfk_"));
    new.sort_constraints();
    new
}

/// Columns of a table that get other names: the names before and now.
#[derive(Default)]
pub struct RenamedColumns(pub Vec<(Box<str>, Box<str>)>);

impl RenamedColumns {
    /// What the column is called now.
    pub fn now<'a>(&'a self, name: &'a str) -> &'a str {
        let same = |old: &str| old.eq_ignore_ascii_case(name) || old.to_lowercase() == name.to_lowercase();
        self.0.iter().find(|(old, _)| same(old)).map_or(name, |(_, new)| new)
    }

    /// The foreign key, if it refers to the table, refers to its columns by their new names.
    pub fn in_key(&self, fk: &ForeignKey, (schema, table): (&str, &str)) -> ForeignKey {
        let mut fk = fk.clone();
        if fk.references(schema, table) {
            fk.parent_columns.iter_mut().for_each(|c| *c = self.now(c).into());
        }
        fk
    }

    /// The definition with its references to the table brought up to date; `None`: nothing in it changes.
    pub fn in_definition(&self, def: &TableDef, parent: (&str, &str)) -> Option<TableDef> {
        let keys: Vec<ForeignKey> = def.foreign_keys.iter().map(|fk| self.in_key(fk, parent)).collect();
        (keys != def.foreign_keys).then(|| TableDef { foreign_keys: keys, ..def.clone() })
    }
}

/// The definition with references to a renamed table brought up to date; `None` if it has none.
pub fn with_parent_renamed(def: &TableDef, from: (&str, &str), to: (&str, &str)) -> Option<TableDef> {
    if !def.foreign_keys.iter().any(|f| f.references(from.0, from.1)) {
        return None;
    }
    let mut new = def.clone();
    for fk in new.foreign_keys.iter_mut().filter(|f| f.references(from.0, from.1)) {
        (fk.parent_schema, fk.parent_table) = (to.0.into(), to.1.into());
    }
    Some(new)
}
