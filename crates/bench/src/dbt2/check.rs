//! The specification's twelve consistency conditions (clause 3.3.2), each as a query that counts what breaks it.
//!
//! Condition 11 is worded for the initial population; here deliveries since then are added, which each customer counts.

use crate::Failure;
use mysql::Conn;
use mysql::prelude::Queryable;

/// What must be equal, and how many rows say otherwise.
pub const CONDITIONS: [(&str, &str); 12] = [
    (
        "w_ytd = sum(d_ytd)",
        "SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS s FROM district GROUP BY d_w_id) d \
         ON d_w_id = w_id WHERE NOT w_ytd <=> s",
    ),
    (
        "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
        "SELECT COUNT(*) FROM district \
         LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o_w_id = d_w_id AND o_d_id = d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS n FROM new_order GROUP BY no_w_id, no_d_id) n \
         ON no_w_id = d_w_id AND no_d_id = d_id \
         WHERE NOT d_next_o_id - 1 <=> o OR n IS NOT NULL AND n <> o",
    ),
    (
        "max(no_o_id) - min(no_o_id) + 1 = rows of new_order",
        "SELECT COUNT(*) FROM (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 AS span, COUNT(*) AS n FROM new_order \
         GROUP BY no_w_id, no_d_id) t WHERE span <> n",
    ),
    (
        "sum(o_ol_cnt) = rows of order_line",
        "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS said FROM orders GROUP BY o_w_id, o_d_id) o \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS n FROM order_line GROUP BY ol_w_id, ol_d_id) l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE NOT said <=> n",
    ),
    (
        "o_carrier_id is null where there is a row of new_order",
        "SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "o_ol_cnt = rows of order_line of the order",
        "SELECT COUNT(*) FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS n FROM order_line \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE NOT o_ol_cnt <=> n",
    ),
    (
        "ol_delivery_d is null where o_carrier_id is",
        "SELECT COUNT(*) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "w_ytd = sum(h_amount)",
        "SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS s FROM history GROUP BY h_w_id) h \
         ON h_w_id = w_id WHERE NOT w_ytd <=> s",
    ),
    (
        "d_ytd = sum(h_amount)",
        "SELECT COUNT(*) FROM district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS s FROM history \
         GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id WHERE NOT d_ytd <=> s",
    ),
    (
        "c_balance = sum(ol_amount of delivered lines) - sum(h_amount)",
        "SELECT COUNT(*) FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS bought FROM orders \
         JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         WHERE c_balance <> COALESCE(bought, 0) - COALESCE(paid, 0)",
    ),
    (
        "rows of orders - rows of new_order = delivered ones",
        "SELECT COUNT(*) FROM (SELECT c_w_id, c_d_id, COUNT(*) * 7 DIV 10 + SUM(c_delivery_cnt) AS delivered FROM customer \
         GROUP BY c_w_id, c_d_id) c \
         LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS o FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS n FROM new_order GROUP BY no_w_id, no_d_id) n \
         ON no_w_id = c_w_id AND no_d_id = c_d_id WHERE NOT o - COALESCE(n, 0) <=> delivered",
    ),
    (
        "c_balance + c_ytd_payment = sum(ol_amount of delivered lines)",
        "SELECT COUNT(*) FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS bought FROM orders \
         JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> COALESCE(bought, 0)",
    ),
];

/// Checks all conditions on the current schema; a line for each that does not hold.
pub fn check(conn: &mut Conn) -> Result<Vec<String>, Failure> {
    let mut broken = Vec::new();
    for (i, (what, sql)) in CONDITIONS.iter().enumerate() {
        let count: Option<u64> = conn.query_first(sql).map_err(|e| format!("condition {}: {e}", i + 1))?;
        match count {
            Some(0) => {}
            n => broken.push(format!("condition {} ({what}) does not hold for {} rows", i + 1, n.unwrap_or(0))),
        }
    }
    Ok(broken)
}
