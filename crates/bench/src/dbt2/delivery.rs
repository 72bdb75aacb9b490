//! Delivery (clause 2.7) of the oldest order of each district, and Stock-Level (clause 2.8).

use super::schema::DISTRICTS;
use super::terminal::{Done, row_is_missing};
use fastrand::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, Result, Statement};

#[derive(Debug)]
pub struct Delivery {
    oldest: Statement,
    take: Statement,
    customer: Statement,
    carrier: Statement,
    lines: Statement,
    sum: Statement,
    bill: Statement,
}

impl Delivery {
    pub fn prepare(conn: &mut Conn) -> Result<Delivery> {
        Ok(Delivery {
            oldest: conn.prep(
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
            )?,
            take: conn.prep("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?")?,
            // The order may be younger than this transaction's snapshot: a current read finds it.
            customer: conn.prep("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE")?,
            carrier: conn.prep("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?")?,
            lines: conn.prep(
                "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
            sum: conn
                .prep("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?")?,
            bill: conn.prep(
                "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
        })
    }

    pub fn run(&self, conn: &mut Conn, rng: &mut Rng, w: u32) -> Result<Done> {
        let carrier = rng.u32(1..=10);
        conn.query_drop("START TRANSACTION")?;
        for d in 1..=DISTRICTS {
            let Some(order) = conn.exec_first::<u32, _, _>(&self.oldest, (w, d))? else { continue };
            conn.exec_drop(&self.take, (w, d, order))?;
            let c: u32 =
                conn.exec_first(&self.customer, (w, d, order))?.ok_or_else(|| row_is_missing("order to deliver"))?;
            conn.exec_drop(&self.carrier, (carrier, w, d, order))?;
            conn.exec_drop(&self.lines, (w, d, order))?;
            let sum: Option<Option<String>> = conn.exec_first(&self.sum, (w, d, order))?;
            let sum = sum.flatten().ok_or_else(|| row_is_missing("lines of an order to deliver"))?;
            conn.exec_drop(&self.bill, (sum.parse::<f64>().unwrap_or(f64::NAN), w, d, c))?;
        }
        conn.query_drop("COMMIT")?;
        Ok(Done::Committed)
    }
}

#[derive(Debug)]
pub struct StockLevel {
    next: Statement,
    low: Statement,
}

/// The last so many orders are looked at.
const ORDERS: u32 = 20;

impl StockLevel {
    pub fn prepare(conn: &mut Conn) -> Result<StockLevel> {
        Ok(StockLevel {
            next: conn.prep("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?")?,
            low: conn.prep(
                "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? \
                 AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
            )?,
        })
    }

    pub fn run(&self, conn: &mut Conn, rng: &mut Rng, (w, d): (u32, u32)) -> Result<Done> {
        conn.query_drop("START TRANSACTION")?;
        let next: u32 = conn.exec_first(&self.next, (w, d))?.ok_or_else(|| row_is_missing("district"))?;
        let params = (w, d, next, next.saturating_sub(ORDERS), w, rng.u32(10..=20));
        let _: u64 = conn.exec_first(&self.low, params)?.ok_or_else(|| row_is_missing("count"))?;
        conn.query_drop("COMMIT")?;
        Ok(Done::Committed)
    }
}
