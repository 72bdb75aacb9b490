//! What a statement in the making knows: columns in sight, and what it may still cost.

use super::super::node::{Node, Sort};
use super::super::schema::{KINDS, Kind, Profile, Schema};
use fastrand::Rng;

/// A column in sight.
#[derive(Clone, Debug)]
pub struct Col {
    pub name: String,
    pub kind: Kind,
    pub unsigned: bool,
    /// About so many different values.
    pub distinct: f64,
}

/// A common table expression in sight.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub name: String,
    pub kinds: Vec<Kind>,
    pub rows: f64,
}

/// Row combinations that one statement may visit.
pub(super) const VISITS_MAX: f64 = 3e5;

/// The same where equalities lead.
const VISITS_BY_KEY_MAX: f64 = 2e7;

/// The same where MariaDB has to answer too, which has no hash join for most of it.
const VISITS_OF_RIVAL_MAX: f64 = 1e6;

const FUEL: i32 = 70;

pub struct Queries<'g> {
    pub rng: &'g mut Rng,
    pub schema: &'g Schema,
    pub profile: Profile,
    pub scope: Vec<Col>,
    /// Where the columns of the innermost query begin.
    pub local: usize,
    pub depth: usize,
    pub fuel: i32,
    aliases: usize,
    /// Combinations of rows so far, all and after equalities.
    pub(super) visits: f64,
    pub(super) output: f64,
    pub(super) common: Vec<Common>,
}

impl<'g> Queries<'g> {
    pub fn new(rng: &'g mut Rng, schema: &'g Schema, profile: Profile) -> Queries<'g> {
        Queries {
            rng,
            schema,
            profile,
            scope: Vec::new(),
            local: 0,
            aliases: 0,
            depth: 0,
            fuel: FUEL,
            visits: 1.0,
            output: 1.0,
            common: Vec::new(),
        }
    }

    pub fn wild(&self) -> bool {
        self.profile == Profile::Wild
    }

    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.usize(0..of.len())]
    }

    pub fn kind(&mut self) -> Kind {
        if self.one_in(2) { self.pick(&[Kind::Int, Kind::Int, Kind::Txt]) } else { self.pick(&KINDS) }
    }

    /// Kinds of a derived table's columns.
    pub(super) fn kinds(&mut self) -> Vec<Kind> {
        (0..self.rng.usize(1..4)).map(|_| self.kind()).collect()
    }

    fn depth_max(&self) -> usize {
        if self.wild() { 3 } else { 2 }
    }

    /// Whether a subquery may come here.
    pub fn may_nest(&self) -> bool {
        self.depth < self.depth_max() && self.fuel > 0
    }

    pub(super) fn alias(&mut self, letter: char) -> String {
        self.aliases += 1;
        format!("{letter}{}", self.aliases - 1)
    }

    /// A query that sees neither the columns of this one nor what it leaves behind.
    pub(super) fn apart<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let (scope, local) = (std::mem::take(&mut self.scope), std::mem::take(&mut self.local));
        let (visits, output) = (self.visits, self.output);
        let r = f(self);
        (self.scope, self.local, self.visits, self.output) = (scope, local, visits, output);
        r
    }

    /// One level down; the columns that it brings go away, and so do its visits.
    pub(super) fn nested<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let (before, local, visits, output) = (self.scope.len(), self.local, self.visits, self.output);
        self.depth += 1;
        self.local = before;
        let r = f(self);
        self.depth -= 1;
        self.scope.truncate(before);
        (self.local, self.visits, self.output) = (local, visits, output);
        r
    }

    pub(super) fn fits(&self, rows: f64) -> bool {
        let visits_max = if self.wild() { VISITS_BY_KEY_MAX } else { VISITS_OF_RIVAL_MAX };
        self.visits * rows <= visits_max && self.output * rows <= VISITS_MAX
    }

    pub(super) fn add(&mut self, rows: f64) {
        self.visits *= rows.max(1.0);
        self.output *= rows.max(1.0);
    }

    /// Puts the columns x0, x1, .. of a derived table into scope.
    pub(super) fn outputs(&mut self, alias: &str, kinds: &[Kind], rows: f64) {
        for (i, kind) in kinds.iter().enumerate() {
            let name = format!("{alias}.x{i}");
            // of unknown sign: as if unsigned, so that no subtraction overflows
            self.scope.push(Col { name, kind: *kind, unsigned: true, distinct: (rows / 2.0).max(1.0) });
        }
    }

    pub(super) fn column_in(&mut self, from: usize, to: usize, kind: Kind) -> Option<Col> {
        let n = self.scope[from..to].iter().filter(|c| c.kind == kind).count();
        if n == 0 {
            return None;
        }
        let nth = self.rng.usize(0..n);
        self.scope[from..to].iter().filter(|c| c.kind == kind).nth(nth).cloned()
    }

    /// A column of this query; outer ones now and then.
    pub(super) fn any_column(&mut self, kind: Kind) -> Option<Col> {
        let (local, all) = (self.local, self.scope.len());
        if local > 0 && self.one_in(4) {
            return self.column_in(0, local, kind).or_else(|| self.column_in(0, all, kind));
        }
        self.column_in(local, all, kind).or_else(|| self.column_in(0, all, kind))
    }

    pub fn local_column(&mut self, kind: Kind) -> Option<String> {
        let (local, all) = (self.local, self.scope.len());
        self.column_in(local, all, kind).map(|c| c.name)
    }

    /// A column of the query itself: an aggregate of outer columns alone would belong to the outer query.
    pub(super) fn own(&mut self, kind: Kind) -> Node {
        match self.local_column(kind) {
            Some(c) => Node::leaf(Sort::Expr(kind), c),
            None => self.literal(kind),
        }
    }
}
