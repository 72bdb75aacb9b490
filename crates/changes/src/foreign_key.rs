//! FOREIGN KEYs as rows change.
//!
//! ```text
//!   child row comes, or its key changes ─▶ the parent row must exist; it is shared, so that it stays until commit
//!   parent row goes, or its key changes ─▶ rows that refer to it: refused, deleted, updated, or set to NULL
//! ```
//! Why no concurrent history leaves an orphan: whoever makes a reference to a key shares the key's row until it ends,
//! and whoever removes the key holds it alone. One of two such transactions waits for the other, and then looks at
//! newest versions.
//!
//! Actions are taken at once, row by row, as InnoDB does; the standard's deferred NO ACTION is RESTRICT. Referencing
//! rows are changed through a [`TableChanges`] of their table, so their own promises hold too.
//!
//! Source: MySQL manual, "FOREIGN KEY Constraints".

use super::table::{TableChanges, same};
use crate::statement::Statement;
use catalog::{FkAction, ForeignKey, Relation, TableDef, TableId};
use std::sync::Arc;
use storage::{Candidates, Found, KeyRange, LockWait, RowLockMode, Snapshot, Table, Txn};
use types::{Error, Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Bounds, Chunk};

/// Referential actions that one row may set off, one in consequence of the other (InnoDB).
const CASCADE_DEPTH_MAX: u32 = 15;

/// How a writer came to change rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Cascade {
    depth: u32,
    /// Tables in which rows were updated on the way here.
    updated: Vec<TableId>,
}

/// A reference from the table.
struct Outgoing {
    /// Position in the definition's foreign keys.
    fk: usize,
    parent: Option<(Arc<Table>, usize)>,
    /// To the table itself, which nobody can see yet: all its rows are looked at when they are there
    /// ([`check_own_references`]).
    is_late: bool,
}

/// A reference to the table.
#[derive(Clone)]
pub(super) struct Incoming {
    child: Arc<TableDef>,
    fk: usize,
    /// Positions of the referenced columns in this table.
    columns: Vec<usize>,
}

impl Incoming {
    fn key(&self) -> &ForeignKey {
        &self.child.foreign_keys[self.fk]
    }
}

/// The references from and to a table; none with foreign_key_checks=0.
#[derive(Default)]
pub(super) struct ForeignKeys {
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// All columns of this table that are referred to.
    referenced: Vec<usize>,
}

impl ForeignKeys {
    pub fn new(statement: &dyn Statement, def: &TableDef) -> Result<ForeignKeys> {
        let mut keys = ForeignKeys::default();
        if def.temporary || !statement.settings().foreign_key_checks {
            return Ok(keys);
        }
        for (fk, key) in def.foreign_keys.iter().enumerate() {
            let own = key.references(&def.schema, &def.name);
            let (parent, is_late) = match statement.relation_of_key(&key.parent_schema, &key.parent_table)? {
                Some(Relation::Table(p)) if !own || p.id == def.id => {
                    let index = p.referenced_index(&key.parent_columns);
                    (index.map(|i| Ok((statement.store().expect_table(&p)?, i))).transpose()?, false)
                }
                _ => (None, own),
            };
            keys.outgoing.push(Outgoing { fk, parent, is_late });
        }
        for (child, fk) in statement.catalog().references_to(&def.schema, &def.name).iter() {
            // Looking the name up keeps the table's definition in place until the transaction ends.
            let Some(Relation::Table(now)) = statement.relation_of_key(&child.schema, &child.name)? else { continue };
            let child = if now.id == child.id { &now } else { child };
            let names = &child.foreign_keys[*fk].parent_columns;
            let Some(columns) = names.iter().map(|n| def.column_idx(n)).collect::<Option<Vec<usize>>>() else {
                continue;
            };
            keys.referenced.extend(columns.iter().filter(|c| !keys.referenced.contains(c)).collect::<Vec<_>>());
            keys.incoming.push(Incoming { child: child.clone(), fk: *fk, columns });
        }
        Ok(keys)
    }

    /// Whether rows of the table refer to others.
    pub fn refers(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub fn is_referenced(&self) -> bool {
        !self.incoming.is_empty()
    }

    pub fn referenced_columns(&self) -> &[usize] {
        &self.referenced
    }

    /// Whether an update of these columns may break a reference.
    pub fn concerns(&self, columns: &[usize], def: &TableDef) -> bool {
        let depends = |c: &usize| def.columns[*c].generated.is_some();
        columns.iter().any(|c| self.referenced.contains(c))
            || self
                .outgoing
                .iter()
                .any(|o| def.foreign_keys[o.fk].columns.iter().any(|c| columns.contains(c) || depends(c)))
            || self.referenced.iter().any(depends)
    }
}

/// 1452 if a row of a table that nobody can see yet refers to a row of the table that is not there.
pub fn check_own_references(statement: &dyn Statement, def: &TableDef, txn: &Txn) -> Result<()> {
    let keys = ForeignKeys::new(statement, def)?;
    let table = statement.store().expect_table(def)?;
    let snapshot = statement.store().txns().current(txn);
    for fk in keys.outgoing.iter().filter(|o| o.is_late).map(|o| &def.foreign_keys[o.fk]) {
        let index = def.referenced_index(&fk.parent_columns);
        for leaf in 0..table.leaf_count() {
            statement.check_killed()?;
            let Some(view) = table.scan_leaf(leaf, &fk.columns, &snapshot) else { continue };
            let refers = |p: &u16| view.columns.iter().all(|c| c.is_valid(*p as usize));
            let rows: Vec<u16> = view.selection.to_positions(view.rows).into_iter().filter(refers).collect();
            let key: Vec<Chunk> = view.columns.iter().map(|c| c.gather(&rows)).collect();
            let refs: Vec<&Chunk> = key.iter().collect();
            let is_there = |i: usize| table.get_many(i, &refs, rows.len(), &snapshot).iter().all(Option::is_some);
            if !rows.is_empty() && !index.is_some_and(is_there) {
                return Err(Error::no_referenced_row_2(statement.reference_text(def, fk)));
            }
        }
    }
    Ok(())
}

impl TableChanges<'_> {
    /// Makes sure that the rows exist that the row `id` refers to, and that they stay. `changed`: only by these
    /// columns.
    pub(super) fn check_parents(&self, id: u64, changed: Option<&[usize]>) -> Result<()> {
        for o in &self.keys.outgoing {
            let fk = &self.def.foreign_keys[o.fk];
            if o.is_late || changed.is_some_and(|c| !fk.columns.iter().any(|f| c.contains(f))) {
                continue;
            }
            let key = self.table.fetch(&[id], &fk.columns, &self.current()).columns;
            if key.iter().any(|c| !c.is_valid(0)) {
                continue;
            }
            let refs: Vec<&Chunk> = key.iter().collect();
            let found = match &o.parent {
                Some((parent, index)) => self.share_parent(parent, *index, &refs)?,
                None => false,
            };
            if !found {
                return Err(Error::no_referenced_row_2(self.statement.reference_text(&self.def, fk)));
            }
        }
        Ok(())
    }

    /// Whether a row has the key. It is shared then, else the key is held absent.
    fn share_parent(&self, parent: &Arc<Table>, index: usize, key: &[&Chunk]) -> Result<bool> {
        let hold = self.statement.holds_absent_keys();
        let mut found = parent.lock_key(&self.txn, index, key)?.is_some();
        while !found && hold {
            let settled = parent.lock_absent(&self.txn, index, key, LockWait::Wait, &self.current(), hold)?;
            // Unless its absence is held, it may have come meanwhile.
            found = parent.lock_key(&self.txn, index, key)?.is_some();
            if settled {
                break;
            }
        }
        Ok(found)
    }

    /// Why an update of a row that others refer to is to be refused, if it is, and the unique index that the references
    /// are to: InnoDB changes one index after the other, and looks for references to the old key before it looks for a
    /// duplicate of the new one. Arguments as [`Table::update`] has them; `old`: all columns, the row at position `at`.
    pub(super) fn find_restriction(
        &self,
        old: &[Chunk],
        at: usize,
        columns: &[usize],
        values: &[&Chunk],
    ) -> Result<Option<(usize, Error)>> {
        let mut first: Option<(usize, Error)> = None;
        for incoming in &self.keys.incoming {
            let stays = |r: &usize| match columns.iter().position(|c| c == r) {
                Some(i) => same(&old[*r], at, values[i], at),
                None => true,
            };
            if self.action(incoming, true) != FkAction::Restrict || incoming.columns.iter().all(stays) {
                continue;
            }
            let key: Vec<Chunk> = incoming.columns.iter().map(|&c| old[c].gather(&[at as u16])).collect();
            if key.iter().any(|c| !c.is_valid(0)) || self.find_children(incoming, &key)?.is_empty() {
                continue;
            }
            let index = self.def.referenced_index(&incoming.key().parent_columns).unwrap_or(0);
            if first.as_ref().is_none_or(|(before, _)| index < *before) {
                first = Some((
                    index,
                    Error::row_is_referenced_2(self.statement.reference_text(&incoming.child, incoming.key())),
                ));
            }
        }
        Ok(first)
    }

    /// What a change of a referenced row does to those that refer to it.
    fn action(&self, incoming: &Incoming, is_update: bool) -> FkAction {
        let fk = incoming.key();
        // An update that comes back to a table it has been in is refused (InnoDB).
        let comes_back = incoming.child.id == self.def.id || self.cascade.updated.contains(&incoming.child.id);
        match if is_update { fk.on_update } else { fk.on_delete } {
            FkAction::Cascade | FkAction::SetNull if is_update && comes_back => FkAction::Restrict,
            FkAction::NoAction => FkAction::Restrict,
            action => action,
        }
    }

    /// Takes the actions of all references to a row that was deleted, or of which `changed` columns were updated.
    /// `old`: all columns of the table as they were, the row at position `at`.
    pub(super) fn referenced_row_changed(
        &mut self,
        id: u64,
        old: &[Chunk],
        at: usize,
        changed: Option<&[usize]>,
    ) -> Result<()> {
        for i in 0..self.keys.incoming.len() {
            let incoming = &self.keys.incoming[i];
            if changed.is_some_and(|c| !incoming.columns.iter().any(|r| c.contains(r))) {
                continue;
            }
            let old_key: Vec<Chunk> = incoming.columns.iter().map(|&c| old[c].gather(&[at as u16])).collect();
            if old_key.iter().any(|c| !c.is_valid(0)) {
                continue;
            }
            let new_key = match changed {
                None => None,
                Some(_) => {
                    let new = self.table.fetch(&[id], &incoming.columns, &self.current()).columns;
                    // Byte by byte, as InnoDB compares: a key that stays equal under its collation may change too.
                    if old_key.iter().zip(&new).all(|(o, n)| same(o, 0, n, 0)) {
                        continue;
                    }
                    Some(new)
                }
            };
            let incoming = incoming.clone();
            self.act(&incoming, &old_key, new_key)?;
        }
        Ok(())
    }

    /// `new_key`: what the key became; `None`: the row is gone.
    fn act(&mut self, incoming: &Incoming, old_key: &[Chunk], new_key: Option<Vec<Chunk>>) -> Result<()> {
        let fk = incoming.key();
        let action = self.action(incoming, new_key.is_some());
        let refused = || Error::row_is_referenced_2(self.statement.reference_text(&incoming.child, fk));
        let children = self.find_children(incoming, old_key)?;
        if children.is_empty() {
            return Ok(());
        }
        let depth = self.cascade.depth + 1;
        if action != FkAction::Restrict && depth > CASCADE_DEPTH_MAX {
            return Err(Error::fk_depth_exceeded(CASCADE_DEPTH_MAX));
        }
        if action != FkAction::Restrict {
            self.statement.lock_for_cascade(&incoming.child)?;
        }
        let mut updated = self.cascade.updated.clone();
        if new_key.is_some() {
            updated.push(self.def.id);
        }
        let cascade = Cascade { depth, updated };
        let values: Vec<Chunk> = match (action, new_key) {
            (FkAction::NoAction | FkAction::Restrict, _) => return Err(refused()),
            (FkAction::Cascade, None) => {
                let mut child =
                    TableChanges::cascading(self.statement, &incoming.child, self.txn.clone(), false, cascade)?;
                child.delete(&children)?;
                return Ok(());
            }
            (FkAction::Cascade, Some(new)) => new,
            (FkAction::SetNull, _) => {
                let ty = |c: &usize| incoming.child.columns[*c].ty.phys();
                fk.columns.iter().map(|c| Chunk::single(ty(c), &Value::Null)).collect()
            }
        };
        let mut child = TableChanges::cascading(self.statement, &incoming.child, self.txn.clone(), false, cascade)?;
        for ids in children.chunks(BATCH_ROWS_MAX) {
            let zeros = vec![0; ids.len()];
            let values: Vec<Arc<Chunk>> = values.iter().map(|v| Arc::new(v.gather(&zeros))).collect();
            child.update(ids, &fk.columns, &values)?;
        }
        Ok(())
    }

    /// The newest rows that refer to the key, all held by the transaction.
    fn find_children(&self, incoming: &Incoming, key: &[Chunk]) -> Result<Vec<u64>> {
        let child = self.statement.store().expect_table(&incoming.child)?;
        loop {
            self.statement.check_killed()?;
            let snapshot = self.current();
            let ids = rows_with(&child, &incoming.child, &incoming.key().columns, key, &snapshot);
            let found = child.lock_rows(&self.txn, &ids, RowLockMode::Exclusive, LockWait::Wait, &snapshot)?;
            if found.iter().all(|f| *f == Found::AsSeen) {
                return Ok(ids);
            }
        }
    }
}

/// The rows of a table that have these values in these columns, none of them NULL.
fn rows_with(table: &Arc<Table>, def: &TableDef, columns: &[usize], key: &[Chunk], snapshot: &Snapshot) -> Vec<u64> {
    let whole_key = def.indexes.iter().take_while(|i| i.is_unique()).position(|i| {
        i.parts.len() == columns.len()
            && i.parts.iter().zip(columns).all(|(p, c)| p.column_idx == *c && p.prefix_len.is_none())
    });
    if let Some(index) = whole_key {
        let refs: Vec<&Chunk> = key.iter().collect();
        return table.get_many(index, &refs, 1, snapshot).into_iter().flatten().collect();
    }
    let types: Vec<SqlType> = columns.iter().map(|&c| def.columns[c].ty).collect();
    let begins = def.indexes.iter().position(|i| {
        let parts = i.parts.iter().zip(columns);
        i.parts.len() >= columns.len() && parts.into_iter().all(|(p, c)| p.column_idx == *c && p.prefix_len.is_none())
    });
    if let Some(index) = begins
        && let Some(encoder) = table.index_encoder(index)
    {
        let values: Vec<Value> = key.iter().zip(&types).map(|(k, ty)| k.value(0, ty)).collect();
        let range = KeyRange::prefix(encoder.encode(&values));
        if let Some(mut cursor) = table.index_cursor(index, &range, false) {
            let (mut ids, mut batch) = (Vec::new(), Candidates::default());
            while cursor.next(&mut batch, BATCH_ROWS_MAX) {
                ids.extend(table.visible_candidates(index, &batch, snapshot));
            }
            return ids;
        }
    }
    let wanted = key[0].values.int_at(0);
    let may_hold = |b: Option<Bounds>| match (b, wanted) {
        (Some(b), Some(v)) => b.min <= v && v <= b.max,
        _ => true,
    };
    let mut ids = Vec::new();
    for leaf in 0..table.leaf_count() {
        let view = table.scan_leaf_if(leaf, columns, snapshot, |zone| may_hold(zone(columns[0]).bounds));
        let Some(view) = view else { continue };
        view.selection.for_each(view.rows, |i| {
            let all = view.columns.iter().zip(key).zip(&types);
            if all.into_iter().all(|((c, k), ty)| equal(ty, c, i, k, 0)) {
                ids.push(view.base_row_id + i as u64);
            }
        });
    }
    ids
}

/// Whether two key parts are equal, by the column's collation.
fn equal(ty: &SqlType, a: &Chunk, i: usize, b: &Chunk, j: usize) -> bool {
    match ty {
        SqlType::String { collation, .. } if a.is_valid(i) && b.is_valid(j) => {
            (*collation).eq(a.values.str_bytes(i), b.values.str_bytes(j))
        }
        _ => same(a, i, b, j),
    }
}
