//! Binders and contexts of evaluation for the statement of a frame, and how much memory it may take.

use crate::Frame;
use executor::MemoryAccountant;
use expr::{EvalContext, Params};
use parser::ast;
use plan::logical::LogicalQuery;
use planner::bind::Binder;
use std::sync::Arc;
use types::{Result, SqlType, Value};

impl Frame<'_> {
    /// A binder of this session, which knows the values of the running statement's parameters.
    pub fn binder<'a>(&'a self, info: &'a expr::SessionInfo) -> Binder<'a> {
        match self.param_types() {
            Some(types) => self.untyped_binder(info).with_param_types(types),
            None => self.untyped_binder(info).with_params(self.params()),
        }
    }

    /// A binder that is still to be told of parameters.
    pub fn untyped_binder<'a>(&'a self, info: &'a expr::SessionInfo) -> Binder<'a> {
        Binder::new(self, info, self).overseen(Some(self))
    }

    /// Values of the parameters that the running plan holds.
    pub fn plan_params(&self) -> Params {
        match self.param_types() {
            Some(_) => Params { values: self.params().iter().cloned().map(Some).collect() },
            None => Params::default(),
        }
    }

    pub fn bind_query(&self, query: &ast::Query) -> Result<LogicalQuery> {
        let info = self.info();
        self.binder(&info).bind_query(query)
    }

    /// What a statement may hold: its share of what all may.
    pub fn statement_memory(&self) -> Arc<MemoryAccountant> {
        MemoryAccountant::child(self.db().memory(), self.statement_limit_bytes())
    }

    fn statement_limit_bytes(&self) -> usize {
        match self.vars().hot().max_query_memory {
            0 => self.db().memory().limit_bytes(),
            n => n as usize,
        }
    }

    pub fn bind_constant_expr(&self, e: &ast::Expr) -> Result<expr::Expr> {
        let info = self.info();
        self.binder(&info).bind_constant_expr(e)
    }

    /// The value of an expression without subqueries and columns.
    pub fn eval_bound(&self, bound: &expr::Expr) -> Result<(Value, SqlType)> {
        let info = self.info();
        let params = Params::default();
        let value = expr::eval::eval_const(bound, &self.eval_context(&info, &params))?;
        Ok((value, bound.ty))
    }

    pub fn eval_context<'a>(&'a self, info: &'a expr::SessionInfo, params: &'a Params) -> EvalContext<'a> {
        EvalContext {
            strings: expr::eval::StringLimit::of(self.statement_limit_bytes()),
            ..EvalContext::new(info, params, self.user_vars(), self.warnings(), self.process().stop_flag())
        }
    }
}
