//! The engine's description of a result column as a column definition.

use engine::ColumnMeta;
use protocol::{Column, ColumnFlags, wire_type};
use types::SqlType;

use super::charset::LATIN1_COLLATION_ID;
use super::text_rows::Format;

/// The column definition of `meta`, with character strings in the character set of that collation.
pub(super) fn column<'a>(meta: &'a ColumnMeta, results_collation_id: u16) -> Column<'a> {
    let mut column: Column<'a> = wire_type(&meta.ty, results_collation_id);
    if column.collation_id == LATIN1_COLLATION_ID {
        column.length /= 4; // a character is a byte
    }
    column.schema = &meta.schema;
    column.table = &meta.table;
    column.org_table = &meta.org_table;
    column.name = &meta.name;
    column.org_name = &meta.org_name;
    if let Some(width) = meta.display_width {
        column.length = width;
    }
    if let Some(decimals) = meta.decimals {
        column.decimals = decimals;
    }
    // Numbers are BINARY where they are computed.
    let is_number = matches!(
        meta.ty,
        SqlType::Int { .. } | SqlType::Decimal { .. } | SqlType::Float | SqlType::Double | SqlType::Year
    );
    if is_number && !meta.org_name.is_empty() {
        column.flags = column.flags.without(ColumnFlags::BINARY);
    }
    for (on, flag) in [
        (!meta.nullable, ColumnFlags::NOT_NULL),
        (meta.primary_key, ColumnFlags::PRI_KEY),
        (meta.unique_key, ColumnFlags::UNIQUE_KEY),
        (meta.multiple_key, ColumnFlags::MULTIPLE_KEY),
        (meta.part_key, ColumnFlags::PART_KEY),
        (meta.auto_increment, ColumnFlags::AUTO_INCREMENT),
        (meta.no_default, ColumnFlags::NO_DEFAULT_VALUE),
        (meta.timestamp, ColumnFlags::TIMESTAMP),
        (meta.on_update_now, ColumnFlags::ON_UPDATE_NOW),
        (meta.unsigned, ColumnFlags::UNSIGNED),
        (meta.zerofill, ColumnFlags::ZEROFILL),
    ] {
        if on {
            column.flags = column.flags.with(flag);
        }
    }
    column
}

/// How its values are written.
pub(super) fn format(meta: &ColumnMeta) -> Format {
    let zerofill = match (meta.zerofill, meta.data_ty) {
        (true, SqlType::Int { .. }) => Some(meta.display_width.map_or(10, |width| width.min(250) as u8)),
        _ => None,
    };
    Format { sql_type: meta.data_ty, zerofill, decimals: meta.decimals }
}
