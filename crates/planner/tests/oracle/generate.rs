//! Makes random bound queries and tiny tables for them.

use crate::logical::Data;
use catalog::{ColumnDef, IndexDef, IndexKind, IndexPart, TableDef, TableEngine, TableId};
use expr::{
    AggCall, AggFunc, ArithOp, CmpOp, ColumnId, Expr, ExprKind, FrameBound, FrameUnits, WindowCall, WindowFrame,
    WindowFunc,
};
use plan::logical::{
    ColumnInfo, Columns, Logical, LogicalCte, LogicalJoinKind, LogicalQuery, SetOpKind, SubqueryDef, SubqueryKind,
};
use std::sync::Arc;
use types::{Collation, SqlType, Value};

pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

pub struct Generator {
    r: Rng,
    tables: Vec<Arc<TableDef>>,
    columns: Columns,
    subqueries: Vec<SubqueryDef>,
    /// CTEs in scope: id, number of columns.
    ctes: Vec<(u32, usize)>,
    next_cte: u32,
    /// Nodes left to make.
    budget: usize,
}

const INT: SqlType = SqlType::BIGINT;

impl Generator {
    pub fn new(seed: u64) -> Generator {
        let mut g = Generator {
            r: Rng(seed.wrapping_mul(0x1234_5678_9ABC_DEF1) + 1),
            tables: vec![],
            columns: Columns::default(),
            subqueries: vec![],
            ctes: vec![],
            next_cte: 0,
            budget: 14,
        };
        for t in 0..3u64 {
            let columns = (0..3).map(|i| ColumnDef::plain(["a", "b", "c"][i], INT, i > 0)).collect();
            let index = |name: &str, kind, columns: &[usize]| IndexDef {
                name: name.into(),
                kind,
                parts: columns
                    .iter()
                    .map(|c| IndexPart { column_idx: *c, prefix_len: None, descending: false })
                    .collect(),
                algorithm: None,
                comment: "".into(),
                invisible: false,
                made_for_foreign_key: false,
            };
            let indexes = if t < 2 {
                vec![
                    index("PRIMARY", IndexKind::Primary, &[0]),
                    index("k", IndexKind::Plain, &[1, 2]),
                    index("l", IndexKind::Plain, &[2]),
                ]
            } else {
                vec![index("k", IndexKind::Plain, &[0, 1])]
            };
            g.tables.push(Arc::new(TableDef {
                id: TableId(t),
                schema: "test".into(),
                name: format!("t{t}").into(),
                columns,
                indexes,
                checks: Vec::new(),
                foreign_keys: Vec::new(),
                engine: TableEngine::InnoDb,
                collation: Collation::Utf8mb4_0900AiCi,
                comment: "".into(),
                options: vec![],
                created_at: 0,
                temporary: false,
            }));
        }
        g
    }

    pub fn query(&mut self, depth: usize) -> (LogicalQuery, Data) {
        let mut data = Data::new();
        for t in 0..3u64 {
            let rows = self.r.below(5);
            let mut v = vec![];
            for i in 0..rows {
                let first = if t < 2 { i as i64 } else { self.r.below(3) as i64 };
                let mut value = || if self.r.below(4) == 0 { None } else { Some(self.r.below(4) as i64) };
                v.push(vec![Some(first), value(), value()]);
            }
            data.insert(t, v);
        }
        let (root, out) = self.relation(depth, &[]);
        let out: Vec<ColumnId> = out.into_iter().take(4).collect();
        let query = LogicalQuery {
            root,
            output: out.iter().map(|c| (*c, format!("x{c}").into())).collect(),
            columns: std::mem::take(&mut self.columns),
            subqueries: std::mem::take(&mut self.subqueries),
            serial: false,
            param_count: 0,
            calc_found_rows: false,
            cacheable: true,
            join_order: vec![],
            derived_pushdown: vec![],
            hint_texts: vec![],
            warnings: vec![],
            locks: vec![],
        };
        (query, data)
    }

    fn column(&mut self, name: &str, nullable: bool) -> ColumnId {
        self.columns.add(ColumnInfo { name: name.into(), table_alias: "".into(), ty: INT, nullable, origin: None })
    }

    fn get(&mut self) -> (Logical, Vec<ColumnId>) {
        let table = self.tables[self.r.below(3)].clone();
        let columns: Vec<(ColumnId, usize)> = (0..3).map(|i| (self.column(["a", "b", "c"][i], i > 0), i)).collect();
        let ids = columns.iter().map(|c| c.0).collect();
        let alias = table.name.clone();
        (
            Logical::Get {
                table,
                alias,
                columns,
                is_virtual: false,
                hints: vec![],
                tuning: Default::default(),
                row_id: None,
            },
            ids,
        )
    }

    fn pick(&mut self, from: &[ColumnId]) -> ColumnId {
        from[self.r.below(from.len())]
    }

    fn read(&self, c: ColumnId) -> Expr {
        // Nullable always: what outer joins do to a column is not tracked here.
        Expr::column(c, INT, true)
    }

    fn value(&mut self, cols: &[ColumnId]) -> Expr {
        match self.r.below(6) {
            0 => Expr::constant(Value::Int(self.r.below(4) as i64), INT),
            1 if !cols.is_empty() => {
                let (a, b) = (self.pick(cols), self.pick(cols));
                let (l, r) = (self.read(a).into(), self.read(b).into());
                Expr::new(ExprKind::Arith { op: ArithOp::Add, left: l, right: r }, INT, true)
            }
            _ if !cols.is_empty() => {
                let c = self.pick(cols);
                self.read(c)
            }
            _ => Expr::constant(Value::Int(self.r.below(4) as i64), INT),
        }
    }

    fn bool_expr(kind: ExprKind) -> Expr {
        Expr::new(kind, SqlType::Bool, true)
    }

    fn op(&mut self) -> CmpOp {
        [CmpOp::Eq, CmpOp::Eq, CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Ge, CmpOp::NullSafeEq][self.r.below(7)]
    }

    /// A predicate over `cols`; subqueries if `depth` allows. `outer` are columns of enclosing queries, in sight too.
    fn predicate(&mut self, cols: &[ColumnId], outer: &[ColumnId], depth: usize) -> Expr {
        let all: Vec<ColumnId> = cols.iter().chain(outer).copied().collect();
        let plain = depth == 0 || self.budget < 3;
        match self.r.below(if plain { 7 } else { 14 }) {
            0..=2 => {
                // Correlated equalities are what real queries have.
                let right = if !outer.is_empty() && self.r.below(2) == 0 { outer } else { &all };
                let op = self.op();
                let (l, r) = (self.value(cols).into(), self.value(right).into());
                Self::bool_expr(ExprKind::Compare { op, left: l, right: r })
            }
            3 => {
                let e = self.value(&all).into();
                Self::bool_expr(ExprKind::IsNull { expr: e, negated: self.r.below(2) == 0 })
            }
            4 => {
                let parts = vec![self.predicate(cols, outer, depth), self.predicate(cols, outer, depth)];
                Self::bool_expr(ExprKind::Or(parts))
            }
            5 => {
                let e = self.predicate(cols, outer, depth).into();
                Self::bool_expr(ExprKind::Not(e))
            }
            6 => {
                let e = self.value(&all).into();
                let list = (0..2).map(|_| Expr::constant(Value::Int(self.r.below(4) as i64), INT)).collect();
                Self::bool_expr(ExprKind::InList { expr: e, list, negated: self.r.below(3) == 0 })
            }
            7..=8 => {
                let (plan, output) = self.relation(depth - 1, &all);
                let e = self.subquery(SubqueryKind::Exists, plan, output, SqlType::Bool, false);
                if self.r.below(2) == 0 { e } else { Self::bool_expr(ExprKind::Not(e.into())) }
            }
            9..=11 => {
                let (plan, output) = self.relation(depth - 1, &all);
                let wide = output.len() > 1 && self.r.below(4) == 0;
                let left: Vec<Expr> = (0..1 + wide as usize).map(|_| self.value(&all)).collect();
                let (op, is_all) = if wide {
                    (CmpOp::Eq, false)
                } else {
                    match self.r.below(6) {
                        0 => (CmpOp::Ne, true),
                        1 => (CmpOp::Lt, self.r.below(2) == 0),
                        2 => (CmpOp::Ge, self.r.below(2) == 0),
                        3 => (CmpOp::Eq, self.r.below(2) == 0),
                        4 => (CmpOp::Ne, false),
                        _ => (CmpOp::Eq, false),
                    }
                };
                let n = left.len();
                let kind = SubqueryKind::Quantified { left, op, all: is_all };
                let output = output.into_iter().take(n).collect();
                let e = self.subquery(kind, plan, output, SqlType::Bool, true);
                if self.r.below(3) == 0 { Self::bool_expr(ExprKind::Not(e.into())) } else { e }
            }
            _ => {
                let e = self.scalar(depth, &all);
                let op = self.op();
                let l = self.value(&all);
                Self::bool_expr(ExprKind::Compare { op, left: l.into(), right: e.into() })
            }
        }
    }

    fn subquery(
        &mut self,
        kind: SubqueryKind,
        plan: Logical,
        output: Vec<ColumnId>,
        ty: SqlType,
        nullable: bool,
    ) -> Expr {
        let id = self.subqueries.len() as u32;
        self.subqueries.push(SubqueryDef { id, kind, plan, output, hints: Default::default() });
        Expr::new(ExprKind::Subquery(id), ty, nullable)
    }

    fn scalar(&mut self, depth: usize, outer: &[ColumnId]) -> Expr {
        let (plan, output) = self.relation(depth - 1, outer);
        let (plan, output) = match self.r.below(5) {
            0 => (plan, output),
            1 => {
                let keys = output.iter().map(|c| (self.read(*c), false)).collect();
                let sorted = Logical::Sort { input: Box::new(plan), keys };
                (Logical::Limit { input: Box::new(sorted), limit: Some(1), offset: self.r.below(2) as u64 }, output)
            }
            _ => {
                let (plan, out) = self.aggregate(plan, &output, outer, false);
                if self.r.below(2) == 0 {
                    let e = self.value(&[out.clone(), outer.to_vec()].concat());
                    let c = self.column("s", true);
                    (Logical::Project { input: Box::new(plan), exprs: vec![(c, e)] }, vec![c])
                } else {
                    (plan, out)
                }
            }
        };
        self.subquery(SubqueryKind::Scalar, plan, vec![output[0]], INT, true)
    }

    fn aggregate(
        &mut self,
        input: Logical,
        cols: &[ColumnId],
        outer: &[ColumnId],
        grouped: bool,
    ) -> (Logical, Vec<ColumnId>) {
        let mut out = vec![];
        let mut groups = vec![];
        if grouped {
            for _ in 0..1 + self.r.below(2) {
                let c = self.pick(cols);
                if self.r.below(2) == 0 && !out.contains(&c) {
                    groups.push((c, self.read(c)));
                    out.push(c);
                } else {
                    let e = self.value(cols);
                    let g = self.column("g", true);
                    groups.push((g, e));
                    out.push(g);
                }
            }
        }
        let mut aggregates = vec![];
        for _ in 0..1 + self.r.below(2) {
            let func = [AggFunc::CountStar, AggFunc::Count, AggFunc::Sum, AggFunc::Min, AggFunc::Max][self.r.below(5)];
            let args = if func == AggFunc::CountStar {
                vec![]
            } else {
                vec![self.value(&[cols, &outer[..outer.len().min(1)]].concat())]
            };
            let nullable = !matches!(func, AggFunc::CountStar | AggFunc::Count);
            let c = self.column("agg", nullable);
            let distinct = func == AggFunc::Count && self.r.below(3) == 0;
            let call = AggCall { func, args, distinct, order_by: vec![], separator: ",".into(), ty: INT, nullable };
            aggregates.push((c, call));
            out.push(c);
        }
        (Logical::Aggregate { input: Box::new(input), groups, aggregates, rollup: false }, out)
    }

    /// A query block or part of one, and its columns; it may read `outer`.
    pub fn relation(&mut self, depth: usize, outer: &[ColumnId]) -> (Logical, Vec<ColumnId>) {
        if depth == 0 || self.budget == 0 {
            return self.leaf(outer);
        }
        self.budget -= 1;
        let d = depth - 1;
        match self.r.below(14) {
            0..=3 => {
                let (input, cols) = self.relation(d, outer);
                let n = 1 + self.r.below(2);
                let predicates = (0..n).map(|_| self.predicate(&cols, outer, depth)).collect();
                (Logical::Filter { input: Box::new(input), predicates }, cols)
            }
            4..=6 => {
                let (left, lc) = self.relation(d, outer);
                let lateral = self.r.below(4) == 0;
                let inner: Vec<ColumnId> =
                    if lateral { lc.iter().chain(outer).copied().collect() } else { outer.to_vec() };
                let (right, rc) = self.relation(d, &inner);
                let both: Vec<ColumnId> = lc.iter().chain(&rc).copied().collect();
                let kind = if self.r.below(3) == 0 { LogicalJoinKind::Left } else { LogicalJoinKind::Inner };
                let mut on = vec![];
                if self.r.below(4) > 0 || kind == LogicalJoinKind::Left {
                    let (a, b) = (self.pick(&lc), self.pick(&rc));
                    let (l, r) = (self.read(a).into(), self.read(b).into());
                    on.push(Self::bool_expr(ExprKind::Compare { op: CmpOp::Eq, left: l, right: r }));
                }
                if self.r.below(4) == 0 {
                    let depth = if self.r.below(3) == 0 { depth.min(2) } else { 0 };
                    on.push(self.predicate(&both, outer, depth));
                }
                let straight = self.r.below(10) == 0;
                let node = Logical::Join {
                    kind,
                    left: Box::new(left),
                    right: Box::new(right),
                    on,
                    dependent: lateral,
                    straight,
                };
                (node, both)
            }
            7 => {
                let (input, cols) = self.relation(d, outer);
                let mut exprs = vec![];
                for _ in 0..1 + self.r.below(3) {
                    let c = self.pick(&cols);
                    if self.r.below(2) == 0 && !exprs.iter().any(|(x, _)| *x == c) {
                        exprs.push((c, self.read(c)));
                        continue;
                    }
                    let e = match self.r.below(4) {
                        0 if d > 0 => self.scalar(d, &[&cols[..], outer].concat()),
                        1 if d > 0 => {
                            let mut p = self.predicate(&cols, outer, d);
                            p.ty = INT;
                            Expr::new(ExprKind::Cast { expr: p.into(), explicit: false }, INT, true)
                        }
                        _ => self.value(&[&cols[..], outer].concat()),
                    };
                    let c = self.column("p", true);
                    exprs.push((c, e));
                }
                let ids = exprs.iter().map(|e| e.0).collect();
                (Logical::Project { input: Box::new(input), exprs }, ids)
            }
            8..=9 => {
                let (input, cols) = self.relation(d, outer);
                let grouped = self.r.below(3) > 0;
                let (node, out) = self.aggregate(input, &cols, outer, grouped);
                if self.r.below(2) == 0 {
                    let p = self.predicate(&out, outer, d);
                    return (Logical::Filter { input: Box::new(node), predicates: vec![p] }, out);
                }
                (node, out)
            }
            10 => {
                let (input, cols) = self.relation(d, outer);
                (Logical::Distinct { input: Box::new(input) }, cols)
            }
            11 => {
                let (input, cols) = self.relation(d, outer);
                let keys = cols.iter().map(|c| (self.read(*c), self.r.below(2) == 0)).collect();
                let sorted = Logical::Sort { input: Box::new(input), keys };
                let limit = Some(self.r.below(3) as u64);
                (Logical::Limit { input: Box::new(sorted), limit, offset: self.r.below(2) as u64 }, cols)
            }
            12 => {
                let kind = [SetOpKind::Union, SetOpKind::Intersect, SetOpKind::Except][self.r.below(3)];
                let (a, ac) = self.relation(d, outer);
                let (b, bc) = self.relation(d, outer);
                let n = ac.len().min(bc.len()).min(2);
                let columns: Vec<ColumnId> = (0..n).map(|_| self.column("u", true)).collect();
                let inputs = vec![(a, ac[..n].to_vec()), (b, bc[..n].to_vec())];
                let distinct = self.r.below(2) == 0;
                (Logical::SetOp { kind, columns: columns.clone(), inputs, distinct }, columns)
            }
            _ => match self.r.below(2) {
                0 => {
                    let (input, cols) = self.relation(d, outer);
                    let p = self.pick(&cols);
                    let arg = self.value(&cols);
                    let c = self.column("w", true);
                    let call = WindowCall {
                        func: WindowFunc::Agg([AggFunc::Sum, AggFunc::Max][self.r.below(2)]),
                        args: vec![arg],
                        frame: WindowFrame {
                            units: FrameUnits::Rows,
                            start: FrameBound::UnboundedPreceding,
                            end: FrameBound::UnboundedFollowing,
                        },
                        ty: INT,
                        nullable: true,
                    };
                    let node = Logical::Window {
                        input: Box::new(input),
                        partition_by: vec![self.read(p)],
                        order_by: vec![],
                        calls: vec![(c, call)],
                    };
                    let mut out = cols;
                    out.push(c);
                    (node, out)
                }
                _ => {
                    let (plan, output) = self.relation(d, outer);
                    let cte_id = self.next_cte;
                    self.next_cte += 1;
                    self.ctes.push((cte_id, output.len()));
                    let (input, cols) = self.relation(depth, outer);
                    self.ctes.pop();
                    let cte = LogicalCte { cte_id, name: format!("cte{cte_id}").into(), plan, output, apart: false };
                    (Logical::With { ctes: vec![cte], input: Box::new(input) }, cols)
                }
            },
        }
    }

    fn leaf(&mut self, outer: &[ColumnId]) -> (Logical, Vec<ColumnId>) {
        if !self.ctes.is_empty() && self.r.below(2) == 0 {
            let (cte_id, n) = self.ctes[self.r.below(self.ctes.len())];
            let columns: Vec<(ColumnId, usize)> = (0..n).map(|i| (self.column("v", true), i)).collect();
            let ids = columns.iter().map(|c| c.0).collect();
            return (Logical::CteScan { cte_id, name: format!("cte{cte_id}").into(), columns }, ids);
        }
        if self.r.below(12) == 0 {
            let e = self.value(outer);
            let c = self.column("k", true);
            return (Logical::Project { input: Box::new(Logical::OneRow), exprs: vec![(c, e)] }, vec![c]);
        }
        let (get, cols) = self.get();
        if self.r.below(2) == 0 {
            let p = self.predicate(&cols, outer, 0);
            return (Logical::Filter { input: Box::new(get), predicates: vec![p] }, cols);
        }
        (get, cols)
    }
}
