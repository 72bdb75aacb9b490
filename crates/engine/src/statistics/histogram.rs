//! ANALYZE TABLE .. UPDATE HISTOGRAM ON columns [WITH n BUCKETS [AUTO | MANUAL UPDATE] | USING DATA 'json'], and DROP
//! HISTOGRAM ON columns.
//!
//! A histogram is part of its column's definition, and is logged and published as such. The statement waits for nobody:
//! plans that were made before go on as they were. Tables that are too large for histogram_generation_max_mem_size are
//! looked at in part: whole leaves, the same ones each time.
//!
//! MySQL manual, "Histogram Statistics Analysis" in "ANALYZE TABLE Statement".

use crate::session::Execution;
use catalog::histogram::{BUCKETS_DEFAULT, BUCKETS_MAX};
use catalog::{CatalogReader, Histogram, IndexDef, Relation, TableDef, TableEngine};
use introspection::histogram_json as json;
use parser::ast::{self, TableMaintenance};
use session::rows::{RowSet, s};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{Error, Result, Value};

/// (Msg_type, Msg_text)
type Message = (&'static str, String);
/// What becomes of the histogram of a column, by position.
type Changes = Vec<(usize, Option<Arc<Histogram>>)>;

fn error(text: impl Into<String>) -> Message {
    ("Error", text.into())
}

/// Whether a unique key consists of this column alone: a histogram would tell nothing new.
fn is_key(table: &TableDef, column: usize) -> bool {
    let covers = |i: &IndexDef| i.is_unique() && i.parts.len() == 1 && i.parts[0].column_idx == column;
    table.indexes.iter().any(|i| covers(i) && !i.invisible)
}

impl Execution<'_> {
    pub(crate) fn change_histograms(
        &mut self,
        t: &TableMaintenance,
        h: &ast::Histogram,
        rows: &mut RowSet,
    ) -> Result<()> {
        let buckets = match h {
            ast::Histogram::Update { buckets, .. } => buckets.unwrap_or(BUCKETS_DEFAULT),
            ast::Histogram::Drop { .. } => BUCKETS_DEFAULT,
        };
        if !(1..=BUCKETS_MAX).contains(&buckets) {
            return Err(Error::data_out_of_range("Number of buckets", "ANALYZE TABLE"));
        }
        let mut put = |table: &str, (kind, text): Message| rows.push(vec![s(table), s("histogram"), s(kind), s(text)]);
        let [name] = &t.tables[..] else {
            put("", error("Only one table can be specified while modifying histogram statistics."));
            return Ok(());
        };
        let (schema, table) = self.resolve_name(name)?;
        let shown = format!("{schema}.{table}");
        let messages = match CatalogReader::relation(&**self, &schema, &table)? {
            None => vec![error(Error::no_such_table(&schema, &table).message())],
            Some(Relation::View(_)) => vec![error("Cannot create histogram statistics for a view.")],
            Some(Relation::Table(def)) if def.temporary => {
                vec![error("Cannot create histogram statistics for a temporary table.")]
            }
            Some(Relation::Table(def)) if def.engine == TableEngine::Virtual => {
                return Err(Error::not_supported("histograms of this kind of table"));
            }
            Some(Relation::Table(def)) => match h {
                ast::Histogram::Drop { columns } => self.drop_histograms(&def, columns)?,
                ast::Histogram::Update { columns, using_data: Some(text), .. } => match &columns[..] {
                    [column] => self.take_histogram(&def, column.as_str(), text)?,
                    _ => vec![error(
                        "Only one column can be specified while modifying histogram statistics with JSON data.",
                    )],
                },
                ast::Histogram::Update { columns, auto_update, .. } => {
                    self.update_histograms(&def, columns, buckets, *auto_update == Some(true))?
                }
            },
        };
        messages.into_iter().for_each(|m| put(&shown, m));
        Ok(())
    }

    /// The columns named, in the order of their names, with what stands against a histogram of each.
    fn histogram_columns(&self, def: &TableDef, columns: &[ast::Ident]) -> Result<Vec<(Box<str>, Found)>> {
        let mut named: BTreeMap<Box<str>, Found> = BTreeMap::new();
        for c in columns {
            let found = def.column_idx(c.as_str());
            let name: Box<str> = found.map_or(c.as_str(), |i| &def.columns[i].name).into();
            let outcome = match found {
                None => Err(format!("The column '{name}' does not exist.")),
                Some(i) => Ok(i),
            };
            if named.insert(name.clone(), outcome).is_some() {
                return Err(Error::dup_fieldname(&name));
            }
        }
        Ok(named.into_iter().collect())
    }

    fn update_histograms(
        &mut self,
        def: &Arc<TableDef>,
        columns: &[ast::Ident],
        buckets: u64,
        auto_update: bool,
    ) -> Result<Vec<Message>> {
        let mut messages = Vec::new();
        let mut changes = Changes::new();
        for (name, found) in self.histogram_columns(def, columns)? {
            let found = found.and_then(|i| match i {
                i if json::data_type(&def.columns[i].ty).is_none() => {
                    Err(format!("The column '{name}' has an unsupported data type."))
                }
                i if is_key(def, i) => Err(format!("The column '{name}' is covered by a single-part unique index.")),
                i => Ok(i),
            });
            match found {
                Err(text) => messages.push(error(text)),
                Ok(i) => {
                    let mut h = self.make_histogram(def, i, buckets as usize)?;
                    (h.updated_us, h.auto_update) = (self.now_us(), auto_update);
                    changes.push((i, Some(Arc::new(h))));
                    messages.push(("status", format!("Histogram statistics created for column '{name}'.")));
                }
            }
        }
        self.publish_histograms(def, changes)?;
        Ok(messages)
    }

    /// Makes those histograms anew that are to go with the table's other statistics.
    pub(crate) fn update_auto_histograms(&mut self, def: &Arc<TableDef>) -> Result<()> {
        let mut changes = Changes::new();
        for (i, c) in def.columns.iter().enumerate() {
            let Some(before) = c.histogram.as_ref().filter(|h| h.auto_update) else { continue };
            let mut h = self.make_histogram(def, i, before.buckets_asked as usize)?;
            (h.updated_us, h.auto_update) = (self.now_us(), true);
            changes.push((i, Some(Arc::new(h))));
        }
        self.publish_histograms(def, changes)
    }

    fn drop_histograms(&mut self, def: &Arc<TableDef>, columns: &[ast::Ident]) -> Result<Vec<Message>> {
        let mut messages = Vec::new();
        let mut changes = Changes::new();
        for (name, found) in self.histogram_columns(def, columns)? {
            match found.ok().filter(|i| def.columns[*i].histogram.is_some()) {
                Some(i) => {
                    changes.push((i, None));
                    messages.push(("status", format!("Histogram statistics removed for column '{name}'.")));
                }
                None => messages.push(error(format!("No histogram statistics found for column '{name}'."))),
            }
        }
        self.publish_histograms(def, changes)?;
        Ok(messages)
    }

    /// USING DATA.
    fn take_histogram(&mut self, def: &Arc<TableDef>, column: &str, text: &str) -> Result<Vec<Message>> {
        let Some(i) = def.column_idx(column) else {
            return Ok(vec![error(format!("The column '{column}' does not exist."))]);
        };
        let c = &def.columns[i];
        match json::to_histogram(text, &c.ty) {
            Ok(mut h) => {
                h.updated_us = self.now_us();
                self.publish_histograms(def, vec![(i, Some(Arc::new(h)))])?;
                Ok(vec![("status", format!("Histogram statistics created for column '{}'.", c.name))])
            }
            Err(why) => {
                let place = format!("'{}' in table '{}'.'{}'", c.name, def.schema, def.name);
                Ok(vec![error(format!("Unable to build histogram statistics for column {place}")), error(why)])
            }
        }
    }

    /// The column's histogram, from a snapshot of its rows.
    fn make_histogram(&self, def: &TableDef, column: usize, buckets: usize) -> Result<Histogram> {
        let table = self.db().store().expect_table(def)?;
        let ty = def.columns[column].ty;
        let width = table.statistics().columns[column].width as u64 + size_of::<Value>() as u64;
        let memory = self.vars().uint("histogram_generation_max_mem_size");
        let rate = (memory as f64 / (table.row_count().max(1) * width) as f64).min(1.0);
        let snapshot = self.db().store().txns().snapshot();
        let (mut values, mut nulls) = (Vec::new(), 0u64);
        for leaf_no in 0..table.leaf_count() {
            self.check_killed()?;
            if rate < 1.0 && picked(leaf_no) >= rate {
                continue;
            }
            let Some(view) = table.scan_leaf(leaf_no, &[column], &snapshot) else { continue };
            let chunk = &view.columns[0];
            view.selection.for_each(view.rows, |i| {
                if chunk.is_valid(i) {
                    values.push(chunk.value(i, &ty));
                } else {
                    nulls += 1;
                }
            });
        }
        // The histogram sorts what is in order already.
        let collation = ty.collation().unwrap_or_default();
        let process = self.process().clone();
        let order = |a: &Value, b: &Value| catalog::histogram::order(a, b, collation);
        storage::sort_while(&mut values, &order, &|| process.check_killed())?;
        let mut h = Histogram::of(values, nulls, buckets, collation);
        h.sampling_rate = rate;
        if rate < 1.0 {
            h.scale_distinct(table.statistics().columns[column].distinct);
        }
        Ok(h)
    }

    /// Publishes the table's definition with these histograms, whatever else was published since it was read.
    fn publish_histograms(&mut self, def: &TableDef, changes: Changes) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let new = self.db().catalog().write(|schemas| {
            let relations = &mut schemas.get_mut(&def.schema)?.relations;
            let Relation::Table(now) = relations.get(&def.name)? else { return None };
            if now.id != def.id {
                return None;
            }
            let mut new = (**now).clone();
            for (i, h) in changes {
                new.columns[i].histogram = h;
            }
            let new = Arc::new(new);
            relations.insert(Relation::Table(new.clone()));
            Some(new)
        })?;
        let new = new.ok_or_else(|| Error::no_such_table(&def.schema, &def.name))?;
        self.db().store().expect_table(&new)?.set_def(new);
        Ok(())
    }
}

/// The column's position, or why it has none.
type Found = std::result::Result<usize, String>;

/// A number between 0 and 1 for each leaf, as if by chance and always the same.
fn picked(leaf_no: u64) -> f64 {
    let mixed = (leaf_no + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 11) as f64 / (1u64 << 53) as f64
}

/// ALTER TABLE: columns that stay as they were keep their histograms, unless a key tells as much.
pub fn keep_histograms(old: &TableDef, new: &mut TableDef, origins: &[Option<usize>]) {
    for (i, origin) in origins.iter().enumerate() {
        let Some(before) = origin.map(|o| &old.columns[o]).filter(|c| c.histogram.is_some()) else { continue };
        let now = &new.columns[i];
        let same = now.name == before.name && now.ty == before.ty && now.nullable == before.nullable;
        if same && !is_key(new, i) {
            new.columns[i].histogram = before.histogram.clone();
        }
    }
}
