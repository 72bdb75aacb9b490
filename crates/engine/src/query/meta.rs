//! What clients are told of a query's columns.

use crate::session::Session;
use catalog::{DefaultValue, IndexKind};
use plan::logical::LogicalQuery;
use session::sink::ColumnMeta;

impl Session {
    /// The default of a table's column as COM_FIELD_LIST shows it; `None`: NULL.
    pub fn default_text(&self, meta: &ColumnMeta) -> Option<Vec<u8>> {
        let relation = self.db().catalog().relation(&meta.schema, &meta.org_table)?;
        let catalog::Relation::Table(def) = relation else { return None };
        let column = &def.columns[def.column_idx(&meta.org_name)?];
        let value = match &column.default {
            DefaultValue::Value(v) => v.clone(),
            _ if column.nullable => return None,
            _ => types::value::zero_of(&column.ty),
        };
        let mut out = Vec::new();
        if value.is_null() {
            return None;
        }
        types::render_text(&value, &column.ty, &mut out);
        Some(out)
    }
}

pub(crate) fn columns(query: &LogicalQuery) -> Vec<ColumnMeta> {
    query
        .output
        .iter()
        .map(|(id, name)| {
            let info = query.columns.get(*id);
            let mut meta = ColumnMeta::computed(name, info.ty, info.nullable);
            if let types::SqlType::Timestamp { fsp } = info.ty {
                meta.data_ty = types::SqlType::DateTime { fsp };
            }
            meta.table = info.table_alias.clone();
            let Some((table, idx)) = &info.origin else { return meta };
            let column = &table.columns[*idx];
            meta.schema = table.schema.clone();
            meta.org_table = table.name.clone();
            meta.org_name = column.name.clone();
            meta.auto_increment = column.auto_increment;
            meta.unsigned |= column.unsigned;
            meta.zerofill = column.zerofill;
            meta.decimals = column.float_digits.map(|(_, d)| d);
            meta.display_width = column.display_width.or(column.float_digits.map(|(width, _)| width.into()));
            let given = column.auto_increment || column.generated.is_some();
            meta.no_default = matches!(column.default, DefaultValue::None) && !column.nullable && !given;
            meta.on_update_now = column.on_update_current_timestamp;
            meta.timestamp = meta.on_update_now || matches!(column.default, DefaultValue::CurrentTimestamp);
            let shown_primary = table.shown_primary_key();
            for index in &table.indexes {
                let Some(pos) = index.parts.iter().position(|p| p.column_idx == *idx) else { continue };
                meta.part_key = true;
                match index.kind {
                    _ if shown_primary.is_some_and(|p| p.name == index.name) => meta.primary_key = true,
                    IndexKind::Unique if index.parts.len() == 1 => meta.unique_key = true,
                    _ if pos == 0 => meta.multiple_key = true,
                    _ => {}
                }
            }
            meta
        })
        .collect()
}
