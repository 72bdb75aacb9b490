//! Results on the terminal: tables, vertical, tab separated.

use engine::ColumnMeta;
use std::io::{self, Write};
use types::SqlType;
use vector::Batch;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    Table,
    Vertical,
    Tabs,
}

/// Rows looked at before the widths of a table's columns are fixed.
const WIDTH_SAMPLE_ROWS: usize = 1000;

/// Prints one result set as it comes.
pub struct Printer<W: Write> {
    out: W,
    layout: Layout,
    columns: Vec<ColumnMeta>,
    /// Rows held back until the widths are known.
    held: Vec<Vec<Option<String>>>,
    widths: Option<Vec<usize>>,
    rows: u64,
}

impl<W: Write> Printer<W> {
    pub fn new(out: W, layout: Layout, columns: &[ColumnMeta]) -> Printer<W> {
        Printer { out, layout, columns: columns.to_vec(), held: Vec::new(), widths: None, rows: 0 }
    }

    pub fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        for at in batch.selection.to_positions(batch.rows) {
            let row: Vec<Option<String>> = batch
                .columns
                .iter()
                .zip(&self.columns)
                .map(|(v, c)| {
                    let value = v.value(at as usize, &c.data_ty);
                    (!value.is_null()).then(|| {
                        let mut text = Vec::new();
                        types::value::render_text(&value, &c.data_ty, &mut text);
                        String::from_utf8_lossy(&text).into_owned()
                    })
                })
                .collect();
            self.row(row)?;
        }
        Ok(())
    }

    fn row(&mut self, row: Vec<Option<String>>) -> io::Result<()> {
        self.rows += 1;
        match self.layout {
            Layout::Vertical => self.vertical(&row),
            Layout::Tabs => {
                if self.rows == 1 {
                    let names: Vec<&str> = self.columns.iter().map(|c| &*c.name).collect();
                    writeln!(self.out, "{}", names.join("\t"))?;
                }
                let cells: Vec<String> =
                    row.iter().map(|c| c.as_deref().map_or_else(|| "NULL".into(), escape_tabs)).collect();
                writeln!(self.out, "{}", cells.join("\t"))
            }
            Layout::Table if self.widths.is_some() => self.table_row(&row),
            Layout::Table => {
                self.held.push(row);
                if self.held.len() == WIDTH_SAMPLE_ROWS { self.release() } else { Ok(()) }
            }
        }
    }

    fn vertical(&mut self, row: &[Option<String>]) -> io::Result<()> {
        let stars = "*".repeat(27);
        writeln!(self.out, "{stars} {}. row {stars}", self.rows)?;
        let width = self.columns.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
        for (c, cell) in self.columns.iter().zip(row) {
            writeln!(self.out, "{:>width$}: {}", c.name, cell.as_deref().unwrap_or("NULL"))?;
        }
        Ok(())
    }

    /// Fixes the widths and prints the heading and what was held back.
    fn release(&mut self) -> io::Result<()> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.name.chars().count()).collect();
        for row in &self.held {
            for (w, cell) in widths.iter_mut().zip(row) {
                *w = (*w).max(cell.as_deref().map_or(4, |c| c.chars().count()));
            }
        }
        self.widths = Some(widths);
        self.rule()?;
        let names = self.columns.iter().map(|c| Some(c.name.to_string())).collect::<Vec<_>>();
        self.cells(&names, &vec![false; names.len()])?;
        self.rule()?;
        for row in std::mem::take(&mut self.held) {
            self.table_row(&row)?;
        }
        Ok(())
    }

    fn table_row(&mut self, row: &[Option<String>]) -> io::Result<()> {
        let right: Vec<bool> = self.columns.iter().map(|c| is_number(&c.ty)).collect();
        self.cells(row, &right)
    }

    fn cells(&mut self, row: &[Option<String>], right: &[bool]) -> io::Result<()> {
        let widths = self.widths.as_deref().expect("widths are fixed before rows are printed");
        let mut line = String::from("|");
        for ((cell, width), right) in row.iter().zip(widths).zip(right) {
            let cell = cell.as_deref().unwrap_or("NULL").replace('\n', "\\n");
            let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
            let (before, after) = if *right { (pad.as_str(), "") } else { ("", pad.as_str()) };
            line.push_str(&format!(" {before}{cell}{after} |"));
        }
        writeln!(self.out, "{line}")
    }

    fn rule(&mut self) -> io::Result<()> {
        let widths = self.widths.as_deref().expect("widths are fixed before rules are printed");
        let line: String = widths.iter().map(|w| format!("+{}", "-".repeat(w + 2))).collect();
        writeln!(self.out, "{line}+")
    }

    /// Ends the result set; answers how many rows there were.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.layout == Layout::Table && self.rows > 0 {
            if self.widths.is_none() {
                self.release()?;
            }
            self.rule()?;
        }
        self.out.flush()?;
        Ok(self.rows)
    }
}

fn is_number(ty: &SqlType) -> bool {
    ty.is_numeric()
}

fn escape_tabs(cell: &str) -> String {
    if cell.contains(['\t', '\n', '\\']) {
        cell.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
    } else {
        cell.to_string()
    }
}
