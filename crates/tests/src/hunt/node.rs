//! SQL as a tree of text, so that a failing statement can be made smaller without knowing SQL.
//!
//! A [`Node`] is a piece of a statement of some [`Sort`]: an expression of a kind, a predicate, a FROM, something that
//! may be left out. Its parts are texts and further nodes. A smaller statement comes from one edit: a node becomes one
//! of its `plain` texts, or a node of the same sort that lies below it. Edits that make no valid SQL fail on their own.

use super::schema::Kind;
use std::borrow::Cow;

/// Nodes of one sort may stand for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Expr(Kind),
    Pred,
    /// A FROM clause, or a part of it that is one.
    From,
    /// A table or derived table in it.
    Factor,
    /// A query.
    Select,
    /// May be empty.
    Opt,
    /// Stays as it is; its parts may change.
    Fixed,
}

#[derive(Clone, Debug)]
pub enum Part {
    Text(Cow<'static, str>),
    /// A constant that may be a parameter of a prepared statement.
    Constant(String),
    Node(Node),
    /// Index and optimizer hints: there in some renderings only.
    Hint(Node),
}

#[derive(Clone, Debug)]
pub struct Node {
    pub sort: Sort,
    pub parts: Vec<Part>,
    /// Texts that may stand in its place, plainest first.
    pub plain: Vec<Cow<'static, str>>,
}

impl Node {
    pub fn new(sort: Sort) -> Node {
        let plain: &[&'static str] = match sort {
            Sort::Opt => &[""],
            Sort::Pred => &["TRUE", "FALSE", "NULL"],
            Sort::Expr(Kind::Int) => &["NULL", "1"],
            Sort::Expr(_) => &["NULL"],
            _ => &[],
        };
        Node { sort, parts: Vec::new(), plain: plain.iter().map(|p| Cow::Borrowed(*p)).collect() }
    }

    /// A node of one text.
    pub fn leaf(sort: Sort, text: impl Into<Cow<'static, str>>) -> Node {
        Node::new(sort).t(text)
    }

    pub fn fixed() -> Node {
        Node::new(Sort::Fixed)
    }

    pub fn empty() -> Node {
        Node::new(Sort::Opt)
    }

    pub fn t(mut self, text: impl Into<Cow<'static, str>>) -> Node {
        self.parts.push(Part::Text(text.into()));
        self
    }

    pub fn constant(sort: Sort, text: String) -> Node {
        let mut out = Node::new(sort);
        out.parts.push(Part::Constant(text));
        out
    }

    pub fn n(mut self, node: Node) -> Node {
        self.parts.push(Part::Node(node));
        self
    }

    pub fn hint(mut self, node: Node) -> Node {
        self.parts.push(Part::Hint(node));
        self
    }

    /// Its nodes with a separator between; every one but the first may go.
    pub fn list(nodes: Vec<Node>, separator: &'static str) -> Node {
        let mut out = Node::fixed();
        for (i, node) in nodes.into_iter().enumerate() {
            out = match i {
                0 => out.n(node),
                _ => out.n(Node::empty().t(separator).n(node)),
            };
        }
        out
    }

    pub fn render(&self, hints: bool) -> String {
        let mut out = String::new();
        self.write(hints, &mut |c, out| out.push_str(c), &mut out);
        out
    }

    /// With `?` for its constants, which come by themselves.
    pub fn parametrized(&self, hints: bool) -> (String, Vec<String>) {
        let (mut out, mut constants) = (String::new(), Vec::new());
        let mut take = |c: &str, out: &mut String| {
            out.push('?');
            constants.push(c.to_string());
        };
        self.write(hints, &mut take, &mut out);
        (out, constants)
    }

    /// With other constants of the same kinds.
    pub fn varied(&self, hints: bool) -> String {
        let mut out = String::new();
        self.write(hints, &mut |c, out| out.push_str(&other(c)), &mut out);
        out
    }

    fn write(&self, hints: bool, constant: &mut dyn FnMut(&str, &mut String), out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(t) => out.push_str(t),
                Part::Constant(c) => constant(c, out),
                Part::Node(n) => n.write(hints, constant, out),
                Part::Hint(n) if hints => n.write(hints, constant, out),
                Part::Hint(_) => {}
            }
        }
    }

    /// All that one edit makes of it, boldest edits first. They are made one by one: all together are its size squared.
    pub fn smaller(&self) -> impl Iterator<Item = Node> + '_ {
        let whole = self.render(true).len();
        let edits = self.edits().into_iter().map(|(path, new)| self.with(&path, new));
        edits.filter(move |n| n.render(true).len() <= whole)
    }

    /// Places and what may stand there instead.
    fn edits(&self) -> Vec<(Vec<usize>, Node)> {
        let mut paths = vec![Vec::new()];
        let mut at = 0;
        // breadth first: edits near the root leave out most
        while at < paths.len() {
            let path: Vec<usize> = paths[at].clone();
            for (i, part) in self.at(&path).parts.iter().enumerate() {
                if matches!(part, Part::Node(_) | Part::Hint(_)) {
                    paths.push(path.iter().copied().chain([i]).collect());
                }
            }
            at += 1;
        }
        let mut out = Vec::new();
        for path in paths {
            let node = self.at(&path);
            let text = node.render(true);
            for plain in node.plain.iter().filter(|p| ***p != *text) {
                out.push((path.clone(), Node::leaf(node.sort, plain.clone())));
            }
            if !matches!(node.sort, Sort::Opt | Sort::Fixed) {
                let mut below = Vec::new();
                node.below(node.sort, &mut below);
                out.extend(below.into_iter().map(|b| (path.clone(), b.clone())));
            }
        }
        out
    }

    fn below<'n>(&'n self, sort: Sort, out: &mut Vec<&'n Node>) {
        for part in &self.parts {
            if let Part::Node(n) | Part::Hint(n) = part {
                if n.sort == sort {
                    out.push(n);
                } else {
                    n.below(sort, out);
                }
            }
        }
    }

    fn at(&self, path: &[usize]) -> &Node {
        path.iter().fold(self, |node, i| match &node.parts[*i] {
            Part::Node(n) | Part::Hint(n) => n,
            Part::Text(_) | Part::Constant(_) => unreachable!("paths lead through nodes"),
        })
    }

    fn with(&self, path: &[usize], new: Node) -> Node {
        let Some((first, rest)) = path.split_first() else { return new };
        let mut out = self.clone();
        match &mut out.parts[*first] {
            Part::Node(n) | Part::Hint(n) => *n = n.with(rest, new),
            Part::Text(_) | Part::Constant(_) => unreachable!("paths lead through nodes"),
        }
        out
    }
}

/// Another constant of the same kind.
fn other(constant: &str) -> String {
    match constant.parse::<i64>() {
        Ok(n) => return (n * 2 + 1).to_string(),
        Err(_) if constant == "NULL" => return "NULL".into(),
        Err(_) if !constant.starts_with('\'') => return "1.75".into(),
        Err(_) => {}
    }
    // dates and times keep their form
    match constant.starts_with("'20") || constant.contains(':') {
        true => constant.replace("01", "02"),
        false => "'b'".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_leave_out_and_hoist() {
        let pred = |t: &'static str| Node::leaf(Sort::Pred, t);
        let both = Node::new(Sort::Pred).n(pred("a = 1")).t(" AND ").n(pred("b = 2"));
        let select = Node::new(Sort::Select).t("SELECT 1").n(Node::empty().t(" WHERE ").n(both));
        let texts: Vec<String> = select.smaller().map(|n| n.render(true)).collect();
        for text in ["SELECT 1", "SELECT 1 WHERE TRUE", "SELECT 1 WHERE b = 2", "SELECT 1 WHERE a = 1 AND TRUE"] {
            assert!(texts.iter().any(|t| t == text), "{text} is not among {texts:?}");
        }
    }

    #[test]
    fn hints_are_rendered_on_demand() {
        let node = Node::fixed().t("t").hint(Node::empty().t(" FORCE INDEX (i)"));
        assert_eq!((node.render(false), node.render(true)), ("t".into(), "t FORCE INDEX (i)".into()));
    }
}
