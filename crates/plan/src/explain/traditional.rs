//! EXPLAIN as a table: one row a table access, in the order in which rows meet them.

use super::Change;
use super::model::{Access, Model, Step, View};
use crate::Plan;

/// Column names of the result.
pub const TRADITIONAL_COLUMNS: [&str; 12] = [
    "id",
    "select_type",
    "table",
    "partitions",
    "type",
    "possible_keys",
    "key",
    "key_len",
    "ref",
    "rows",
    "filtered",
    "Extra",
];

/// One row; `None` is NULL.
pub type TraditionalRow = [Option<String>; 12];

/// The rows of EXPLAIN without a format. `change`: what the statement does with the rows found.
pub fn traditional(plan: Option<&Plan>, change: Option<&Change>) -> Vec<TraditionalRow> {
    let mut rows = vec![];
    if let Some(c) = change.filter(|c| c.inserts()) {
        let mut row = TraditionalRow::default();
        row[0] = some("1");
        row[1] = some(c.verb);
        row[2] = c.targets.first().cloned();
        row[4] = some("ALL");
        rows.push(row);
    }
    let Some(plan) = plan else { return rows };
    let model = Model::new(plan);
    for i in model.order() {
        view_rows(&model, &model.views[i], change, &mut rows);
    }
    rows
}

fn view_rows(model: &Model, v: &View, change: Option<&Change>, rows: &mut Vec<TraditionalRow>) {
    let words = step_words(v);
    if let Some(u) = &v.union {
        if u.collected {
            let mut row = TraditionalRow::default();
            row[0] = some(&v.id.to_string());
            row[1] = some(match u.kind {
                crate::logical::SetOpKind::Union => "UNION RESULT",
                crate::logical::SetOpKind::Intersect => "INTERSECT RESULT",
                crate::logical::SetOpKind::Except => "EXCEPT RESULT",
            });
            row[2] = Some(model.union_name(u));
            row[4] = some("ALL");
            let mut extra = vec!["Using temporary"];
            extra.extend(words.into_iter().filter(|w| *w == "Using filesort"));
            row[11] = Some(extra.join("; "));
            rows.push(row);
        }
        return;
    }
    if v.tables.is_empty() {
        let mut row = TraditionalRow::default();
        row[0] = some(&v.id.to_string());
        row[1] = some(changed_type(v, None, change));
        row[11] = v.message.map(str::to_string);
        rows.push(row);
    }
    for (i, a) in v.tables.iter().enumerate() {
        let mut extra = access_words(a);
        // The steps' words stand with the first table.
        if i == 0 {
            let at = extra.iter().position(|w| is_late(w)).unwrap_or(extra.len());
            extra.splice(at..at, words.iter().map(|w| w.to_string()));
        }
        let join = |list: &[String]| if list.is_empty() { None } else { Some(list.join(",")) };
        let figures = a.table.is_some();
        rows.push([
            some(&v.id.to_string()),
            some(changed_type(v, a.table.as_deref(), change)),
            a.table.clone(),
            None,
            if figures { some(a.access_type) } else { None },
            join(&a.possible_keys),
            a.key.clone(),
            a.key_len.clone(),
            join(&a.reference),
            figures.then(|| rows_text(a.rows)),
            figures.then(|| format!("{:.2}", a.filtered)),
            if extra.is_empty() { None } else { Some(extra.join("; ")) },
        ]);
    }
}

fn some(s: &str) -> Option<String> {
    Some(s.to_string())
}

/// Estimates of rows, as all formats but TREE print them.
pub(super) fn rows_text(rows: f64) -> String {
    format!("{:.0}", rows.max(1.0))
}

/// UPDATE and DELETE stand in place of the select type of the tables that they change.
fn changed_type<'a>(v: &View, table: Option<&str>, change: Option<&'a Change>) -> &'a str {
    match change {
        Some(c) if !c.inserts() && matches!(v.select_type, "SIMPLE" | "PRIMARY") => {
            let is_target = table.is_none_or(|t| c.targets.iter().any(|x| x == t));
            if is_target { c.verb } else { v.select_type }
        }
        _ => v.select_type,
    }
}

/// What is said of the block as a whole.
pub(super) fn step_words(v: &View) -> Vec<&'static str> {
    let mut words = vec![];
    let temporary = |s: &Step| matches!(s, Step::Distinct | Step::Window { .. } | Step::Group { temporary: true });
    if v.steps.iter().any(temporary) {
        words.push("Using temporary");
    }
    if v.steps.iter().any(|s| matches!(s, Step::Sort | Step::Window { sorts: true })) {
        words.push("Using filesort");
    }
    words
}

/// What is said of one access, in MySQL's order.
pub(super) fn access_words(a: &Access) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    if a.index_condition.is_some() {
        words.push("Using index condition".into());
    }
    words.extend(a.merged.iter().map(|m| format!("Using {m}")));
    if a.using_where {
        words.push("Using where".into());
    }
    words.extend(a.how.iter().cloned());
    if a.backward {
        words.push("Backward index scan".into());
    }
    if a.using_index {
        words.push("Using index".into());
    }
    words.extend(a.remarks.iter().cloned());
    if let Some(b) = a.join_buffer {
        words.push(format!("Using join buffer ({b})"));
    }
    words
}

/// Words that come after those of the block's steps.
fn is_late(word: &str) -> bool {
    ["FirstMatch", "Start temporary", "End temporary", "LooseScan", "Rematerialize", "Recursive", "Using join buffer"]
        .iter()
        .any(|w| word.starts_with(w))
}
