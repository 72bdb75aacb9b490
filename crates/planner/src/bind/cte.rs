//! WITH: common table expressions, recursive ones included.
//!
//! ```text
//! Pending --first use--> Bound (uses counted)      a definition that nobody uses is never bound, as in MySQL
//!    |                      |-- one use:   its CteScan is replaced by the plan
//!    |                      '-- more uses: a With node holds it, each use is a CteScan
//!    '--while its own definition is bound--> Undefined, then Recursive in its recursive members
//! ```
//!
//! A definition is bound where WITH stands: it sees the CTEs before it and the blocks around the WITH, not those around
//! its use.
//!
//! A recursive CTE is `anchor UNION [ALL] recursive`: one or more operands that do not name the CTE, then one or more
//! that name it once, in their own FROM. Column types are the anchors', and all columns may be NULL; the values of the
//! recursive operands are stored in them as INSERT stores values, so those that do not fit are errors in strict mode.
//! Source: MySQL manual, "WITH (Common Table Expressions)".

use super::api::Bind;
use super::query::{Bound, QueryUse};
use super::scope::{Scope, Source, SourceColumn, same_name};
use expr::{ColumnId, Expr, build};
use parser::ast;
use plan::logical::{BlockShape, Logical, LogicalCte, SetOpKind};
use types::{Error, Result, SqlType};

pub struct CteEntry<'a> {
    pub name: Box<str>,
    pub state: CteState<'a>,
}

pub enum CteState<'a> {
    Pending {
        cte: &'a ast::Cte,
        recursive: bool,
        /// Blocks around the WITH.
        blocks: usize,
    },
    /// Being bound with RECURSIVE, and not (or not yet) to be named.
    Undefined {
        union: bool,
    },
    Recursive {
        cte_id: u32,
        columns: Vec<(Box<str>, SqlType)>,
        references: u32,
    },
    Bound {
        cte_id: u32,
        plan: Logical,
        output: Vec<(ColumnId, Box<str>)>,
        uses: u32,
    },
}

impl<'a> Bind<'a, '_, '_> {
    /// Puts the CTEs of a WITH in sight.
    pub fn push_ctes(&mut self, with: &'a ast::With) -> Result<()> {
        let blocks = self.blocks.len();
        for (i, cte) in with.ctes.iter().enumerate() {
            if with.ctes[..i].iter().any(|c| *c.name == *cte.name) {
                return Err(Error::nonuniq_table(&*cte.name));
            }
            let state = CteState::Pending { cte, recursive: with.recursive, blocks };
            self.ctes.push(CteEntry { name: cte.name.0.clone(), state });
        }
        Ok(())
    }

    /// Takes CTEs from position `mark` on out of sight, and puts their definitions where they are read.
    pub fn pop_ctes(&mut self, mark: usize, bound: &mut Bound) {
        let mut rest: Vec<LogicalCte> = vec![];
        let mut single: Vec<LogicalCte> = vec![];
        for entry in self.ctes.drain(mark..) {
            if let CteState::Bound { cte_id, plan, output, uses } = entry.state {
                let output = output.into_iter().map(|(id, _)| id).collect();
                let cte = LogicalCte { cte_id, name: entry.name, plan, output, apart: false };
                if uses > 1 { rest.push(cte) } else { single.push(cte) }
            }
        }
        // Later definitions may read earlier ones, so the last goes first into what reads it.
        while let Some(cte) = single.pop() {
            let columns = &self.shared.columns;
            let reads = cte.output.iter().map(|id| columns.expr(*id)).collect::<Vec<_>>();
            let mut slot = Some((cte, reads));
            put_in(&mut bound.plan, &mut slot);
            for other in rest.iter_mut().chain(&mut single) {
                put_in(&mut other.plan, &mut slot);
            }
            for def in self.shared.subqueries.iter_mut().flatten() {
                put_in(&mut def.plan, &mut slot);
            }
            debug_assert!(slot.is_none(), "a bound CTE is read somewhere");
        }
        if !rest.is_empty() {
            let input = Box::new(std::mem::replace(&mut bound.plan, Logical::OneRow));
            bound.plan = Logical::With { ctes: rest, input };
        }
    }

    /// The CTE that a bare name in FROM stands for, if any.
    pub fn find_cte(&self, name: &str) -> Option<usize> {
        self.ctes.iter().rposition(|c| *c.name == *name)
    }

    /// Reads a CTE under an alias.
    pub fn use_cte(&mut self, idx: usize, alias: &str) -> Result<(Logical, Scope)> {
        if let CteState::Pending { cte, recursive, blocks } = self.ctes[idx].state {
            self.bind_definition(idx, cte, recursive, blocks)?;
        }
        let inside = self.blocks.last().is_some_and(|b| b.recursive_of.is_some());
        let name = self.ctes[idx].name.clone();
        let (cte_id, columns): (u32, Vec<(Box<str>, SqlType, bool)>) = match &mut self.ctes[idx].state {
            CteState::Undefined { union: false } => return Err(Error::cte_recursive_requires_union(&name)),
            // Its own FROM would have made it a recursive member.
            CteState::Undefined { union: true } => {
                return Err(Error::cte_recursive_requires_single_reference(&name));
            }
            CteState::Recursive { cte_id, columns, references } => {
                *references += 1;
                if *references > 1 || !inside {
                    return Err(Error::cte_recursive_requires_single_reference(&name));
                }
                (*cte_id, columns.iter().map(|(n, t)| (n.clone(), *t, true)).collect())
            }
            CteState::Bound { cte_id, output, uses, .. } => {
                *uses += 1;
                let columns = &self.shared.columns;
                let info = |id| (columns.get(id).ty, columns.get(id).nullable);
                (*cte_id, output.iter().map(|(id, n)| (n.clone(), info(*id).0, info(*id).1)).collect())
            }
            CteState::Pending { .. } => return Err(Error::internal("a CTE is bound at its first use")),
        };
        let mut scan = vec![];
        let mut source = vec![];
        for (position, (name, ty, nullable)) in columns.into_iter().enumerate() {
            let id = self.shared.columns.computed(&name, ty, nullable);
            self.shared.columns.get_mut(id).table_alias = alias.into();
            scan.push((id, position));
            source.push(SourceColumn { name, id, invisible: false });
        }
        let scope =
            Scope::of(Source { schema: "".into(), alias: alias.into(), columns: source, base: None, view: None });
        Ok((Logical::CteScan { cte_id, name, columns: scan }, scope))
    }

    fn bind_definition(&mut self, idx: usize, cte: &'a ast::Cte, recursive: bool, blocks: usize) -> Result<()> {
        let later = self.ctes.split_off(idx + 1);
        let own = self.ctes.pop().expect("idx is in range");
        let inner_blocks = self.blocks.split_off(blocks);
        let frames = std::mem::take(&mut self.frames);
        let cte_id = self.shared.cte_count;
        self.shared.cte_count += 1;
        let reads = self.reads_mark();
        self.shared.columns.blocks.name_next(&own.name);
        let mut bound = if recursive {
            let union = matches!(cte.query.body, ast::QueryBody::SetOp(_));
            self.ctes.push(CteEntry { name: own.name.clone(), state: CteState::Undefined { union } });
            let bound = match recursive_split(cte) {
                Some(split) => self.recursive_cte(cte, cte_id, split)?,
                None => self.query(&cte.query, QueryUse::Cte)?,
            };
            self.ctes.pop();
            bound
        } else {
            self.query(&cte.query, QueryUse::Cte)?
        };
        self.shared.forget_reads(reads);
        rename_columns(&mut bound, &cte.columns)?;
        check_distinct_names(&bound)?;
        self.frames = frames;
        self.blocks.extend(inner_blocks);
        let state = CteState::Bound { cte_id, plan: bound.plan, output: bound.output, uses: 0 };
        self.ctes.push(CteEntry { name: own.name, state });
        self.ctes.extend(later);
        Ok(())
    }

    /// `split`: position of the first operand that names the CTE.
    fn recursive_cte(&mut self, cte: &'a ast::Cte, cte_id: u32, split: usize) -> Result<Bound> {
        let name: &'a str = &cte.name;
        let ast::QueryBody::SetOp(chain) = &cte.query.body else {
            return Err(Error::cte_recursive_requires_union(name));
        };
        if split == 0 {
            return Err(Error::cte_recursive_requires_nonrecursive_first(name));
        }
        if cte.query.with.is_some() {
            return Err(Error::not_supported("WITH in a recursive common table expression"));
        }
        // rest[i] is operand i + 1
        let (before, after) = chain.rest.split_at(split - 1);
        if after.iter().any(|t| t.op != ast::SetOp::Union) {
            return Err(Error::not_supported("INTERSECT or EXCEPT in a recursive common table expression"));
        }
        if after.iter().any(|t| t.all != after[0].all) {
            return Err(Error::not_supported(
                "UNION ALL and UNION DISTINCT mixed in a recursive common table expression",
            ));
        }
        let shape = BlockShape {
            set_op: Some(SetOpKind::Union),
            distinct: after.iter().any(|t| !t.all),
            limited: cte.query.limit.is_some(),
            ordered: !cte.query.order_by.is_empty(),
            ..BlockShape::default()
        };
        let outer_block = self.enter_block(QueryUse::Cte, shape);
        let mut anchor = self.set_chain(&chain.first, before)?;
        rename_columns(&mut anchor, &cte.columns)?;
        // The column of a truth value takes any integer.
        let column_type = |ty: SqlType| if ty == SqlType::Bool { SqlType::BIGINT } else { ty };
        let types: Vec<SqlType> =
            anchor.output.iter().map(|(id, _)| column_type(self.shared.columns.get(*id).ty)).collect();
        let anchor = self.align(anchor, &types);
        let columns: Vec<(Box<str>, SqlType)> =
            anchor.output.iter().map(|(id, n)| (n.clone(), self.shared.columns.get(*id).ty)).collect();
        let mut members = vec![];
        for term in after {
            let own = self.ctes.last_mut().expect("bind_definition pushed it");
            own.state = CteState::Recursive { cte_id, columns: columns.clone(), references: 0 };
            let ast::QueryBody::Select(select) = &term.body else {
                return Err(Error::not_supported("this operand of a recursive common table expression"));
            };
            self.recursive_member = Some(name);
            let bound = self.select(select, &[], None, QueryUse::Operand)?;
            let own = self.ctes.last().expect("bind_definition pushed it");
            if matches!(own.state, CteState::Recursive { references: 0, .. }) {
                return Err(Error::cte_recursive_requires_nonrecursive_first(name));
            }
            if bound.output.len() != columns.len() {
                return Err(Error::wrong_number_of_columns_in_select());
            }
            members.push(self.as_column_values(bound, &columns));
        }
        let own = self.ctes.last_mut().expect("bind_definition pushed it");
        own.state = CteState::Undefined { union: true };
        let mut output = vec![];
        for (n, ty) in &columns {
            output.push((self.shared.columns.computed(n, *ty, true), n.clone()));
        }
        let ids = |b: &Bound| b.output.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let recursive = if members.len() == 1 {
            let b = members.pop().expect("one member");
            let ids = ids(&b);
            (Box::new(b.plan), ids)
        } else {
            let union: Vec<ColumnId> =
                columns.iter().map(|(n, ty)| self.shared.columns.computed(n, *ty, true)).collect();
            let inputs = members
                .into_iter()
                .map(|b| {
                    let ids = ids(&b);
                    (b.plan, ids)
                })
                .collect();
            let plan = Logical::SetOp { kind: SetOpKind::Union, columns: union.clone(), inputs, distinct: false };
            (Box::new(plan), union)
        };
        self.leave_block(outer_block);
        let anchor_ids = ids(&anchor);
        let plan = Logical::RecursiveUnion {
            cte_id,
            columns: output.iter().map(|(id, _)| *id).collect(),
            anchor: (Box::new(anchor.plan), anchor_ids),
            recursive,
            distinct: !after[0].all,
        };
        self.order_and_limit(Bound { plan, output }, &cte.query.order_by, cte.query.limit.as_deref(), QueryUse::Cte)
    }

    /// The rows of a recursive member go into columns that the anchor has made.
    fn as_column_values(&mut self, bound: Bound, columns: &[(Box<str>, SqlType)]) -> Bound {
        let mut values: Vec<Expr> = vec![];
        for ((id, _), (name, ty)) in bound.output.iter().zip(columns) {
            values.push(build::column_value(self.shared.columns.expr(*id), *ty, name));
        }
        self.replace_output(bound, values)
    }

    /// How often the recursive member being bound has named its CTE.
    pub fn recursive_references(&self) -> u32 {
        match self.ctes.last().map(|c| &c.state) {
            Some(CteState::Recursive { references, .. }) => *references,
            _ => 0,
        }
    }
}

/// Replaces the one scan of the CTE by its definition.
fn put_in(plan: &mut Logical, slot: &mut Option<(LogicalCte, Vec<Expr>)>) {
    plan.walk_mut(&mut |node| {
        let Some((cte, _)) = slot.as_ref() else { return };
        let Logical::CteScan { cte_id, columns, .. } = node else { return };
        if *cte_id != cte.cte_id {
            return;
        }
        let columns = std::mem::take(columns);
        let (cte, reads) = slot.take().expect("checked above");
        let exprs = columns.into_iter().map(|(id, position)| (id, reads[position].clone())).collect();
        *node = Logical::Project { input: Box::new(cte.plan), exprs };
    });
}

/// Position of the first operand of a union that names the CTE in its FROM.
fn recursive_split(cte: &ast::Cte) -> Option<usize> {
    match &cte.query.body {
        ast::QueryBody::SetOp(chain) => std::iter::once(&chain.first)
            .chain(chain.rest.iter().map(|t| &t.body))
            .position(|b| matches!(b, ast::QueryBody::Select(s) if names(&s.from, &cte.name))),
        ast::QueryBody::Select(s) if names(&s.from, &cte.name) => Some(0),
        _ => None,
    }
}

fn names(from: &[ast::TableRef], name: &str) -> bool {
    let mut todo: Vec<&ast::TableRef> = from.iter().collect();
    while let Some(t) = todo.pop() {
        match t {
            ast::TableRef::Table(f) if f.name.schema.is_none() && *f.name.name == *name => return true,
            ast::TableRef::Join(j) => todo.extend([&j.left, &j.right]),
            _ => {}
        }
    }
    false
}

/// Gives a derived table, view or CTE the names of its column list.
pub fn rename_columns(bound: &mut Bound, names: &[ast::Ident]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    if names.len() != bound.output.len() {
        return Err(Error::view_wrong_list());
    }
    for ((_, name), new) in bound.output.iter_mut().zip(names) {
        *name = new.0.clone();
    }
    Ok(())
}

/// 1060 if two columns of a derived table have one name.
pub fn check_distinct_names(bound: &Bound) -> Result<()> {
    for (i, (_, name)) in bound.output.iter().enumerate() {
        if bound.output[..i].iter().any(|(_, n)| same_name(n, name)) {
            return Err(Error::dup_fieldname(name));
        }
    }
    Ok(())
}
