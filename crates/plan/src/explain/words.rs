//! Conditions and references as the table and JSON print them, with MySQL's quotes: `` (`shop`.`t`.`a` = 3) ``.

use super::expression::{Names, expression};
use super::model::init_numbers;
use crate::{JoinKey, KeyValue, OutputColumn, Plan, PlanNode, PlanOp};
use catalog::TableDef;
use expr::{Expr, ExprKind, ParamId};
use std::collections::HashMap;

/// Keys of a lookup that are printed.
const KEYS_SHOWN_MAX: usize = 20;

pub(super) struct Words<'p> {
    /// Of each table's alias.
    schemas: HashMap<&'p str, &'p str>,
    /// Parameters that subqueries fill are called by their subquery.
    inits: Vec<(ParamId, u32)>,
    /// Parameters that stand for the values of outer rows, outer ones first: what they are called in conditions, and
    /// where a key's value comes from.
    outer: Vec<(ParamId, String, String)>,
}

impl<'p> Words<'p> {
    pub fn new(plan: &'p Plan) -> Words<'p> {
        let inits = plan.init.iter().map(|i| i.param).zip(init_numbers(plan)).collect();
        let mut w = Words { schemas: HashMap::new(), inits, outer: vec![] };
        let mut applies = vec![];
        let mut open: Vec<&PlanNode> = vec![&plan.root];
        open.extend(plan.init.iter().map(|i| &*i.plan));
        while let Some(n) = open.pop() {
            if let PlanOp::Scan { table, alias, .. }
            | PlanOp::KeyLookup { table, alias, .. }
            | PlanOp::IndexScan { table, alias, .. }
            | PlanOp::IndexJoin { table, alias, .. } = &n.op
            {
                w.schemas.insert(alias, &table.schema);
            }
            if let PlanOp::Apply { input, params, .. } = &n.op {
                applies.push((input, params));
            }
            open.extend(n.inputs());
        }
        for (input, params) in applies {
            let names = Names::owned(w.outputs(&input.output));
            for (id, e) in params {
                let text = expression(e, &names);
                let from = w.reference(e, &input.output);
                w.outer.push((*id, text, from));
            }
        }
        w
    }

    /// Where a key's value comes from: a column, `func`, `const`.
    fn reference(&self, e: &Expr, input: &[OutputColumn]) -> String {
        match &e.kind {
            ExprKind::Column(c) => {
                let name = input.get(*c as usize).map_or("", |o| &*o.name);
                match name.split_once('.').and_then(|(table, _)| self.schemas.get(table)) {
                    Some(schema) => format!("{schema}.{name}"),
                    None => name.to_string(),
                }
            }
            ExprKind::Param(p) => {
                self.outer.iter().find(|o| o.0 == *p).map_or_else(|| "const".to_string(), |o| o.2.clone())
            }
            _ if e.is_constant() => "const".into(),
            _ => "func".into(),
        }
    }

    fn quoted(&self, name: &str) -> String {
        match name.split_once('.') {
            None => format!("`{name}`"),
            Some((table, column)) => match self.schemas.get(table) {
                Some(s) => format!("`{s}`.`{table}`.`{column}`"),
                None => format!("`{table}`.`{column}`"),
            },
        }
    }

    fn outputs(&self, columns: &[OutputColumn]) -> Vec<String> {
        columns.iter().map(|c| if c.name.is_empty() { String::new() } else { self.quoted(&c.name) }).collect()
    }

    fn of_table(&self, table: &TableDef, alias: &str, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|c| format!("`{}`.`{alias}`.`{}`", table.schema, table.columns[*c].shown_name())).collect()
    }

    pub fn text(&self, e: &Expr, names: &Names) -> String {
        self.subqueries(expression(e, names))
    }

    /// Names the subqueries whose values the text reads.
    pub fn subqueries(&self, mut text: String) -> String {
        for (param, number) in &self.inits {
            text = text.replace(&format!("<param {param}>"), &format!("(/* select#{number} */)"));
        }
        // An inner one may be made of outer ones.
        for (param, value, _) in self.outer.iter().rev() {
            if text.contains("<param ") {
                text = text.replace(&format!("<param {param}>"), value);
            }
        }
        text
    }

    pub fn conditions(&self, predicates: &[Expr], input: &[OutputColumn]) -> Vec<String> {
        let names = Names::owned(self.outputs(input));
        predicates.iter().map(|p| self.text(p, &names)).collect()
    }

    pub fn exprs<'e>(&self, es: impl IntoIterator<Item = &'e Expr>, input: &[OutputColumn]) -> Vec<String> {
        let names = Names::owned(self.outputs(input));
        es.into_iter().map(|e| self.text(e, &names)).collect()
    }

    /// ``(`d`.`t`.`a` in (1,2))`` of a lookup of several keys.
    pub fn key_list(&self, table: &TableDef, alias: &str, index: usize, keys: &[Vec<Expr>]) -> String {
        let parts: Vec<usize> = table.indexes[index].parts.iter().map(|p| p.column_idx).collect();
        let names = Names::owned(vec![]);
        let list =
            |items: Vec<String>| if let [one] = &items[..] { one.clone() } else { format!("({})", items.join(",")) };
        let shown = keys.len().min(KEYS_SHOWN_MAX);
        let tuple = |k: &Vec<Expr>| list(k.iter().map(|e| self.text(e, &names)).collect());
        let mut values: Vec<String> = keys[..shown].iter().map(tuple).collect();
        if keys.len() > shown {
            values.push(format!("{} more", keys.len() - shown));
        }
        format!("({} in ({}))", list(self.of_table(table, alias, &parts)), values.join(","))
    }

    pub fn table_conditions(&self, filters: &[Expr], table: &TableDef, alias: &str, columns: &[usize]) -> Vec<String> {
        let names = Names::owned(self.of_table(table, alias, columns));
        filters.iter().map(|p| self.text(p, &names)).collect()
    }

    pub fn join_keys(&self, keys: &[JoinKey], probe: &[OutputColumn], build: &[OutputColumn]) -> Vec<String> {
        let (p, b) = (Names::owned(self.outputs(probe)), Names::owned(self.outputs(build)));
        keys.iter()
            .map(|k| {
                let sign = if k.null_safe { "<=>" } else { "=" };
                format!("({} {sign} {})", self.text(&k.probe, &p), self.text(&k.build, &b))
            })
            .collect()
    }

    pub fn join_conditions(&self, e: &Expr, probe: &[OutputColumn], build: &[OutputColumn]) -> Vec<String> {
        let mut names = self.outputs(probe);
        names.extend(self.outputs(build));
        let names = Names::owned(names);
        match &e.kind {
            ExprKind::And(list) => list.iter().map(|e| self.text(e, &names)).collect(),
            _ => vec![self.text(e, &names)],
        }
    }

    /// What a join by index tests beyond the equalities of its key.
    pub fn lookup_conditions(
        &self,
        condition: &[Expr],
        key: &[KeyValue],
        input: &PlanNode,
        table: &TableDef,
        alias: &str,
        columns: &[usize],
    ) -> Vec<String> {
        let mut names = self.outputs(&input.output);
        names.extend(self.of_table(table, alias, columns));
        let names = Names::owned(names);
        let keyed = |e: &Expr| match &e.kind {
            ExprKind::Compare { left, right, .. } => key.iter().any(|k| k.expr == **left || k.expr == **right),
            _ => false,
        };
        condition.iter().filter(|c| !keyed(c)).map(|c| self.text(c, &names)).collect()
    }

    /// The same of values without an input.
    pub fn value_references(&self, key: &[Expr]) -> Vec<String> {
        key.iter().map(|e| self.reference(e, &[])).collect()
    }

    /// EXPLAIN's `ref`: where each value comes from.
    pub fn references(&self, key: &[KeyValue], input: &[OutputColumn]) -> Vec<String> {
        key.iter().map(|k| self.reference(&k.expr, input)).collect()
    }
}
