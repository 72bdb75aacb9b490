//! Making the data: straight into leaves, and as text for the other systems.
//!
//! A table is generated in pieces of consecutive rows; each thread takes the next piece and appends it under the
//! table's one transaction.

use crate::Failure;
use crate::local::Local;
use std::fmt::{Display, Write as _};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use storage::BulkAppender;
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::*;
use types::Date;

/// Rows of one piece, roughly.
const PIECE_ROWS: u64 = 64 << 10;

/// Fills one row of an appender, column by column.
struct RowWriter<'a> {
    to: &'a mut BulkAppender,
    column: usize,
    text: &'a mut String,
}

impl RowWriter<'_> {
    fn int(&mut self, v: i64) -> &mut Self {
        self.to.column(self.column).push_int(v);
        self.column += 1;
        self
    }

    fn decimal(&mut self, v: TPCHDecimal) -> &mut Self {
        self.int(v.into_inner())
    }

    fn date(&mut self, v: TPCHDate) -> &mut Self {
        let (y, m, d) = v.to_ymd();
        // The generator counts years from 1900.
        self.int(Date::from_ymd(y + 1900, m, d).0 as i64)
    }

    fn str(&mut self, v: &str) -> &mut Self {
        self.to.push_bytes(self.column, v.as_bytes());
        self.column += 1;
        self
    }

    fn shown(&mut self, v: &impl Display) -> &mut Self {
        self.text.clear();
        write!(self.text, "{v}").expect("a string takes all text");
        self.to.push_bytes(self.column, self.text.as_bytes());
        self.column += 1;
        self
    }
}

trait AppendTo {
    fn append_to(&self, w: &mut RowWriter<'_>);
}

impl AppendTo for Region<'_> {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.r_regionkey).str(self.r_name).str(self.r_comment);
    }
}

impl AppendTo for Nation<'_> {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.n_nationkey).str(self.n_name).int(self.n_regionkey).str(self.n_comment);
    }
}

impl AppendTo for Supplier {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.s_suppkey).shown(&self.s_name).shown(&self.s_address).int(self.s_nationkey);
        w.shown(&self.s_phone).decimal(self.s_acctbal).str(&self.s_comment);
    }
}

impl AppendTo for Part<'_> {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.p_partkey).shown(&self.p_name).shown(&self.p_mfgr).shown(&self.p_brand).str(self.p_type);
        w.int(self.p_size as i64).str(self.p_container).decimal(self.p_retailprice).str(self.p_comment);
    }
}

impl AppendTo for Customer<'_> {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.c_custkey).shown(&self.c_name).shown(&self.c_address).int(self.c_nationkey);
        w.shown(&self.c_phone).decimal(self.c_acctbal).str(self.c_mktsegment).str(self.c_comment);
    }
}

impl AppendTo for PartSupp<'_> {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.ps_partkey).int(self.ps_suppkey).int(self.ps_availqty as i64);
        w.decimal(self.ps_supplycost).str(self.ps_comment);
    }
}

impl AppendTo for Order<'_> {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.o_orderkey).int(self.o_custkey).str(self.o_orderstatus.as_str()).decimal(self.o_totalprice);
        w.date(self.o_orderdate).str(self.o_orderpriority).shown(&self.o_clerk).int(self.o_shippriority as i64);
        w.str(self.o_comment);
    }
}

impl AppendTo for LineItem<'_> {
    fn append_to(&self, w: &mut RowWriter<'_>) {
        w.int(self.l_orderkey).int(self.l_partkey).int(self.l_suppkey).int(self.l_linenumber as i64);
        w.int(self.l_quantity * 100).decimal(self.l_extendedprice).decimal(self.l_discount).decimal(self.l_tax);
        w.str(self.l_returnflag).str(self.l_linestatus);
        w.date(self.l_shipdate).date(self.l_commitdate).date(self.l_receiptdate);
        w.str(self.l_shipinstruct).str(self.l_shipmode).str(self.l_comment);
    }
}

/// Where rows go.
enum Target<'a> {
    Table(&'a mut BulkAppender),
    Text(&'a mut dyn Write),
}

impl Target<'_> {
    fn take<R: AppendTo + Display>(&mut self, rows: impl Iterator<Item = R>) -> Result<(), Failure> {
        let mut text = String::new();
        for row in rows {
            match self {
                Target::Table(to) => {
                    row.append_to(&mut RowWriter { to, column: 0, text: &mut text });
                    to.end_row()?;
                }
                Target::Text(to) => {
                    text.clear();
                    write!(text, "{row}")?;
                    // The specification's text form ends each line with a separator, which readers would take for one
                    // more column.
                    text.pop();
                    text.push('\n');
                    to.write_all(text.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn take_piece(&mut self, table: &str, scale: f64, piece: i32, pieces: i32) -> Result<(), Failure> {
        match table {
            "region" => self.take(RegionGenerator::new(scale, piece, pieces).iter()),
            "nation" => self.take(NationGenerator::new(scale, piece, pieces).iter()),
            "supplier" => self.take(SupplierGenerator::new(scale, piece, pieces).iter()),
            "part" => self.take(PartGenerator::new(scale, piece, pieces).iter()),
            "customer" => self.take(CustomerGenerator::new(scale, piece, pieces).iter()),
            "partsupp" => self.take(PartSuppGenerator::new(scale, piece, pieces).iter()),
            "orders" => self.take(OrderGenerator::new(scale, piece, pieces).iter()),
            "lineitem" => self.take(LineItemGenerator::new(scale, piece, pieces).iter()),
            other => Err(format!("no table {other} in TPC-H").into()),
        }
    }
}

fn pieces(table: &str, scale: f64) -> i32 {
    let rows = match table {
        // The generators of these two know no pieces.
        "region" | "nation" => 1,
        "lineitem" => 6_000_000.0 as u64 * scale.ceil() as u64,
        other => super::schema::rows(other, scale).unwrap_or(1),
    };
    rows.div_ceil(PIECE_ROWS).clamp(1, i32::MAX as u64) as i32
}

/// Generates a table into storage; its rows.
pub fn fill(local: &Local, table: &str, scale: f64, threads: usize) -> Result<u64, Failure> {
    let store = local.db().store();
    let to = local.table(table);
    let txn = store.txns().begin();
    let (pieces, next) = (pieces(table, scale), AtomicI32::new(1));
    let work = || -> Result<u64, Failure> {
        let mut appender = BulkAppender::new(&to, &txn);
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece > pieces {
                return Ok(appender.finish()?.rows);
            }
            appender.set_piece(piece as u64);
            Target::Table(&mut appender).take_piece(table, scale, piece, pieces)?;
            if pieces > 1 {
                appender.flush()?;
            }
        }
    };
    let counts: Result<Vec<u64>, Failure> = std::thread::scope(|s| {
        let workers: Vec<_> = (0..threads.clamp(1, pieces as usize)).map(|_| s.spawn(work)).collect();
        workers.into_iter().map(|w| w.join().expect("a generator does not panic")).collect()
    });
    match counts {
        Ok(counts) => {
            store.txns().commit(&txn).expect("the log can be written");
            Ok(counts.iter().sum())
        }
        Err(e) => {
            store.txns().rollback(&txn);
            Err(e)
        }
    }
}

/// Writes a table as text: `|` between columns, a newline after each row.
pub fn write_text(table: &str, scale: f64, path: &Path) -> Result<(), Failure> {
    let mut file = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let pieces = pieces(table, scale);
    for piece in 1..=pieces {
        Target::Text(&mut file).take_piece(table, scale, piece, pieces)?;
    }
    file.flush()?;
    Ok(())
}
