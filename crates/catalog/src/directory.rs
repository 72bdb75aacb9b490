//! The relations of a schema, by name, in versions that share what they have in common.
//!
//! ```text
//!   parts  ─▶ [ a .. f ]  [ g .. k ]  [ l .. z ]     each a sorted run of up to PART_MAX relations
//!               shared      own copy    shared
//! ```
//! A copy of a directory is one counter; a change copies the list of parts and the part that it touches. So a schema's
//! next version costs little however many tables it has, and what differs between two versions lies in the parts that
//! they do not share.

use crate::Relation;
use std::sync::Arc;

/// A part with more is cut in two.
const PART_MAX: usize = 128;

type Part = Arc<Vec<Relation>>;

/// See the module head.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    parts: Arc<Vec<Part>>,
    count: usize,
}

/// A name with what it stood for in an older version, and stands for in a newer one.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    pub name: &'a str,
    pub before: Option<&'a Relation>,
    pub after: Option<&'a Relation>,
}

impl Directory {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The part in which the name lies if it is there, and its place or where it would be put.
    fn find(&self, name: &str) -> (usize, Result<usize, usize>) {
        let after = self.parts.partition_point(|p| p.first().is_some_and(|r| r.name() <= name));
        let part = after.saturating_sub(1);
        let place = self.parts.get(part).map_or(Err(0), |p| p.binary_search_by(|r| r.name().cmp(name)));
        (part, place)
    }

    pub fn get(&self, name: &str) -> Option<&Relation> {
        let (part, place) = self.find(name);
        place.ok().map(|i| &self.parts[part][i])
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Relation> {
        self.parts.iter().flat_map(|p| p.iter())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(Relation::name)
    }

    /// Puts a relation under its name; returns what was there.
    pub fn insert(&mut self, relation: Relation) -> Option<Relation> {
        let (part, place) = self.find(relation.name());
        let parts = Arc::make_mut(&mut self.parts);
        if parts.is_empty() {
            parts.push(Part::default());
        }
        let relations = Arc::make_mut(&mut parts[part]);
        match place {
            Ok(i) => return Some(std::mem::replace(&mut relations[i], relation)),
            Err(i) => relations.insert(i, relation),
        }
        if relations.len() > PART_MAX {
            // Names often come in order: the first part stays nearly full then.
            let at = if place == Err(PART_MAX) { PART_MAX } else { PART_MAX / 2 };
            let rest = relations.split_off(at);
            parts.insert(part + 1, Arc::new(rest));
        }
        self.count += 1;
        None
    }

    pub fn remove(&mut self, name: &str) -> Option<Relation> {
        let (part, Ok(place)) = self.find(name) else { return None };
        let parts = Arc::make_mut(&mut self.parts);
        let gone = Arc::make_mut(&mut parts[part]).remove(place);
        if parts[part].is_empty() {
            parts.remove(part);
        }
        self.count -= 1;
        Some(gone)
    }

    /// What differs from an older version, by name.
    pub fn differences<'a>(&'a self, before: &'a Directory) -> Vec<Difference<'a>> {
        if Arc::ptr_eq(&self.parts, &before.parts) {
            return Vec::new();
        }
        let (old, new) = (before.apart_from(self), self.apart_from(before));
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        let mut out = Vec::new();
        loop {
            let (b, a) = (old.peek().copied(), new.peek().copied());
            let name = match (b, a) {
                (Some(b), Some(a)) => b.name().min(a.name()),
                (Some(r), None) | (None, Some(r)) => r.name(),
                (None, None) => return out,
            };
            let before = old.next_if(|r| r.name() == name);
            let after = new.next_if(|r| r.name() == name);
            if !matches!((before, after), (Some(b), Some(a)) if b.is_same(a)) {
                out.push(Difference { name, before, after });
            }
        }
    }

    /// The relations of parts that the other one does not share.
    fn apart_from(&self, other: &Directory) -> Vec<&Relation> {
        let mut shared: Vec<*const Vec<Relation>> = other.parts.iter().map(Arc::as_ptr).collect();
        shared.sort_unstable();
        let own = self.parts.iter().filter(|p| shared.binary_search(&Arc::as_ptr(p)).is_err());
        own.flat_map(|p| p.iter()).collect()
    }
}

impl FromIterator<Relation> for Directory {
    fn from_iter<I: IntoIterator<Item = Relation>>(relations: I) -> Directory {
        let mut directory = Directory::default();
        relations.into_iter().for_each(|r| {
            directory.insert(r);
        });
        directory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ViewDef;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Beside a plain map, through versions.
        #[test]
        fn is_a_map(steps in proptest::collection::vec((0u16..400, any::<bool>()), 0..900)) {
            let (mut directory, mut map) = (Directory::default(), BTreeMap::new());
            let (mut old, mut old_map) = (directory.clone(), map.clone());
            for (i, (n, puts)) in steps.into_iter().enumerate() {
                let name = format!("v{n:03}");
                if puts {
                    let view = Relation::View(Arc::new(view(&name)));
                    let known = map.insert(name, view.clone());
                    prop_assert_eq!(directory.insert(view).is_some(), known.is_some());
                } else {
                    prop_assert_eq!(directory.remove(&name).is_some(), map.remove(&name).is_some());
                }
                if i % 100 == 99 {
                    let found: Vec<_> = directory.differences(&old).iter().map(|d| d.name.to_owned()).collect();
                    let mut expected: Vec<String> = map.keys().chain(old_map.keys()).cloned().collect();
                    expected.sort();
                    expected.dedup();
                    expected.retain(|k| match (map.get(k), old_map.get(k)) {
                        (Some(a), Some(b)) => !Relation::is_same(a, b),
                        _ => true,
                    });
                    prop_assert_eq!(found, expected);
                    (old, old_map) = (directory.clone(), map.clone());
                }
            }
            prop_assert_eq!(directory.len(), map.len());
            prop_assert!(directory.names().eq(map.keys().map(String::as_str)));
            for n in 0..400 {
                let name = format!("v{n:03}");
                prop_assert_eq!(directory.contains(&name), map.contains_key(&name));
            }
        }
    }

    fn view(name: &str) -> ViewDef {
        ViewDef {
            schema: "s".into(),
            name: name.into(),
            columns: vec![],
            select_text: "SELECT 1".into(),
            collation: types::Collation::default(),
            algorithm: "UNDEFINED".into(),
            definer: "".into(),
            security: "DEFINER".into(),
            check_option: "NONE".into(),
        }
    }
}
