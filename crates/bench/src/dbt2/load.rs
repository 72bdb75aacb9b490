//! The initial population (clause 4.3.3), sent as LOAD DATA LOCAL streams: the same rows to every system.

use super::random as r;
use super::schema::{DISTRICTS, Scale, TABLES};
use crate::Failure;
use fastrand::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};
use std::io::{BufWriter, Result, Write};
use std::sync::mpsc;

/// When the population was born.
const THEN: &str = "2024-01-01 00:00:00";
const STREAM_BUFFER_BYTES: usize = 1 << 16;

/// The generator of a table's rows of one warehouse; warehouse 0 stands for rows of no warehouse.
fn rng(table: &str, warehouse: u32) -> Rng {
    let at = TABLES.iter().position(|(name, _)| *name == table).unwrap_or(TABLES.len());
    Rng::with_seed((at as u64) << 32 | u64::from(warehouse))
}

fn address(rng: &mut Rng) -> String {
    let street = || -> _ { (10, 20) };
    let mut part = |(least, most)| r::text(rng, least, most);
    let (a, b, city, state) = (part(street()), part(street()), part(street()), part((2, 2)));
    format!("{a}\t{b}\t{city}\t{state}\t{}", r::zip(rng))
}

/// Writes the table's rows of one warehouse.
fn write_rows(table: &str, w: u32, scale: &Scale, to: &mut dyn Write) -> Result<()> {
    let rng = &mut rng(table, w);
    match table {
        "item" => (1..=scale.items).try_for_each(|i| {
            let (image, name) = (rng.u32(1..=10_000), r::text(rng, 14, 24));
            let price = r::money(rng.i64(100..=10_000));
            writeln!(to, "{i}\t{image}\t{name}\t{price}\t{}", r::data(rng))
        }),
        "warehouse" => {
            let (name, address, tax) = (r::text(rng, 6, 10), address(rng), rng.u32(0..=2000));
            let ytd = i64::from(DISTRICTS * scale.customers) * 1000;
            writeln!(to, "{w}\t{name}\t{address}\t0.{tax:04}\t{}", r::money(ytd))
        }
        "stock" => (1..=scale.items).try_for_each(|i| {
            let dists: Vec<String> = (0..DISTRICTS).map(|_| r::text(rng, 24, 24)).collect();
            writeln!(to, "{w}\t{i}\t{}\t{}\t0\t0\t0\t{}", rng.u32(10..=100), dists.join("\t"), r::data(rng))
        }),
        "district" => (1..=DISTRICTS).try_for_each(|d| {
            let (name, address, tax) = (r::text(rng, 6, 10), address(rng), rng.u32(0..=2000));
            let ytd = r::money(i64::from(scale.customers) * 1000);
            writeln!(to, "{w}\t{d}\t{name}\t{address}\t0.{tax:04}\t{ytd}\t{}", scale.customers + 1)
        }),
        "customer" => (1..=DISTRICTS).try_for_each(|d| {
            (1..=scale.customers).try_for_each(|c| {
                let (first, last, address) = (r::text(rng, 8, 16), r::last_name_of(rng, c, scale), address(rng));
                let (phone, credit) = (r::digits(rng, 16), if rng.u8(..10) == 0 { "BC" } else { "GC" });
                let (discount, data) = (rng.u32(0..=5000), r::text(rng, 300, 500));
                writeln!(
                    to,
                    "{w}\t{d}\t{c}\t{first}\tOE\t{last}\t{address}\t{phone}\t{THEN}\t{credit}\t50000.00\t0.{discount:04}\t\
                     -10.00\t10.00\t1\t0\t{data}"
                )
            })
        }),
        "history" => (1..=DISTRICTS).try_for_each(|d| {
            (1..=scale.customers)
                .try_for_each(|c| writeln!(to, "{c}\t{d}\t{w}\t{d}\t{w}\t{THEN}\t10.00\t{}", r::text(rng, 12, 24)))
        }),
        "orders" | "order_line" => (1..=DISTRICTS).try_for_each(|d| write_orders(table, (w, d), scale, to)),
        "new_order" => (1..=DISTRICTS).try_for_each(|d| {
            (scale.delivered() + 1..=scale.customers).try_for_each(|o| writeln!(to, "{w}\t{d}\t{o}"))
        }),
        other => unreachable!("{other} is not in TABLES"),
    }
}

/// Orders of a district, or their lines. Both must agree on how many lines an order has.
fn write_orders(table: &str, (w, d): (u32, u32), scale: &Scale, to: &mut dyn Write) -> Result<()> {
    let mut counts = rng("orders", w * DISTRICTS + d);
    let mut rng = rng(table, w * DISTRICTS + d);
    let mut customers: Vec<u32> = (1..=scale.customers).collect();
    rng.shuffle(&mut customers);
    for o in 1..=scale.customers {
        let lines = counts.u32(5..=15);
        let delivered = o <= scale.delivered();
        if table == "orders" {
            let carrier = if delivered { rng.u32(1..=10).to_string() } else { "\\N".into() };
            writeln!(to, "{w}\t{d}\t{o}\t{}\t{THEN}\t{carrier}\t{lines}\t1", customers[o as usize - 1])?;
            continue;
        }
        for line in 1..=lines {
            let (when, amount) = if delivered { (THEN, 0) } else { ("\\N", rng.i64(1..=999_999)) };
            let (item, amount) = (rng.u32(1..=scale.items), r::money(amount));
            writeln!(to, "{w}\t{d}\t{o}\t{line}\t{item}\t{w}\t{when}\t5\t{amount}\t{}", r::text(&mut rng, 24, 24))?;
        }
    }
    Ok(())
}

/// Sends what `write` writes to the server as a file.
fn load_stream(
    conn: &mut Conn,
    table: &str,
    write: impl FnOnce(&mut dyn Write) -> Result<()> + Send + 'static,
) -> std::result::Result<(), Failure> {
    // The handler may be called many times as far as its type goes; each LOAD DATA calls it once.
    let (give, take) = mpsc::channel();
    give.send(write).expect("the receiver is here");
    let take = std::sync::Mutex::new(take);
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, stream| {
        let write = take.lock().map_err(|_| std::io::ErrorKind::Other)?.try_recv();
        let write = write.map_err(|_| std::io::Error::other("the server asks for the same file twice"))?;
        let mut buffered = BufWriter::with_capacity(STREAM_BUFFER_BYTES, stream);
        write(&mut buffered)?;
        buffered.flush()
    })));
    conn.query_drop(format!("LOAD DATA LOCAL INFILE '{table}' INTO TABLE {table}"))?;
    Ok(())
}

/// Creates and fills all tables in the current schema.
pub fn load(conn: &mut Conn, scale: Scale) -> std::result::Result<(), Failure> {
    for (table, columns) in TABLES {
        conn.query_drop(format!("CREATE TABLE {table} ({columns})"))?;
        let warehouses = if table == "item" { 1..=1 } else { 1..=scale.warehouses };
        load_stream(conn, table, move |to| {
            let mut warehouses = warehouses;
            warehouses.try_for_each(|w| write_rows(table, w, &scale, to))
        })
        .map_err(|e| format!("loading {table}: {e}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &str) -> Vec<String> {
        let mut out = Vec::new();
        write_rows(table, 1, &Scale::small(1), &mut out).expect("memory takes it");
        String::from_utf8(out).expect("it is text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_row_has_every_column() {
        for (table, columns) in TABLES {
            let prefix = &columns[..=columns.find('_').expect("columns are named so")];
            let expected = columns.split(", ").filter(|c| c.starts_with(prefix) && c.contains(' ')).count();
            assert!(rows(table).iter().all(|r| r.split('\t').count() == expected), "{table}");
        }
    }

    #[test]
    fn orders_have_as_many_lines_as_they_say() {
        let said: u32 = rows("orders").iter().map(|r| r.split('\t').nth(6).unwrap().parse::<u32>().unwrap()).sum();
        assert_eq!(said as usize, rows("order_line").len());
        assert_eq!(rows("new_order").len(), 10 * 30);
    }
}
