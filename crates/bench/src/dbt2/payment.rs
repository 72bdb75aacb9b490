//! Payment (clause 2.5) and Order-Status (clause 2.6): the two that find customers by name.

use super::new_order::other_warehouse;
use super::random as r;
use super::schema::{DISTRICTS, Scale};
use super::terminal::{Done, row_is_missing};
use fastrand::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, Result, Row, Statement};

/// Characters of c_data that are kept.
const DATA_LEN_MAX: usize = 500;

/// Customers by last name: of those that have it, the one in the middle by first name.
#[derive(Debug)]
struct ByName(Statement);

impl ByName {
    fn prepare(conn: &mut Conn) -> Result<ByName> {
        let sql = "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
        Ok(ByName(conn.prep(sql)?))
    }

    /// 60 of 100 are looked for by name, the others by number.
    fn pick(&self, conn: &mut Conn, rng: &mut Rng, scale: &Scale, (w, d): (u32, u32)) -> Result<u32> {
        if rng.u32(1..=100) > 60 {
            return Ok(r::customer(rng, scale));
        }
        let name = r::some_last_name(rng, scale);
        let ids: Vec<u32> = conn.exec(&self.0, (w, d, name))?;
        // n/2 rounded up, counted from one
        ids.get(ids.len().saturating_sub(1) / 2).copied().ok_or_else(|| row_is_missing("customer by name"))
    }
}

#[derive(Debug)]
pub struct Payment {
    by_name: ByName,
    pay_warehouse: Statement,
    warehouse: Statement,
    pay_district: Statement,
    district: Statement,
    customer: Statement,
    data: Statement,
    pay: Statement,
    pay_with_data: Statement,
    history: Statement,
}

impl Payment {
    pub fn prepare(conn: &mut Conn) -> Result<Payment> {
        let pay = |more: &str| {
            format!(
                "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
                 c_payment_cnt = c_payment_cnt + 1{more} WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            )
        };
        Ok(Payment {
            by_name: ByName::prepare(conn)?,
            pay_warehouse: conn.prep("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?")?,
            warehouse: conn
                .prep("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?")?,
            pay_district: conn.prep("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?")?,
            district: conn.prep(
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
                 WHERE d_w_id = ? AND d_id = ?",
            )?,
            customer: conn.prep(
                "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
                 c_since, c_credit_lim, c_discount, c_balance FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
            )?,
            data: conn.prep("SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE")?,
            pay: conn.prep(pay(""))?,
            pay_with_data: conn.prep(pay(", c_data = ?"))?,
            history: conn.prep(
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
            )?,
        })
    }

    pub fn run(&self, conn: &mut Conn, rng: &mut Rng, scale: &Scale, w: u32) -> Result<Done> {
        let d = rng.u32(1..=DISTRICTS);
        let cents = rng.i64(100..=500_000);
        let amount = cents as f64 / 100.0;
        // 15 of 100 pay at a warehouse that is not their own.
        let (cw, cd) = match scale.warehouses > 1 && rng.u32(1..=100) > 85 {
            true => (other_warehouse(rng, scale, w), rng.u32(1..=DISTRICTS)),
            false => (w, d),
        };
        conn.query_drop("START TRANSACTION")?;
        conn.exec_drop(&self.pay_warehouse, (amount, w))?;
        let warehouse: Row = conn.exec_first(&self.warehouse, (w,))?.ok_or_else(|| row_is_missing("warehouse"))?;
        conn.exec_drop(&self.pay_district, (amount, w, d))?;
        let district: Row = conn.exec_first(&self.district, (w, d))?.ok_or_else(|| row_is_missing("district"))?;
        let c = self.by_name.pick(conn, rng, scale, (cw, cd))?;
        let customer: Row = conn.exec_first(&self.customer, (cw, cd, c))?.ok_or_else(|| row_is_missing("customer"))?;
        let credit: String = customer.get(0).ok_or_else(|| row_is_missing("credit of a customer"))?;
        if credit == "BC" {
            let old: String = conn.exec_first(&self.data, (cw, cd, c))?.ok_or_else(|| row_is_missing("customer"))?;
            let mut data = format!("{c} {cd} {cw} {d} {w} {}|{old}", r::money(cents));
            data.truncate(DATA_LEN_MAX);
            conn.exec_drop(&self.pay_with_data, (amount, amount, data, cw, cd, c))?;
        } else {
            conn.exec_drop(&self.pay, (amount, amount, cw, cd, c))?;
        }
        let name = |row: &Row| row.get::<String, _>(0).unwrap_or_default();
        let data = format!("{}    {}", name(&warehouse), name(&district));
        conn.exec_drop(&self.history, (c, cd, cw, d, w, r::money(cents), data))?;
        conn.query_drop("COMMIT")?;
        Ok(Done::Committed)
    }
}

#[derive(Debug)]
pub struct OrderStatus {
    by_name: ByName,
    customer: Statement,
    order: Statement,
    lines: Statement,
}

impl OrderStatus {
    pub fn prepare(conn: &mut Conn) -> Result<OrderStatus> {
        Ok(OrderStatus {
            by_name: ByName::prepare(conn)?,
            customer: conn.prep(
                "SELECT c_balance, c_first, c_middle, c_last FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            order: conn.prep(
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                 ORDER BY o_id DESC LIMIT 1",
            )?,
            lines: conn.prep(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
        })
    }

    pub fn run(&self, conn: &mut Conn, rng: &mut Rng, scale: &Scale, w: u32) -> Result<Done> {
        let d = rng.u32(1..=DISTRICTS);
        conn.query_drop("START TRANSACTION")?;
        let c = self.by_name.pick(conn, rng, scale, (w, d))?;
        let _: Row = conn.exec_first(&self.customer, (w, d, c))?.ok_or_else(|| row_is_missing("customer"))?;
        let order: Row = conn.exec_first(&self.order, (w, d, c))?.ok_or_else(|| row_is_missing("order"))?;
        let order: u32 = order.get(0).ok_or_else(|| row_is_missing("number of an order"))?;
        let lines: Vec<Row> = conn.exec(&self.lines, (w, d, order))?;
        if !(5..=15).contains(&lines.len()) {
            return Err(row_is_missing("lines of an order"));
        }
        conn.query_drop("COMMIT")?;
        Ok(Done::Committed)
    }
}
