//! GROUP BY: rewrites what lies above an Aggregate in terms of its output, and checks ONLY_FULL_GROUP_BY.
//!
//! | in an expression above            | becomes                                                               |
//! |-----------------------------------|-----------------------------------------------------------------------|
//! | a group expression                | the group's column                                                    |
//! | an aggregate's column             | itself                                                                |
//! | another column of FROM            | ANY_VALUE of it, if groups determine it or ONLY_FULL_GROUP_BY is off  |
//! |                                   | error 1055, or 1140 without GROUP BY                                  |
//! | such a column, read in a subquery | the same, within the subquery's plan                                  |
//!
//! A group that is a plain column keeps its id. With ROLLUP every group has a new id, as its value may be NULL above.
//!
//! Source: MySQL manual, "MySQL Handling of GROUP BY", "GROUP BY Modifiers".

use super::api::Shared;
use super::scope::Block;
use super::windows::WindowGroup;
use expr::{AggCall, AggFunc, ColumnId, Expr, ExprKind, SubqueryId, build};
use plan::logical::{Logical, SubqueryKind, visit};
use std::collections::{HashMap, HashSet};
use types::{Error, Result};

/// Where an expression stands, as errors name it.
#[derive(Clone, Copy)]
pub struct Place {
    pub n: usize,
    pub clause: &'static str,
}

pub struct Regroup<'b, 's, 'a, 'e> {
    shared: &'s mut Shared<'e>,
    block: &'b mut Block<'a>,
    groups: Vec<(ColumnId, Expr)>,
    has_group_by: bool,
    /// FROM columns already replaced.
    substitutes: HashMap<ColumnId, ColumnId>,
    /// What the groups determine; computed when first needed.
    determined: Option<HashSet<ColumnId>>,
    strict: bool,
}

impl<'b, 's, 'a, 'e> Regroup<'b, 's, 'a, 'e> {
    pub fn new(shared: &'s mut Shared<'e>, block: &'b mut Block<'a>, has_group_by: bool) -> Result<Self> {
        let mut groups: Vec<(ColumnId, Expr)> = vec![];
        for e in std::mem::take(&mut block.groups) {
            match e.kind {
                _ if !block.rollup && groups.iter().any(|(_, g)| *g == e) => {}
                ExprKind::Column(id) if !block.rollup && block.from_columns.contains(&id) => groups.push((id, e)),
                _ => {
                    let name = match e.kind {
                        ExprKind::Column(id) => shared.columns.get(id).name.clone(),
                        _ => "".into(),
                    };
                    let id = shared.columns.computed(&name, e.ty, e.nullable || block.rollup);
                    if let (ExprKind::Column(from), true) = (&e.kind, block.rollup) {
                        let alias = shared.columns.get(*from).table_alias.clone();
                        shared.columns.get_mut(id).table_alias = alias;
                    }
                    groups.push((id, e));
                }
            }
        }
        for (_, call) in &block.aggregates {
            if call.func == AggFunc::Grouping {
                for (i, arg) in call.args.iter().enumerate() {
                    if !groups.iter().any(|(_, g)| g == arg) {
                        return Err(Error::field_in_grouping_not_group_by(i + 1));
                    }
                }
            }
        }
        let strict = shared.session.sql_mode.only_full_group_by;
        let substitutes = HashMap::new();
        Ok(Regroup { shared, block, groups, has_group_by, substitutes, determined: None, strict })
    }

    pub fn rewrite(&mut self, e: &mut Expr, place: Place) -> Result<()> {
        if let Some((id, g)) = self.groups.iter().find(|(_, g)| g == e) {
            *e = Expr::column(*id, g.ty, g.nullable || self.block.rollup);
            return Ok(());
        }
        match e.kind {
            ExprKind::Column(id) => {
                if let Some(position) = self.block.any_values.iter().position(|(a, _)| *a == id) {
                    *e = self.any_value(position)?;
                } else if self.block.from_columns.contains(&id) {
                    *e = self.column(id, place)?;
                }
                Ok(())
            }
            ExprKind::Subquery(id) => self.rewrite_subquery(id, place),
            _ => e.children_mut().into_iter().try_for_each(|c| self.rewrite(c, place)),
        }
    }

    pub fn rewrite_window(&mut self, w: &mut WindowGroup) -> Result<()> {
        let place = Place { n: 1, clause: "SELECT list" };
        w.partition_by.iter_mut().try_for_each(|e| self.rewrite(e, place))?;
        w.order_by.iter_mut().try_for_each(|(e, _)| self.rewrite(e, place))?;
        for (_, call) in &mut w.calls {
            visit::window_exprs_mut(call).try_for_each(|e| self.rewrite(e, place))?;
        }
        Ok(())
    }

    /// A column of FROM, seen from above the Aggregate.
    fn column(&mut self, id: ColumnId, place: Place) -> Result<Expr> {
        // Within a subquery's plan the whole-expression test of `rewrite` has not been made.
        if let Some((g, e)) = self.groups.iter().find(|(_, g)| matches!(g.kind, ExprKind::Column(c) if c == id)) {
            return Ok(Expr::column(*g, e.ty, e.nullable || self.block.rollup));
        }
        if let Some(s) = self.substitutes.get(&id) {
            return Ok(self.shared.columns.expr(*s));
        }
        if self.strict && !self.is_determined(id) {
            let name = self.block.scope.full_name(id, &self.shared.columns);
            return Err(if self.has_group_by {
                Error::wrong_field_with_group(place.n, place.clause, name)
            } else {
                Error::mix_of_group_func_and_fields(place.n, place.clause, name)
            });
        }
        let arg = self.shared.columns.expr(id);
        let call = self.any_value_of(arg)?;
        let (name, alias) = {
            let info = self.shared.columns.get(id);
            (info.name.clone(), info.table_alias.clone())
        };
        let new = self.shared.columns.computed(&name, call.ty, call.nullable);
        let origin = self.shared.columns.get(id).origin.clone();
        let info = self.shared.columns.get_mut(new);
        (info.table_alias, info.origin) = (alias, origin);
        self.block.aggregates.push((new, call));
        self.substitutes.insert(id, new);
        Ok(self.shared.columns.expr(new))
    }

    fn any_value_of(&self, arg: Expr) -> Result<AggCall> {
        let nullable = arg.nullable || !self.has_group_by;
        let (mut call, _) = build::aggregate(AggFunc::AnyValue, vec![arg], false, vec![], ",", &self.shared.session)?;
        call.nullable = nullable;
        Ok(call)
    }

    /// ANY_VALUE(x) of the statement.
    fn any_value(&mut self, position: usize) -> Result<Expr> {
        let (id, arg) = self.block.any_values[position].clone();
        let aggregates: HashSet<ColumnId> = self.block.aggregates.iter().map(|(id, _)| *id).collect();
        let own = &self.block.from_columns;
        if super::select::reads(&arg, &aggregates) || !super::select::reads(&arg, own) {
            let mut arg = arg;
            let strict = std::mem::replace(&mut self.strict, false);
            self.rewrite(&mut arg, Place { n: 1, clause: "SELECT list" })?;
            self.strict = strict;
            return Ok(arg);
        }
        if !aggregates.contains(&id) {
            let call = self.any_value_of(arg)?;
            self.block.aggregates.push((id, call));
        }
        Ok(self.shared.columns.expr(id))
    }

    fn is_determined(&mut self, id: ColumnId) -> bool {
        if self.determined.is_none() {
            let known = self.groups.iter().filter_map(|(_, g)| match g.kind {
                ExprKind::Column(c) => Some(c),
                _ => None,
            });
            self.determined = Some(self.shared.closure(known));
        }
        self.determined.as_ref().is_some_and(|d| d.contains(&id))
    }

    /// A subquery's left side is an expression of this block; its plan reads single columns of it.
    fn rewrite_subquery(&mut self, id: SubqueryId, place: Place) -> Result<()> {
        let Some(mut def) = self.shared.subqueries[id as usize].take() else { return Ok(()) };
        if let SubqueryKind::Quantified { left, .. } = &mut def.kind {
            left.iter_mut().try_for_each(|e| self.rewrite(e, place))?;
        }
        let done = self.rewrite_plan(&mut def.plan, place);
        self.shared.subqueries[id as usize] = Some(def);
        done
    }

    fn rewrite_plan(&mut self, plan: &mut Logical, place: Place) -> Result<()> {
        for e in plan.exprs_mut() {
            self.rewrite_columns(e, place)?;
        }
        plan.inputs_mut().into_iter().try_for_each(|i| self.rewrite_plan(i, place))
    }

    fn rewrite_columns(&mut self, e: &mut Expr, place: Place) -> Result<()> {
        match e.kind {
            ExprKind::Column(id) if self.block.from_columns.contains(&id) => {
                *e = self.column(id, place)?;
                Ok(())
            }
            ExprKind::Subquery(id) => {
                let Some(mut def) = self.shared.subqueries[id as usize].take() else { return Ok(()) };
                if let SubqueryKind::Quantified { left, .. } = &mut def.kind {
                    left.iter_mut().try_for_each(|e| self.rewrite_columns(e, place))?;
                }
                let done = self.rewrite_plan(&mut def.plan, place);
                self.shared.subqueries[id as usize] = Some(def);
                done
            }
            _ => e.children_mut().into_iter().try_for_each(|c| self.rewrite_columns(c, place)),
        }
    }

    /// The Aggregate over FROM and WHERE.
    pub fn finish(self, input: Logical) -> Logical {
        let aggregates = self.block.aggregates.clone();
        if !self.block.rollup {
            let ids = self.groups.iter().map(|(id, _)| *id).collect();
            self.shared.depends(ids, aggregates.iter().map(|(id, _)| *id).collect());
        }
        Logical::Aggregate { input: Box::new(input), groups: self.groups, aggregates, rollup: self.block.rollup }
    }
}
