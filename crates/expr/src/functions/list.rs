//! What functions there are: for documentation, and for tests that hold it against the code.

use super::Origin;
use crate::AggFunc;
use crate::aggregate::{AGGREGATES, WINDOWS};

/// What sort of function a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// One value of the arguments of one row.
    Scalar,
    /// One value of many rows.
    Aggregate,
    /// Needs OVER.
    Window,
}

/// One function as users know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its names, in upper case; the first is what messages say.
    pub names: &'static [&'static str],
    pub kind: FunctionKind,
    /// The least number of arguments.
    pub args_min: usize,
    /// The greatest; `None` if there is no bound.
    pub args_max: Option<usize>,
}

/// All functions that statements may call, in no particular order.
pub fn all() -> Vec<FunctionInfo> {
    let bound = |max: usize| (max < usize::MAX).then_some(max);
    let scalar = super::records().filter(|r| r.origin != Origin::Builder).map(|r| FunctionInfo {
        names: r.names,
        kind: FunctionKind::Scalar,
        args_min: r.args_min,
        args_max: bound(r.args_max),
    });
    // COUNT(*) and COUNT(x) are one to users.
    let aggregates = AGGREGATES.iter().filter(|r| r.func != AggFunc::CountStar).map(|r| FunctionInfo {
        names: r.names,
        kind: FunctionKind::Aggregate,
        args_min: r.args_min,
        args_max: bound(r.args_max),
    });
    let windows = WINDOWS.iter().map(|r| FunctionInfo {
        names: std::slice::from_ref(&r.name),
        kind: FunctionKind::Window,
        args_min: r.args_min,
        args_max: bound(r.args_max),
    });
    scalar.chain(aggregates).chain(windows).collect()
}

/// MySQL's functions that are known by name only, in alphabetical order: they answer 1235.
pub fn not_yet() -> &'static [&'static str] {
    super::not_yet::NOT_YET
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_name_is_listed_once() {
        let mut names = HashSet::new();
        for f in all() {
            for name in f.names {
                assert!(names.insert(*name), "{name} is listed twice");
                assert_eq!(*name, name.to_ascii_uppercase());
            }
            assert!(f.args_max.is_none_or(|max| max >= f.args_min), "{f:?}");
        }
        assert!(names.len() > 200, "{} names", names.len());
    }
}
