//! What functions there are: for documentation, and for tests that hold it against the code.

use super::Origin;

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

const fn aggregate(names: &'static [&'static str], max: Option<usize>) -> FunctionInfo {
    FunctionInfo { names, kind: FunctionKind::Aggregate, args_min: 1, args_max: max }
}

const fn window(name: &'static [&'static str], min: usize, max: usize) -> FunctionInfo {
    FunctionInfo { names: name, kind: FunctionKind::Window, args_min: min, args_max: Some(max) }
}

static OF_MANY_ROWS: &[FunctionInfo] = &[
    aggregate(&["COUNT"], None),
    aggregate(&["SUM"], Some(1)),
    aggregate(&["AVG"], Some(1)),
    aggregate(&["MIN"], Some(1)),
    aggregate(&["MAX"], Some(1)),
    aggregate(&["STDDEV_POP", "STD", "STDDEV"], Some(1)),
    aggregate(&["STDDEV_SAMP"], Some(1)),
    aggregate(&["VAR_POP", "VARIANCE"], Some(1)),
    aggregate(&["VAR_SAMP"], Some(1)),
    aggregate(&["BIT_AND"], Some(1)),
    aggregate(&["BIT_OR"], Some(1)),
    aggregate(&["BIT_XOR"], Some(1)),
    aggregate(&["GROUP_CONCAT"], None),
    aggregate(&["ANY_VALUE"], Some(1)),
    aggregate(&["GROUPING"], None),
    window(&["ROW_NUMBER"], 0, 0),
    window(&["RANK"], 0, 0),
    window(&["DENSE_RANK"], 0, 0),
    window(&["PERCENT_RANK"], 0, 0),
    window(&["CUME_DIST"], 0, 0),
    window(&["NTILE"], 1, 1),
    window(&["LAG"], 1, 3),
    window(&["LEAD"], 1, 3),
    window(&["FIRST_VALUE"], 1, 1),
    window(&["LAST_VALUE"], 1, 1),
    window(&["NTH_VALUE"], 2, 2),
];

/// All functions that statements may call, in no particular order.
pub fn all() -> Vec<FunctionInfo> {
    let scalar = super::records().filter(|r| r.origin != Origin::Builder).map(|r| FunctionInfo {
        names: r.names,
        kind: FunctionKind::Scalar,
        args_min: r.args_min,
        args_max: (r.args_max < usize::MAX).then_some(r.args_max),
    });
    scalar.chain(OF_MANY_ROWS.iter().copied()).collect()
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
