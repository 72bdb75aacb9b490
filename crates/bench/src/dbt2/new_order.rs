//! New-Order (clause 2.4): a customer orders 5 to 15 items. One in a hundred names an item that does not exist, and is
//! rolled back.

use super::random::{self as r, money};
use super::schema::{DISTRICTS, Scale};
use super::terminal::{Done, row_is_missing};
use fastrand::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, Result, Statement};

#[derive(Debug)]
pub struct NewOrder {
    customer: Statement,
    district: Statement,
    next: Statement,
    order: Statement,
    new_order: Statement,
    item: Statement,
    /// One a district, whose text goes with the order.
    stock: Vec<Statement>,
    take: Statement,
    line: Statement,
}

struct Line {
    item: u32,
    supplier: u32,
    quantity: i64,
}

/// Stock below this is filled up.
const LEAST_LEFT: i64 = 10;
const REFILL: i64 = 91;

impl NewOrder {
    pub fn prepare(conn: &mut Conn) -> Result<NewOrder> {
        let stock = |d: u32| {
            format!("SELECT s_quantity, s_data, s_dist_{d:02} FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE")
        };
        Ok(NewOrder {
            customer: conn.prep(
                "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
                 WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
            )?,
            district: conn.prep("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE")?,
            next: conn.prep("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?")?,
            order: conn.prep(
                "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
                 VALUES (?, ?, ?, ?, NOW(), NULL, ?, ?)",
            )?,
            new_order: conn.prep("INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)")?,
            item: conn.prep("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?")?,
            stock: (1..=DISTRICTS).map(|d| conn.prep(stock(d))).collect::<Result<_>>()?,
            take: conn.prep(
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?",
            )?,
            line: conn.prep(
                "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
                 ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
            )?,
        })
    }

    pub fn run(&self, conn: &mut Conn, rng: &mut Rng, scale: &Scale, w: u32) -> Result<Done> {
        let (d, c) = (rng.u32(1..=DISTRICTS), r::customer(rng, scale));
        let count = rng.usize(5..=15);
        let mut lines: Vec<Line> = (0..count).map(|_| line(rng, scale, w)).collect();
        if rng.u32(1..=100) == 1 {
            lines[count - 1].item = scale.items + 1;
        }
        let all_local = lines.iter().all(|l| l.supplier == w);

        conn.query_drop("START TRANSACTION")?;
        let _: (String, String, String, String) =
            conn.exec_first(&self.customer, (w, d, c))?.ok_or_else(|| row_is_missing("customer"))?;
        let (order, _): (u32, String) =
            conn.exec_first(&self.district, (w, d))?.ok_or_else(|| row_is_missing("district"))?;
        conn.exec_drop(&self.next, (w, d))?;
        conn.exec_drop(&self.order, (w, d, order, c, count, all_local))?;
        conn.exec_drop(&self.new_order, (w, d, order))?;
        for (number, line) in (1..).zip(&lines) {
            let item: Option<(String, String, String)> = conn.exec_first(&self.item, (line.item,))?;
            let Some((price, _, _)) = item else {
                conn.query_drop("ROLLBACK")?;
                return Ok(Done::RolledBack);
            };
            let price = r::cents(&price).ok_or_else(|| row_is_missing("price of an item"))?;
            let key = (line.item, line.supplier);
            let (left, _, info): (i64, String, String) =
                conn.exec_first(&self.stock[d as usize - 1], key)?.ok_or_else(|| row_is_missing("stock"))?;
            let left = left - line.quantity;
            let left = if left < LEAST_LEFT { left + REFILL } else { left };
            let remote = line.supplier != w;
            conn.exec_drop(&self.take, (left, line.quantity, remote, line.item, line.supplier))?;
            let amount = money(price * line.quantity);
            conn.exec_drop(&self.line, (w, d, order, number, line.item, line.supplier, line.quantity, amount, info))?;
        }
        conn.query_drop("COMMIT")?;
        Ok(Done::Committed)
    }
}

/// One in a hundred items comes from another warehouse.
fn line(rng: &mut Rng, scale: &Scale, w: u32) -> Line {
    let remote = scale.warehouses > 1 && rng.u32(1..=100) == 1;
    let supplier = if remote { other_warehouse(rng, scale, w) } else { w };
    Line { item: r::item(rng, scale), supplier, quantity: rng.i64(1..=10) }
}

/// Any warehouse but `w`. There must be one.
pub fn other_warehouse(rng: &mut Rng, scale: &Scale, w: u32) -> u32 {
    let other = rng.u32(1..scale.warehouses);
    if other < w { other } else { other + 1 }
}
