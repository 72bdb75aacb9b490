//! The text that a view keeps: it names every table with its database, so that it means the same wherever it is used.
//!
//! SHOW CREATE VIEW leaves the database out where it is the view's own, so that a dump can be loaded into another one
//! (MySQL does so, too).

use parser::ast::{Ident, NameUse, Query, Statement};
use parser::{ParseOptions, parse};

/// Writes `database` before the names of tables that have none.
pub fn qualify(query: &mut Query, database: &str) {
    query.each_name(&mut |name| {
        if let NameUse::Table { name, is_cte_here: false } = name {
            name.schema.get_or_insert_with(|| Ident::from(database));
        }
    });
}

fn query_of(text: &str) -> Option<Query> {
    // The text was stored with sql_mode's effects on quoting taken out.
    match parse(text, &ParseOptions::default()) {
        Ok(Statement::Query(query)) => Some(*query),
        _ => None,
    }
}

/// The text with `database` before the names of tables that have none.
pub fn qualified(text: &str, database: &str) -> Option<String> {
    let mut query = query_of(text)?;
    qualify(&mut query, database);
    Some(query.to_string())
}

/// The text without the database's name; `None` if it reads tables of others, or would mean something else then.
pub fn unqualified(text: &str, database: &str) -> Option<String> {
    let mut query = query_of(text)?;
    let mut stays = true;
    query.each_name(&mut |name| {
        let schema = match name {
            NameUse::Table { name, is_cte_here } => {
                stays &= match &name.schema {
                    Some(schema) => **schema == *database && !is_cte_here,
                    None => is_cte_here,
                };
                &mut name.schema
            }
            NameUse::Column(column) => &mut column.schema,
            NameUse::Star(table) => &mut table.schema,
            NameUse::Body { .. } => return,
        };
        schema.take_if(|s| **s == *database);
    });
    stays.then(|| query.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_come_and_go() {
        let text = "with c as (select a from t) select c.a, t.b, (select max(d.t.b) from d.t) from c join t join x.u";
        let full = qualified(text, "d").expect("it parses");
        assert_eq!(full.matches("`d`.`t`").count(), 4, "{full}");
        assert!(full.contains("from `c` join `d`.`t` join `x`.`u`"), "{full}");
        assert_eq!(unqualified(&full, "d"), None);
        let mut tables = vec![];
        let mut parsed = query_of(&full).expect("it parses");
        parsed.each_name(&mut |name| {
            if let NameUse::Table { name, is_cte_here: false } = name {
                tables.push(name.to_string().replace('`', ""));
            }
        });
        assert_eq!(tables, ["d.t", "d.t", "x.u", "d.t"]);
        let own = full.replace(" join `x`.`u`", "");
        let short = unqualified(&own, "d").expect("one database");
        assert!(!short.contains("`d`"), "{short}");
        assert_eq!(qualified(&short, "d").expect("it parses").replace("`d`.", ""), short);
        // `t` alone would be the common table expression.
        assert_eq!(unqualified("with t as (select 1 AS a) select a from d.t", "d"), None);
    }
}
