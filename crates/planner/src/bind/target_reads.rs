//! Statements that change a table and read it in a subquery, which are refused: 1093, 1288, 1443 and 1471.
//!
//! ```text
//!   UPDATE v SET a = (SELECT MAX(a) FROM w)     v, w: views of t       noted: t, read through w        1443
//! ```
//! Reads are noted while subqueries are bound; the check comes when it is known which tables the statement changes. A
//! derived table, a common table expression or a view that is not merged holds its rows before anything changes, so
//! what these read does not count. A view reads its tables in the place where it is named.
//!
//! Source: MySQL manual, "Restrictions on Subqueries", "Updatable and Insertable Views".

use super::api::{Bind, Shared};
use catalog::{TableId, ViewDef};
use expr::ExprKind;
use plan::logical::Logical;
use types::{Error, Result};

/// A table that some subquery reads.
#[derive(Debug)]
pub(super) struct SubqueryRead {
    table: TableId,
    through: Option<ReadView>,
}

/// The outermost view that a table is read through.
#[derive(Clone, Debug)]
struct ReadView {
    alias: Box<str>,
    name: (Box<str>, Box<str>),
    /// It stands in the FROM of the statement itself; a subquery in its definition reads the table.
    in_from: bool,
}

/// What a statement changes, as it names it.
#[derive(Clone, Debug)]
pub struct NamedTarget {
    pub alias: Box<str>,
    /// The schema and name of the view that it is.
    pub view: Option<(Box<str>, Box<str>)>,
}

impl Shared<'_> {
    /// Has reads noted from now on.
    pub fn note_reads(&mut self) {
        self.reads = Some(vec![]);
    }

    fn read_count(&self) -> usize {
        self.reads.as_ref().map_or(0, Vec::len)
    }

    /// What was read since `mark` is read before the statement changes anything.
    pub fn forget_reads(&mut self, mark: usize) {
        self.reads.iter_mut().for_each(|r| r.truncate(mark));
    }

    /// The statement, an `operation` on `target`, changes the table `changed`.
    pub fn check_not_read(&self, changed: TableId, target: &NamedTarget, operation: &str) -> Result<()> {
        let mut reads = self.reads.iter().flatten();
        let Some(read) = reads.find(|r| changed == r.table) else { return Ok(()) };
        let alias = &*target.alias;
        Err(match (&target.view, &read.through) {
            (Some(_), Some(read)) if read.in_from && *read.alias == *alias => match operation {
                "INSERT" => Error::non_insertable_table(alias, operation),
                _ => Error::non_updatable_table(alias, operation),
            },
            (Some(view), Some(read)) if *view == read.name => Error::update_table_used(alias),
            (_, Some(read)) => Error::view_prevent_update(&read.alias, operation, alias),
            (Some(_), None) => Error::view_prevent_update(alias, operation, alias),
            (None, None) => Error::update_table_used(alias),
        })
    }
}

impl Bind<'_, '_, '_> {
    /// Whether what is bound now stands in a subquery of the statement.
    pub fn is_in_subquery(&self) -> bool {
        self.blocks.len() > 1 || self.shared.within_subquery
    }

    /// A mark for [`Shared::forget_reads`] and [`Bind::read_through`].
    pub fn reads_mark(&self) -> usize {
        self.shared.read_count()
    }

    pub fn note_read(&mut self, table: TableId) {
        if self.is_in_subquery()
            && let Some(reads) = &mut self.shared.reads
        {
            reads.push(SubqueryRead { table, through: None });
        }
    }

    /// What was read since `mark` was read by a view, whose query is block number `block`.
    pub fn read_through(&mut self, view: &ViewDef, alias: &str, plan: &Logical, block: u32, mark: usize) {
        let in_from = !self.is_in_subquery();
        let blocks = self.shared.columns.blocks.all();
        let merged = blocks.get(block as usize - 1).is_some_and(|b| b.is_mergeable())
            && &*view.algorithm != "TEMPTABLE"
            && (in_from || !has_subquery_items(plan));
        let Some(reads) = &mut self.shared.reads else { return };
        if !merged {
            return reads.truncate(mark);
        }
        let name = (view.schema.clone(), view.name.clone());
        let through = ReadView { alias: alias.into(), name, in_from };
        reads[mark..].iter_mut().for_each(|r| r.through = Some(through.clone()));
    }
}

/// Whether there are subqueries in the SELECT list, which keep a view from being merged.
fn has_subquery_items(plan: &Logical) -> bool {
    let Logical::Project { exprs, .. } = plan else { return false };
    let mut found = false;
    exprs.iter().for_each(|(_, e)| e.walk(&mut |e| found |= matches!(e.kind, ExprKind::Subquery(_))));
    found
}
