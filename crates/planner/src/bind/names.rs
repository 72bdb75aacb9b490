//! What a column name means.
//!
//! A name is looked for in the current block, then in the enclosing ones. Within a block:
//!
//! | clause                      | order                                                        |
//! |-----------------------------|--------------------------------------------------------------|
//! | WHERE, ON, items            | FROM                                                         |
//! | GROUP BY                    | FROM, then aliases                                           |
//! | HAVING                      | GROUP BY columns, then items; within an aggregate FROM       |
//! | ORDER BY                    | a whole key: aliases, then FROM; within a key: FROM, aliases |
//! | from a subquery of the block| FROM, then aliases of the items bound so far                 |
//!
//! Source: MySQL manual, "SELECT Statement" and "Problems with Column Aliases".

use super::api::Bind;
use super::scope::{Block, Clause, Item, Scope, SourceColumn, same_name};
use expr::{Expr, ExprKind};
use parser::ast;
use types::{Error, Result};

/// The name as it was written.
pub fn written(c: &ast::ColumnRef) -> String {
    match (&c.schema, &c.table) {
        (Some(s), Some(t)) => format!("{}.{}.{}", &**s, &**t, &*c.name),
        (_, Some(t)) => format!("{}.{}", &**t, &*c.name),
        _ => c.name.to_string(),
    }
}

/// Looks in a FROM. 1052 if several columns match.
pub fn find_in_scope<'s>(scope: &'s Scope, c: &ast::ColumnRef, clause: Clause) -> Result<Option<&'s SourceColumn>> {
    let mut found: Option<&SourceColumn> = None;
    let mut take = |column: &'s SourceColumn| {
        if found.is_some_and(|f| f.id != column.id) {
            return Err(Error::non_uniq(written(c), clause.name()));
        }
        found = Some(column);
        Ok(())
    };
    match &c.table {
        None => {
            for v in &scope.visible {
                if same_name(&v.name, &c.name) {
                    take(v)?;
                }
            }
        }
        Some(table) => {
            for s in &scope.sources {
                if *s.alias == *table.0 && c.schema.as_ref().is_none_or(|schema| s.schema == schema.0) {
                    for column in s.columns.iter().filter(|column| same_name(&column.name, &c.name)) {
                        take(column)?;
                    }
                }
            }
        }
    }
    Ok(found)
}

/// How an item was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundBy {
    /// Its alias, or its name if it has none.
    Name,
    /// The own name of a column that goes by an alias.
    HiddenName,
}

/// Looks among select items. 1052 if two different columns have the name; a computed item of that name comes before any
/// column.
pub fn find_item<'b>(block: &'b Block, c: &ast::ColumnRef) -> Result<Option<(&'b Item, FoundBy)>> {
    let mut found: Option<&Item> = None;
    let mut hidden: Option<&Item> = None;
    let mut ambiguous = false;
    for item in &block.items {
        let Some((table, name)) = &item.column else {
            if c.table.is_none() && same_name(&item.name, &c.name) {
                if ambiguous {
                    break;
                }
                return Ok(Some((item, FoundBy::Name)));
            }
            continue;
        };
        let by_name = match &c.table {
            None => same_name(&item.name, &c.name),
            Some(t) => **table == *t.0 && same_name(name, &c.name),
        };
        if by_name {
            ambiguous |= found.is_some_and(|f| f.expr != item.expr);
            found = Some(item);
        } else if c.table.is_none() && same_name(name, &c.name) {
            hidden.get_or_insert(item);
        }
    }
    if ambiguous {
        return Err(Error::non_uniq(written(c), block.clause.name()));
    }
    Ok(found.map(|i| (i, FoundBy::Name)).or(hidden.map(|i| (i, FoundBy::HiddenName))))
}

impl Bind<'_, '_, '_> {
    /// A column by name, in the current block or an enclosing one.
    pub fn column(&mut self, c: &ast::ColumnRef) -> Result<Expr> {
        let current = self.blocks.len() - 1;
        for level in (0..=current).rev() {
            if self.blocks[level].hidden {
                continue;
            }
            if let Some(e) = self.find_in_block(level, c)? {
                self.note_reference(level, &e);
                self.note_name(level, c, &e);
                return Ok(e);
            }
        }
        Err(Error::bad_field(written(c), self.blocks[current].clause.name()))
    }

    /// An aggregate's argument that names an item made of an aggregate: 1247 instead of 1054.
    fn check_no_aggregate_alias(&self, block: &Block, c: &ast::ColumnRef) -> Result<()> {
        match find_item(block, c) {
            Ok(Some((item, _))) if self.has_aggregate(block, &item.expr) => {
                Err(Error::illegal_reference(&item.name, "reference to group function"))
            }
            _ => Ok(()),
        }
    }

    fn find_in_block(&self, level: usize, c: &ast::ColumnRef) -> Result<Option<Expr>> {
        let block = &self.blocks[level];
        let outer = level + 1 < self.blocks.len();
        let clause = block.clause;
        if clause == Clause::Having && block.in_aggregate == 0 && !outer {
            return self.find_in_having(block, c);
        }
        if let Some(column) = find_in_scope(&block.scope, c, self.blocks[self.blocks.len() - 1].clause)? {
            return Ok(Some(self.read(block, column)));
        }
        // An aggregate's arguments see only FROM; so do WHERE and ON, which are bound before there are items.
        let aliases = block.in_aggregate == 0
            && match clause {
                Clause::GroupBy | Clause::OrderBy | Clause::Having => true,
                Clause::FieldList => outer,
                _ => false,
            };
        if !aliases {
            if block.in_aggregate > 0 && !outer {
                self.check_no_aggregate_alias(block, c)?;
            }
            return Ok(None);
        }
        match find_item(block, c)? {
            None => Ok(None),
            Some((item, _)) => {
                if clause == Clause::GroupBy || (clause == Clause::Having && outer) {
                    self.check_no_window(block, item)?;
                }
                if clause == Clause::GroupBy && self.has_aggregate(block, &item.expr) {
                    return Err(Error::illegal_reference(written(c), "reference to group function"));
                }
                Ok(Some(item.expr.clone()))
            }
        }
    }

    /// HAVING sees the groups' columns, then the items.
    fn find_in_having(&self, block: &Block, c: &ast::ColumnRef) -> Result<Option<Expr>> {
        let item = find_item(block, c)?;
        if let Ok(Some(column)) = find_in_scope(&block.scope, c, Clause::Having) {
            let grouped = |e: &Expr| matches!(e.kind, ExprKind::Column(id) if id == column.id);
            if block.groups.iter().any(grouped) {
                return Ok(Some(self.read(block, column)));
            }
        }
        // A column that is neither grouped nor selected is out of HAVING's sight.
        let Some((item, _)) = item else { return Ok(None) };
        self.check_no_window(block, item)?;
        Ok(Some(item.expr.clone()))
    }

    fn check_no_window(&self, block: &Block, item: &Item) -> Result<()> {
        let ids: Vec<_> = block.windows.iter().flat_map(|w| w.calls.iter().map(|(id, _)| *id)).collect();
        let mut windowed = false;
        item.expr.walk(&mut |e| windowed |= matches!(e.kind, ExprKind::Column(id) if ids.contains(&id)));
        if windowed {
            return Err(Error::window_invalid_window_func_alias_use(&item.name));
        }
        Ok(())
    }

    /// Whether the expression, its subqueries included, reads an aggregate of the block.
    pub fn has_aggregate(&self, block: &Block, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |e| {
            found |= match e.kind {
                ExprKind::Column(id) => block.aggregates.iter().any(|(a, _)| *a == id),
                ExprKind::Subquery(id) => self.subquery_has_aggregate(block, id),
                _ => false,
            }
        });
        found
    }

    fn subquery_has_aggregate(&self, block: &Block, id: expr::SubqueryId) -> bool {
        let Some(def) = &self.shared.subqueries[id as usize] else { return false };
        let mut found = false;
        def.plan.walk(&mut |node| found |= node.exprs().into_iter().any(|e| self.has_aggregate(block, e)));
        if let plan::logical::SubqueryKind::Quantified { left, .. } = &def.kind {
            found |= left.iter().any(|e| self.has_aggregate(block, e));
        }
        found
    }

    /// A whole key of GROUP BY that is a name: a column of FROM, else an item. Where FROM has several, an item decides.
    pub fn group_column(&mut self, c: &ast::ColumnRef) -> Result<Expr> {
        let block = self.blocks.last().expect("a block is being bound");
        let item = find_item(block, c)?;
        let from = find_in_scope(&block.scope, c, Clause::GroupBy);
        match (from, item) {
            (Ok(None) | Err(_), Some((item, FoundBy::Name))) => {
                if self.has_aggregate(block, &item.expr) {
                    return Err(Error::wrong_group_field(written(c)));
                }
                self.check_no_window(block, item)?;
                let e = item.expr.clone();
                self.note_reference(self.blocks.len() - 1, &e);
                Ok(e)
            }
            _ => self.column(c),
        }
    }

    fn read(&self, block: &Block, column: &SourceColumn) -> Expr {
        match block.positional {
            Some(ref types) => {
                let (ty, nullable) = types[column.id as usize];
                match block.values {
                    Some(values) => Expr::constant(values[column.id as usize].clone(), ty),
                    None => Expr::column(column.id, ty, nullable),
                }
            }
            None => self.shared.columns.expr(column.id),
        }
    }
}
