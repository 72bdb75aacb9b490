//! The tables and views that a statement names, and what it does with each.
//!
//! Unlike [`Query::each_name`], which lets names be changed, this only looks, and it knows every kind of statement. A
//! bare name in FROM that means a common table expression in sight names no table. Locking clauses are taken apart: a
//! clause of a query means the tables of its FROM, or those that it lists after OF.
//!
//! Expressions of definitions (DEFAULT, CHECK, keys, generated columns) may hold no queries, so they are not looked
//! into.

use super::*;

/// What a statement does with a table or view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableUse {
    /// FROM, TABLE: its rows are read.
    Read,
    /// The same, under a locking clause.
    Lock(LockStrength),
    /// INSERT and LOAD DATA. `deletes`: REPLACE; `updates`: ON DUPLICATE KEY UPDATE.
    Insert {
        deletes: bool,
        updates: bool,
    },
    /// It stands in the list of an UPDATE. `assigned`: SET means its columns, or may mean them.
    Update {
        assigned: bool,
    },
    /// It stands in the FROM of a DELETE. `emptied`: rows of it go.
    Delete {
        emptied: bool,
    },
    /// CREATE TABLE. `filled`: by a query.
    Create {
        temporary: bool,
        filled: bool,
    },
    /// CREATE TABLE ... LIKE it
    Copy,
    /// REFERENCES
    Refer,
    Drop {
        temporary: bool,
    },
    /// RENAME TABLE, ALTER TABLE ... RENAME: the old name.
    RenameFrom,
    RenameTo,
    Truncate,
    /// ALTER TABLE without a new name for it
    Alter(Option<AlterLock>),
    /// CREATE INDEX and DROP INDEX
    Index(Option<AlterLock>),
    /// CREATE VIEW. `replaces`: OR REPLACE, ALTER VIEW.
    CreateView {
        replaces: bool,
    },
    DropView,
    Maintain(MaintenanceOp),
    LockTable(TableLockKind),
    /// DESCRIBE, SHOW COLUMNS, SHOW INDEX, SHOW CREATE TABLE
    Describe,
    /// SHOW CREATE VIEW
    ShowView,
}

/// What a statement, or a query, names.
#[derive(Debug, Default)]
pub struct TableUses<'n> {
    /// What the statement changes comes first; a name comes as often as it is used.
    pub tables: Vec<(&'n ObjectName, TableUse)>,
    /// How many of SELECT, VALUES and TABLE there are.
    pub queries: usize,
}

impl Statement {
    /// What the statement names. EXPLAIN names what the explained statement does.
    pub fn table_uses(&self) -> TableUses<'_> {
        let mut walk = Walk::default();
        walk.statement(self);
        walk.out
    }
}

impl Query {
    pub fn table_uses(&self) -> TableUses<'_> {
        let mut walk = Walk::default();
        walk.query(self, &[]);
        walk.out
    }
}

impl Expr {
    /// Whether there is a query in it.
    pub fn has_query(&self) -> bool {
        let mut walk = Walk::default();
        walk.expr(self);
        walk.out.queries > 0
    }

    /// Whether it reads a variable of the server: `@@name`.
    pub fn has_system_variable(&self) -> bool {
        let mut walk = Walk::default();
        walk.expr(self);
        walk.system_variables
    }
}

#[derive(Default)]
struct Walk<'n> {
    /// Common table expressions in sight.
    ctes: Vec<&'n str>,
    out: TableUses<'n>,
    system_variables: bool,
}

/// Whether `name` means the table that FROM knows as `alias`.
fn means(name: &ObjectName, table: &TableFactor) -> bool {
    let alias = table.alias.as_ref().unwrap_or(&table.name.name);
    name.name == *alias && (name.schema.is_none() || table.name.schema.is_none() || name.schema == table.name.schema)
}

/// The strongest clause that means the table.
fn lock_of(clauses: &[Locking], table: &TableFactor) -> Option<LockStrength> {
    let meant = clauses.iter().filter(|c| c.of.is_empty() || c.of.iter().any(|n| means(n, table)));
    meant.map(|c| c.strength).max_by_key(|s| *s == LockStrength::Update)
}

impl<'n> Walk<'n> {
    fn put(&mut self, name: &'n ObjectName, usage: TableUse) {
        self.out.tables.push((name, usage));
    }

    fn statement(&mut self, statement: &'n Statement) {
        use Statement::*;
        match statement {
            Query(query) => self.query(query, &[]),
            Insert(i) => self.insert(i),
            Update(u) => self.update(u),
            Delete(d) => self.delete(d),
            LoadData(l) => {
                self.put(
                    &l.table,
                    TableUse::Insert { deletes: l.duplicates == LoadDuplicates::Replace, updates: false },
                );
                self.assignments(&l.set);
            }
            Do(exprs) => self.exprs(exprs),
            Call(c) => self.exprs(&c.args),
            Kill(k) => self.expr(&k.id),
            Set(items) => items.iter().for_each(|item| match item {
                SetItem::UserVar { value, .. } | SetItem::Var { value: SetValue::Expr(value), .. } => self.expr(value),
                _ => {}
            }),
            Explain(e) => {
                if let ExplainTarget::Statement(s) = &e.target {
                    self.statement(s);
                }
            }
            Show(show) => self.show(show),
            Describe { table, .. } => self.put(table, TableUse::Describe),
            LockTables(locks) => locks.iter().for_each(|l| self.put(&l.table, TableUse::LockTable(l.kind))),
            TableMaintenance(t) => t.tables.iter().for_each(|name| self.put(name, TableUse::Maintain(t.op))),
            _ => self.definition(statement),
        }
    }

    /// Statements that define tables, views and indexes.
    fn definition(&mut self, statement: &'n Statement) {
        use Statement::*;
        match statement {
            CreateTable(c) => self.create_table(c),
            AlterTable(a) => self.alter_table(a),
            CreateIndex(c) => self.put(&c.table, TableUse::Index(c.lock)),
            DropIndex(d) => self.put(&d.table, TableUse::Index(d.lock)),
            DropTable(d) => d.tables.iter().for_each(|t| self.put(t, TableUse::Drop { temporary: d.temporary })),
            RenameTable(pairs) => pairs.iter().for_each(|(from, to)| {
                self.put(from, TableUse::RenameFrom);
                self.put(to, TableUse::RenameTo);
            }),
            Truncate(name) => self.put(name, TableUse::Truncate),
            CreateView(v) => {
                self.put(&v.name, TableUse::CreateView { replaces: v.or_replace || v.alter });
                self.query(&v.query, &[]);
            }
            DropView(d) => d.views.iter().for_each(|v| self.put(v, TableUse::DropView)),
            _ => {}
        }
    }

    fn create_table(&mut self, c: &'n CreateTable) {
        let query = match &c.body {
            CreateTableBody::Define(body) => body.query.as_deref(),
            CreateTableBody::Like(_) => None,
        };
        self.put(&c.name, TableUse::Create { temporary: c.temporary, filled: query.is_some() });
        match &c.body {
            CreateTableBody::Like(source) => self.put(source, TableUse::Copy),
            CreateTableBody::Define(body) => self.references(&body.constraints),
        }
        if let Some(query) = query {
            self.query(query, &[]);
        }
    }

    fn alter_table(&mut self, a: &'n AlterTable) {
        let mut renames = a.specs.iter().filter(|s| matches!(s, AlterSpec::RenameTo(_))).peekable();
        let lock = a.specs.iter().rev().find_map(|s| if let AlterSpec::Lock(l) = s { Some(*l) } else { None });
        self.put(&a.name, if renames.peek().is_some() { TableUse::RenameFrom } else { TableUse::Alter(lock) });
        for spec in &a.specs {
            match spec {
                AlterSpec::RenameTo(to) => self.put(to, TableUse::RenameTo),
                AlterSpec::AddColumns { constraints, .. } => self.references(constraints),
                AlterSpec::AddConstraint(constraint) => self.references(std::slice::from_ref(constraint)),
                _ => {}
            }
        }
    }

    fn references(&mut self, constraints: &'n [TableConstraint]) {
        for constraint in constraints {
            if let TableConstraint::ForeignKey(key) = constraint {
                self.put(&key.references.table, TableUse::Refer);
            }
        }
    }

    fn show(&mut self, show: &'n Show) {
        match &show.what {
            ShowWhat::Columns { table, .. } | ShowWhat::Index { table, .. } | ShowWhat::CreateTable(table) => {
                self.put(table, TableUse::Describe);
            }
            ShowWhat::CreateView(view) => self.put(view, TableUse::ShowView),
            _ => {}
        }
        if let Some(ShowFilter::Where(condition)) = &show.filter {
            self.expr(condition);
        }
    }

    fn insert(&mut self, i: &'n Insert) {
        self.put(&i.table, TableUse::Insert { deletes: i.replace, updates: !i.on_duplicate.is_empty() });
        match &i.source {
            InsertSource::Values(rows) => rows.iter().for_each(|r| self.exprs(r)),
            InsertSource::Query(query) => self.query(query, &[]),
        }
        self.assignments(&i.on_duplicate);
        self.items(&i.returning);
    }

    fn update(&mut self, u: &'n Update) {
        let mark = self.ctes.len();
        self.with(u.with.as_deref());
        let assigned = |t: &TableFactor| {
            u.set.iter().any(|a| {
                let Some(table) = &a.column.table else { return true };
                means(&ObjectName { schema: a.column.schema.clone(), name: table.clone() }, t)
            })
        };
        let usage = |t: &TableFactor| TableUse::Update { assigned: assigned(t) };
        u.tables.iter().for_each(|t| self.from(t, &usage));
        self.assignments(&u.set);
        self.exprs(&u.where_);
        self.order(&u.order_by);
        self.ctes.truncate(mark);
    }

    fn delete(&mut self, d: &'n Delete) {
        let mark = self.ctes.len();
        self.with(d.with.as_deref());
        let emptied = |t: &TableFactor| {
            d.targets.is_empty() || d.targets.iter().any(|target| means(target, t) || target.name == t.name.name)
        };
        d.from.iter().for_each(|t| self.from(t, &|t| TableUse::Delete { emptied: emptied(t) }));
        self.exprs(&d.where_);
        self.order(&d.order_by);
        self.items(&d.returning);
        self.ctes.truncate(mark);
    }

    fn with(&mut self, with: Option<&'n With>) {
        let Some(with) = with else { return };
        for cte in &with.ctes {
            if with.recursive {
                self.ctes.push(&cte.name);
            }
            self.query(&cte.query, &[]);
            if !with.recursive {
                self.ctes.push(&cte.name);
            }
        }
    }

    /// `locking`: clauses of a query around it, of which it is the body.
    fn query(&mut self, query: &'n Query, locking: &'n [Locking]) {
        let locking = if query.locking.is_empty() { locking } else { &query.locking };
        let mark = self.ctes.len();
        self.with(query.with.as_deref());
        self.body(&query.body, locking);
        self.order(&query.order_by);
        self.ctes.truncate(mark);
    }

    fn body(&mut self, body: &'n QueryBody, locking: &'n [Locking]) {
        match body {
            QueryBody::Select(select) => self.select(select, locking),
            QueryBody::Values(rows) => {
                self.out.queries += 1;
                rows.iter().for_each(|r| self.exprs(r));
            }
            QueryBody::Table(name) => {
                self.out.queries += 1;
                if !self.is_cte(name) {
                    let clauses =
                        locking.iter().filter(|c| c.of.is_empty() || c.of.iter().any(|n| n.name == name.name));
                    let strength = clauses.map(|c| c.strength).max_by_key(|s| *s == LockStrength::Update);
                    self.put(name, strength.map_or(TableUse::Read, TableUse::Lock));
                }
            }
            QueryBody::SetOp(chain) => {
                self.body(&chain.first, locking);
                chain.rest.iter().for_each(|t| self.body(&t.body, locking));
            }
            QueryBody::Nested(query) => self.query(query, locking),
        }
    }

    fn select(&mut self, select: &'n Select, locking: &'n [Locking]) {
        self.out.queries += 1;
        let usage = |t: &TableFactor| lock_of(locking, t).map_or(TableUse::Read, TableUse::Lock);
        select.from.iter().for_each(|t| self.from(t, &usage));
        self.items(&select.items);
        self.exprs(&select.where_);
        select.group_by.iter().for_each(|g| self.exprs(&g.exprs));
        self.exprs(&select.having);
        select.windows.iter().for_each(|w| self.window(&w.spec));
    }

    fn items(&mut self, items: &'n [SelectItem]) {
        for item in items {
            if let SelectItem::Expr(item) = item {
                self.expr(&item.expr);
            }
        }
    }

    fn is_cte(&self, name: &ObjectName) -> bool {
        name.schema.is_none() && self.ctes.iter().any(|c| **c == *name.name)
    }

    /// `usage`: of the tables in it, those of derived tables apart.
    fn from(&mut self, table: &'n TableRef, usage: &dyn Fn(&TableFactor) -> TableUse) {
        // The left spine may be long; its tables come from the left.
        let (mut first, mut joins) = (table, vec![]);
        while let TableRef::Join(join) = first {
            joins.push(join);
            first = &join.left;
        }
        self.single(first, usage);
        for join in joins.into_iter().rev() {
            self.from(&join.right, usage);
            if let JoinConstraint::On(condition) = &join.constraint {
                self.expr(condition);
            }
        }
    }

    fn single(&mut self, table: &'n TableRef, usage: &dyn Fn(&TableFactor) -> TableUse) {
        match table {
            TableRef::Table(t) if self.is_cte(&t.name) => {}
            TableRef::Table(t) => self.put(&t.name, usage(t)),
            TableRef::Derived(d) => self.query(&d.query, &[]),
            TableRef::JsonTable(t) => self.exprs([&t.doc, &t.path]),
            TableRef::Join(_) => self.from(table, usage),
        }
    }

    fn assignments(&mut self, assignments: &'n [Assignment]) {
        assignments.iter().for_each(|a| self.expr(&a.value));
    }

    fn order(&mut self, items: &'n [OrderItem]) {
        items.iter().for_each(|item| self.expr(&item.expr));
    }

    fn window(&mut self, spec: &'n WindowSpec) {
        self.exprs(&spec.partition_by);
        self.order(&spec.order_by);
    }

    fn over(&mut self, over: &'n Over) {
        if let Over::Spec(spec) = over {
            self.window(spec);
        }
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'n Expr>) {
        exprs.into_iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &'n Expr) {
        use ExprKind::*;
        match &e.kind {
            Literal(_) | Param(_) | UserVar(_) | Default | Column(_) | DefaultOf(_) | ValuesOf(_) => {}
            SysVar(_) => self.system_variables = true,
            Assign(a) => self.expr(&a.1),
            Unary(_, x) | Extract(_, x) | GetFormat(_, x) => self.expr(x),
            Binary(b) => {
                let mut node = &**b;
                self.expr(&node.right);
                while let Binary(next) = &node.left.kind {
                    node = next;
                    self.expr(&node.right);
                }
                self.expr(&node.left);
            }
            And(v) | Or(v) | Row(v) => self.exprs(v.iter()),
            Is(x) => self.expr(&x.expr),
            InList(x) => {
                self.expr(&x.expr);
                self.exprs(&x.list);
            }
            InSubquery(x) => {
                self.expr(&x.expr);
                self.query(&x.query, &[]);
            }
            Between(x) => self.exprs([&x.expr, &x.low, &x.high]),
            Like(x) => self.exprs([&x.expr, &x.pattern].into_iter().chain(&x.escape)),
            Regexp(x) => self.exprs([&x.expr, &x.pattern]),
            Quantified(x) => {
                self.expr(&x.left);
                self.query(&x.query, &[]);
            }
            Subquery(q) | Exists(q) => self.query(q, &[]),
            Case(x) => {
                self.exprs(&x.operand);
                x.whens.iter().for_each(|(when, then)| self.exprs([when, then]));
                self.exprs(&x.else_expr);
            }
            Cast(x) => self.expr(&x.expr),
            ConvertUsing(x) | Collate(x) => self.expr(&x.0),
            DateArith(x) => self.exprs([&x.date, &x.value]),
            Function(x) => self.exprs(&x.args),
            Aggregate(x) => {
                self.exprs(&x.args);
                self.order(&x.order_by);
                x.over.iter().for_each(|o| self.over(o));
            }
            Window(x) => {
                self.exprs(&x.args);
                self.over(&x.over);
            }
            TimestampDiff(x) => self.exprs([&x.1, &x.2]),
            Trim(x) => self.exprs(x.what.iter().chain([&x.expr])),
            Match(x) => self.expr(&x.against),
            CharUsing(x) => self.exprs(&x.0),
            WeightString(x) => self.expr(&x.expr),
            JsonValue(x) => self.exprs([&x.doc, &x.path]),
        }
    }
}

#[cfg(test)]
mod tests {
    fn uses(text: &str) -> Vec<String> {
        let statement = crate::parse(text, &crate::ParseOptions::default()).unwrap_or_else(|e| panic!("{text}: {e}"));
        let uses = statement.table_uses();
        let shown = uses.tables.iter().map(|(name, usage)| format!("{name} {usage:?}").replace('`', ""));
        shown.collect()
    }

    #[test]
    fn queries_name_what_no_common_table_expression_hides() {
        assert_eq!(uses("SELECT (SELECT MAX(x) FROM s) FROM d.t, c"), ["d.t Read", "c Read", "s Read"]);
        assert_eq!(
            uses("WITH c AS (SELECT 1 FROM c), e AS (TABLE c) SELECT 1 FROM c, d.c WHERE 1 IN (TABLE e)"),
            ["c Read", "d.c Read"]
        );
        assert_eq!(uses("WITH RECURSIVE c AS (SELECT 1 UNION SELECT 1 FROM c) TABLE c"), Vec::<String>::new());
        assert_eq!(uses("(WITH c AS (SELECT 1) TABLE c) UNION TABLE c"), ["c Read"]);
        assert_eq!(uses("EXPLAIN SELECT 1 FROM (t JOIN u ON a = (SELECT 1 FROM v))"), ["t Read", "u Read", "v Read"]);
    }

    #[test]
    fn locking_clauses_mean_the_tables_of_their_own_from() {
        assert_eq!(
            uses("SELECT * FROM t, u x, (SELECT * FROM v) d WHERE 1 IN (SELECT 1 FROM w FOR SHARE) FOR UPDATE OF x"),
            ["t Read", "u Lock(Update)", "v Read", "w Lock(Share)"]
        );
        assert_eq!(uses("(SELECT * FROM t FOR UPDATE)"), ["t Lock(Update)"]);
    }

    #[test]
    fn changes_come_first() {
        assert_eq!(uses("REPLACE INTO t SELECT * FROM t"), ["t Insert { deletes: true, updates: false }", "t Read"]);
        assert_eq!(
            uses("INSERT INTO t VALUES ((SELECT 1 FROM u)) ON DUPLICATE KEY UPDATE a = (SELECT 1 FROM v)"),
            ["t Insert { deletes: false, updates: true }", "u Read", "v Read"]
        );
        assert_eq!(
            uses("UPDATE t x JOIN u SET x.a = 1 WHERE EXISTS (SELECT 1 FROM t)"),
            ["t Update { assigned: true }", "u Update { assigned: false }", "t Read"]
        );
        assert_eq!(
            uses("DELETE x FROM t x, u WHERE x.a = u.a"),
            ["t Delete { emptied: true }", "u Delete { emptied: false }"]
        );
    }

    #[test]
    fn definitions_name_what_they_make_and_what_they_lean_on() {
        assert_eq!(
            uses("CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES p (b)) SELECT 1 FROM s"),
            ["t Create { temporary: false, filled: true }", "p Refer", "s Read"]
        );
        assert_eq!(uses("CREATE OR REPLACE VIEW v AS SELECT * FROM t"), ["v CreateView { replaces: true }", "t Read"]);
        assert_eq!(uses("ALTER TABLE t ADD a INT, LOCK = NONE"), ["t Alter(Some(None))"]);
        assert_eq!(uses("ALTER TABLE t RENAME TO u, ADD a INT"), ["t RenameFrom", "u RenameTo"]);
        assert_eq!(uses("RENAME TABLE a TO b, c TO d"), ["a RenameFrom", "b RenameTo", "c RenameFrom", "d RenameTo"]);
        assert_eq!(uses("SET @x = (SELECT 1 FROM t), sort_buffer_size = 1"), ["t Read"]);
        assert_eq!(uses("SHOW COLUMNS FROM t WHERE EXISTS (SELECT 1 FROM u)"), ["t Describe", "u Read"]);
    }

    #[test]
    fn long_statements_are_walked_without_recursion() {
        let long = format!("SELECT {} FROM {}", vec!["a"; 50_000].join("+"), vec!["t"; 1500].join(" JOIN "));
        assert_eq!(uses(&long).len(), 1500);
    }
}
