//! Common table expressions: those read once become part of their reader.

use super::context::Context;
use super::tree::map_children;
use plan::logical::{Logical, LogicalCte};
use types::Result;

/// Inlines CTEs that are read exactly once, outside any recursion; drops those that nobody reads.
pub fn inline_single_use(mut node: Logical, cx: &mut Context) -> Result<Logical> {
    map_children(&mut node, &mut |c| inline_single_use(c, cx))?;
    let Logical::With { ctes, input } = node else { return Ok(node) };
    let mut input = *input;
    let mut kept: Vec<LogicalCte> = vec![];
    // From the last to the first: a definition reads only earlier ones.
    for cte in ctes.into_iter().rev() {
        let mut uses = scans(&input, cte.cte_id, false);
        for k in &kept {
            let (n, r) = scans(&k.plan, cte.cte_id, false);
            uses = (uses.0 + n, uses.1 || r);
        }
        match uses {
            (0, _) => {}
            (1, false) if !cte.apart => {
                input = replace_scans(input, &cte, cx)?;
                for k in &mut kept {
                    k.plan = replace_scans(super::tree::take(&mut k.plan), &cte, cx)?;
                }
            }
            _ => kept.push(cte),
        }
    }
    kept.reverse();
    if kept.is_empty() {
        return Ok(input);
    }
    Ok(Logical::With { ctes: kept, input: Box::new(input) })
}

/// Replaces every scan of the With's definitions by a copy of the definition.
pub fn inline_all(node: Logical, cx: &mut Context) -> Result<Logical> {
    let Logical::With { ctes, input } = node else { return Ok(node) };
    let mut input = *input;
    let mut rest = ctes;
    while let Some(cte) = rest.pop() {
        input = replace_scans(input, &cte, cx)?;
    }
    Ok(input)
}

/// How often the CTE is scanned, and whether any scan is inside a recursive part.
fn scans(node: &Logical, id: u32, in_recursion: bool) -> (usize, bool) {
    match node {
        Logical::CteScan { cte_id, .. } if *cte_id == id => (1, in_recursion),
        Logical::RecursiveUnion { anchor, recursive, .. } => {
            let (a, ar) = scans(&anchor.0, id, in_recursion);
            let (b, br) = scans(&recursive.0, id, true);
            (a + b, ar || br)
        }
        n => n.inputs().into_iter().fold((0, false), |(c, r), k| {
            let (kc, kr) = scans(k, id, in_recursion);
            (c + kc, r || kr)
        }),
    }
}

fn replace_scans(mut node: Logical, cte: &LogicalCte, cx: &mut Context) -> Result<Logical> {
    if let Logical::CteScan { cte_id, columns, .. } = &node
        && *cte_id == cte.cte_id
    {
        let columns = columns.clone();
        let (copy, map) = cx.fresh_copy(&cte.plan);
        let exprs = columns
            .into_iter()
            .map(|(c, i)| {
                let old = cte.output[i];
                (c, cx.columns.expr(map.get(&old).copied().unwrap_or(old)))
            })
            .collect();
        return Ok(Logical::Project { input: Box::new(copy), exprs });
    }
    map_children(&mut node, &mut |c| replace_scans(c, cte, cx))?;
    Ok(node)
}
