//! Window functions.

use crate::pipeline::Down;
use crate::run::Run;
use plan::physical::PlanNode;
use types::{Error, Result};

pub fn run_window(_: &Run<'_>, _: &PlanNode, _: &Down<'_>) -> Result<()> {
    Err(Error::not_supported("window functions"))
}
