//! Query blocks: the SELECTs of a statement as EXPLAIN counts them.
//!
//! A plan has no blocks: rewrites take them apart and joins mix them. So the binder writes down which there are, and of
//! each column in which it was made; the physical plan notes the block of each access, and EXPLAIN puts together again
//! what stayed apart.
//!
//! ```text
//!   select (select max(x) from u) from t, (select distinct b from v) d
//!     1 Top ── 2 Subquery (items)         numbers go by the place in the text: items, FROM, WHERE, GROUP BY, ..
//!       └───── 3 Derived (FROM)
//!
//!   select .. union select ..
//!     3 Top, a set operation ── 1 Operand, 2 Operand
//! ```
//! A block is named by its position + 1; 0 is none.

use super::SetOpKind;

/// One SELECT, VALUES or TABLE, or one set operation.
#[derive(Clone, Debug)]
pub struct QueryBlock {
    /// The `id` of EXPLAIN.
    pub number: u32,
    /// The block around it; 0: none.
    pub parent: u32,
    pub role: BlockRole,
    /// A CTE's name, a derived table's or view's alias.
    pub name: Box<str>,
    pub shape: BlockShape,
    /// Where in its parent it stands: blocks are numbered in this order.
    pub place: Place,
}

/// The parts of a block that may hold others, in the order of the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Place {
    #[default]
    Items,
    From,
    Where,
    GroupBy,
    Having,
    Windows,
    OrderBy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockRole {
    Top,
    /// A derived table or a view.
    Derived,
    Cte,
    Subquery,
    /// Of a set operation.
    Operand,
}

/// What a block does with the rows of its FROM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockShape {
    pub set_op: Option<SetOpKind>,
    pub grouped: bool,
    pub distinct: bool,
    pub limited: bool,
    pub windows: bool,
    pub ordered: bool,
}

impl QueryBlock {
    /// Its tables are as good as the enclosing block's.
    pub fn is_mergeable(&self) -> bool {
        self.shape == BlockShape { ordered: self.shape.ordered, ..BlockShape::default() }
            && matches!(self.role, BlockRole::Derived | BlockRole::Cte | BlockRole::Subquery)
    }
}

/// The blocks of a statement being bound.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    all: Vec<QueryBlock>,
    current: u32,
    next_name: Box<str>,
}

impl Blocks {
    pub fn current(&self) -> u32 {
        self.current
    }

    /// The next block to be entered is the definition of this CTE.
    pub fn name_next(&mut self, name: &str) {
        self.next_name = name.into();
    }

    /// The block of a derived table or view is called so around it.
    pub fn name_derived(&mut self, block: u32, alias: &str) {
        let block = (block as usize).checked_sub(1).and_then(|i| self.all.get_mut(i));
        if let Some(b) = block.filter(|b| b.role == BlockRole::Derived) {
            b.name = alias.into();
        }
    }

    /// A block begins. `place`: where in the current one. To be given to [`Blocks::leave`]: the current one.
    pub fn enter(&mut self, role: BlockRole, place: Place, shape: BlockShape) -> u32 {
        let name = if role == BlockRole::Cte { std::mem::take(&mut self.next_name) } else { "".into() };
        let parent = self.current;
        self.all.push(QueryBlock { number: 0, parent, role, name, shape, place });
        self.current = self.all.len() as u32;
        parent
    }

    pub fn shape(&mut self) -> Option<&mut BlockShape> {
        self.all.get_mut((self.current as usize).checked_sub(1)?).map(|b| &mut b.shape)
    }

    pub fn leave(&mut self, outer: u32) {
        self.current = outer;
    }

    /// Gives all blocks their numbers: by depth first, within a block by the place in the text; a set operation comes
    /// after its operands.
    pub fn number(&mut self) {
        self.current = 0;
        let mut inner: Vec<Vec<usize>> = vec![vec![]; self.all.len() + 1];
        for (i, b) in self.all.iter().enumerate() {
            inner[b.parent as usize].push(i);
        }
        for list in &mut inner {
            list.sort_by_key(|i| (self.all[*i].place, *i));
        }
        let mut next = 1;
        // (block, its inner ones are done)
        let mut open: Vec<(usize, bool)> = inner[0].iter().rev().map(|i| (*i, false)).collect();
        while let Some((i, done)) = open.pop() {
            let last = self.all[i].shape.set_op.is_some();
            if done == last {
                self.all[i].number = next;
                next += 1;
            }
            if !done {
                if last {
                    open.push((i, true));
                }
                open.extend(inner[i + 1].iter().rev().map(|i| (*i, false)));
            }
        }
    }

    pub fn get(&self, block: u32) -> Option<&QueryBlock> {
        self.all.get((block as usize).checked_sub(1)?)
    }

    pub fn all(&self) -> &[QueryBlock] {
        &self.all
    }

    pub fn take(&mut self) -> Vec<QueryBlock> {
        std::mem::take(&mut self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_by_the_place_in_the_text() {
        let mut b = Blocks::default();
        let plain = BlockShape::default();
        let top = b.enter(BlockRole::Top, Place::Items, plain);
        // FROM is bound before the items, which stand before it.
        let outer = b.enter(BlockRole::Derived, Place::From, plain);
        b.leave(outer);
        let union = BlockShape { set_op: Some(SetOpKind::Union), ..plain };
        let outer = b.enter(BlockRole::Subquery, Place::Items, union);
        for _ in 0..2 {
            let unit = b.enter(BlockRole::Operand, Place::Items, plain);
            b.leave(unit);
        }
        b.leave(outer);
        b.leave(top);
        b.number();
        let numbers: Vec<u32> = b.take().iter().map(|b| b.number).collect();
        assert_eq!(numbers, [1, 5, 4, 2, 3]);
    }
}
