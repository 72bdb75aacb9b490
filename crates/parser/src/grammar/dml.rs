//! INSERT, REPLACE, UPDATE, DELETE, CALL, DO, HANDLER.

use super::Parser;
use super::expr::BIT_EXPR;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, ErrorCode, Result};

impl<'a> Parser<'a> {
    /// INSERT or REPLACE, at the word.
    pub(super) fn insert(&mut self) -> Result<Statement> {
        let start = self.start();
        let replace = self.at_kw(Kw::REPLACE);
        self.bump();
        let hints = self.opt_hints();
        let priority = match self.kind() {
            Tok::Kw(Kw::LOW_PRIORITY) => Priority::Low,
            Tok::Kw(Kw::DELAYED) => Priority::Delayed,
            Tok::Kw(Kw::HIGH_PRIORITY) if !replace => Priority::High,
            _ => Priority::Normal,
        };
        if priority != Priority::Normal {
            self.bump();
        }
        let ignore = !replace && self.eat_kw(Kw::IGNORE);
        self.eat_kw(Kw::INTO);
        let table = self.object_name()?;
        let partitions = self.opt_partition_list()?;
        let mut insert = Insert {
            hints,
            replace,
            priority,
            ignore,
            table,
            partitions,
            columns: None,
            source: InsertSource::Values(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
            returning: Vec::new(),
            span: Span::default(),
        };
        if self.at_kw(Kw::SET) {
            self.bump();
            let (columns, row) = self.comma_list(Self::assignment)?.into_iter().map(|a| (a.column, a.value)).unzip();
            insert.columns = Some(columns);
            insert.source = InsertSource::Values(vec![row]);
        } else {
            self.insert_columns(&mut insert)?;
            insert.source = self.insert_source()?;
        }
        let values = matches!(insert.source, InsertSource::Values(_));
        if !replace && values && self.eat_kw(Kw::AS) {
            let name = self.ident()?;
            insert.row_alias = Some(RowAlias { name, columns: self.opt_paren_idents()? });
        }
        if !replace && self.eat_words("ON DUPLICATE KEY UPDATE") {
            insert.on_duplicate = self.comma_list(Self::assignment)?;
        }
        insert.returning = self.opt_returning()?;
        self.note_variable_hints(&insert.hints);
        insert.span = self.span_from(start);
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// `(a, b)`, unless the parenthesis starts the query.
    fn insert_columns(&mut self, insert: &mut Insert) -> Result<()> {
        if !self.at(Tok::LParen) || matches!(self.peek(), Tok::LParen | Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE)) {
            return Ok(());
        }
        self.bump();
        let mut columns = Vec::new();
        if !self.at(Tok::RParen) {
            columns = self.comma_list(Self::column_ref)?;
        }
        self.expect(Tok::RParen)?;
        insert.columns = Some(columns);
        Ok(())
    }

    fn insert_source(&mut self) -> Result<InsertSource> {
        let values = self.at_kw(Kw::VALUES) || self.at_kw(Kw::VALUE);
        if !values {
            return Ok(InsertSource::Query(Box::new(self.query()?)));
        }
        self.bump();
        let mut rows = Vec::new();
        loop {
            self.pace.step()?;
            self.eat_kw(Kw::ROW);
            let width_hint = rows.last().map_or(0, Vec::len);
            rows.push(self.insert_row(width_hint)?);
            if !self.eat(Tok::Comma) {
                return Ok(InsertSource::Values(rows));
            }
        }
    }

    fn insert_row(&mut self, width_hint: usize) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        let mut row = Vec::with_capacity(width_hint);
        if self.eat(Tok::RParen) {
            return Ok(row);
        }
        loop {
            self.push_value(&mut row)?;
            if !self.eat(Tok::Comma) {
                self.expect(Tok::RParen)?;
                return Ok(row);
            }
        }
    }

    /// `column = value`
    pub(super) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_ref()?;
        if !self.eat(Tok::Eq) {
            self.expect(Tok::Assign)?;
        }
        Ok(Assignment { column, value: self.expr_or_default()? })
    }

    fn opt_returning(&mut self) -> Result<Vec<SelectItem>> {
        if self.eat_word("RETURNING") { self.select_items() } else { Ok(Vec::new()) }
    }

    /// UPDATE, at the word.
    pub(super) fn update(&mut self, with: Option<Box<With>>, start: u32) -> Result<Statement> {
        self.bump();
        let hints = self.opt_hints();
        let low_priority = self.eat_kw(Kw::LOW_PRIORITY);
        let ignore = self.eat_kw(Kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect_kw(Kw::SET)?;
        let set = self.comma_list(Self::assignment)?;
        let where_ = self.opt_where()?;
        let single = matches!(tables.as_slice(), [TableRef::Table(_)]);
        let order_by = self.opt_order_by()?;
        let limit = self.opt_limit_count()?;
        if !single && (limit.is_some() || !order_by.is_empty()) {
            let clause = if order_by.is_empty() { "LIMIT" } else { "ORDER BY" };
            return Err(Error::new(ErrorCode::WRONG_USAGE, format!("Incorrect usage of UPDATE and {clause}")));
        }
        let span = self.span_from(start);
        self.note_variable_hints(&hints);
        let update = Update { with, hints, low_priority, ignore, tables, set, where_, order_by, limit, span };
        Ok(Statement::Update(Box::new(update)))
    }

    pub(super) fn opt_where(&mut self) -> Result<Option<Expr>> {
        if self.eat_kw(Kw::WHERE) { self.expr().map(Some) } else { Ok(None) }
    }

    /// DELETE, at the word: `DELETE FROM t ..`, `DELETE t, u FROM ..`, `DELETE FROM t, u USING ..`.
    pub(super) fn delete(&mut self, with: Option<Box<With>>, start: u32) -> Result<Statement> {
        self.bump();
        let hints = self.opt_hints();
        self.note_variable_hints(&hints);
        let mut delete = Delete {
            with,
            hints,
            low_priority: self.eat_kw(Kw::LOW_PRIORITY),
            quick: self.eat_word("QUICK"),
            ignore: self.eat_kw(Kw::IGNORE),
            targets: Vec::new(),
            from: Vec::new(),
            where_: None,
            order_by: Vec::new(),
            limit: None,
            returning: Vec::new(),
            span: Span::default(),
        };
        if !self.eat_kw(Kw::FROM) {
            delete.targets = self.comma_list(Self::delete_target)?;
            self.expect_kw(Kw::FROM)?;
            delete.from = self.table_refs()?;
            delete.where_ = self.opt_where()?;
            delete.span = self.span_from(start);
            return Ok(Statement::Delete(Box::new(delete)));
        }
        // One name is the single-table form unless USING or a second name shows otherwise.
        let table_start = self.start();
        let name = self.delete_target()?;
        if self.at(Tok::Comma) || self.at_kw(Kw::USING) {
            delete.targets.push(name);
            while self.eat(Tok::Comma) {
                delete.targets.push(self.delete_target()?);
            }
            self.expect_kw(Kw::USING)?;
            delete.from = self.table_refs()?;
            delete.where_ = self.opt_where()?;
            delete.span = self.span_from(start);
            return Ok(Statement::Delete(Box::new(delete)));
        }
        if self.src[self.prev_end as usize - 1] == b'*' {
            return Err(self.error());
        }
        let alias = if self.at_word("RETURNING") { None } else { self.opt_table_alias()? };
        let partitions = self.opt_partition_list()?;
        let span = self.span_from(table_start);
        let table = TableFactor { name, partitions, alias, index_hints: Vec::new(), span };
        delete.from.push(TableRef::Table(Box::new(table)));
        delete.where_ = self.opt_where()?;
        delete.order_by = self.opt_order_by()?;
        delete.limit = self.opt_limit_count()?;
        delete.returning = self.opt_returning()?;
        delete.span = self.span_from(start);
        Ok(Statement::Delete(Box::new(delete)))
    }

    /// `t`, `t.*`, `s.t`, `s.t.*`
    fn delete_target(&mut self) -> Result<ObjectName> {
        let first = self.ident()?;
        if !self.eat(Tok::Dot) || self.eat(Tok::Star) {
            return Ok(ObjectName { schema: None, name: first });
        }
        let name = self.any_word()?;
        if self.eat(Tok::Dot) {
            self.expect(Tok::Star)?;
        }
        Ok(ObjectName { schema: Some(first), name })
    }

    pub(super) fn call_statement(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.object_name()?;
        let args = if self.at(Tok::LParen) { self.call_args()? } else { Vec::new() };
        Ok(Statement::Call(Box::new(Call { name, args })))
    }

    pub(super) fn do_statement(&mut self) -> Result<Statement> {
        self.bump();
        let exprs = self.comma_list(|p| {
            let expr = p.expr()?;
            // DO takes select items, whose aliases mean nothing.
            if p.eat_kw(Kw::AS) || p.at_ident() {
                p.ident()?;
            }
            Ok(expr)
        })?;
        Ok(Statement::Do(exprs))
    }

    pub(super) fn handler(&mut self) -> Result<Statement> {
        self.bump();
        let table = self.object_name()?;
        let handler = if self.eat_word("OPEN") {
            Handler::Open { table, alias: self.opt_table_alias()? }
        } else if self.eat_word("CLOSE") {
            Handler::Close(table)
        } else {
            self.expect_kw(Kw::READ)?;
            let target = self.handler_read()?;
            let where_ = self.opt_where()?;
            Handler::Read { table, target, where_, limit: self.opt_limit()? }
        };
        Ok(Statement::Handler(Box::new(handler)))
    }

    fn handler_read(&mut self) -> Result<HandlerRead> {
        if let Some(step @ (HandlerMove::First | HandlerMove::Next)) = self.handler_move() {
            self.bump();
            return Ok(HandlerRead::Scan(step));
        }
        let index = if self.at_kw(Kw::PRIMARY) { self.any_word()? } else { self.ident()? };
        if let Some(step) = self.handler_move() {
            self.bump();
            return Ok(HandlerRead::Index { index, step });
        }
        let op = match self.kind() {
            Tok::Eq => BinaryOp::Eq,
            Tok::Lt => BinaryOp::Lt,
            Tok::Le => BinaryOp::Le,
            Tok::Gt => BinaryOp::Gt,
            Tok::Ge => BinaryOp::Ge,
            _ => return Err(self.error()),
        };
        self.bump();
        Ok(HandlerRead::Key { index, op, values: self.row_values()? })
    }

    fn handler_move(&self) -> Option<HandlerMove> {
        const MOVES: [(&str, HandlerMove); 4] = [
            ("FIRST", HandlerMove::First),
            ("NEXT", HandlerMove::Next),
            ("PREV", HandlerMove::Prev),
            ("LAST", HandlerMove::Last),
        ];
        MOVES.iter().find(|(word, _)| self.at_word(word)).map(|(_, step)| *step)
    }

    /// An expression without comparison, AND or OR at its top.
    pub(super) fn bit_expr(&mut self) -> Result<Expr> {
        self.expr_at(BIT_EXPR)
    }
}
