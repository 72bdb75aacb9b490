use super::record::{FIELD_HEADER_BYTES, Writer};
use super::*;
use crate::histogram::Bucket;
use crate::*;
use expr::Expr;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use types::{Collation, Date, DateTime, Decimal, I256, IntSize, SqlType, StringKind, Time, Timestamp, Value};

/// Binds every text to itself as a constant: the tree says from which text it was made, and for what.
struct Echo;

fn echo(of: ExprOf, text: &str) -> Expr {
    Expr::constant(Value::str(&format!("{of:?} {text}")), SqlType::varchar(99, Collation::Binary))
}

impl ExprBinder for Echo {
    fn bind(&mut self, _: &TableDef, of: ExprOf, text: &str, _: &BoundUnder) -> Result<Expr> {
        Ok(echo(of, text))
    }
}

fn name() -> BoxedStrategy<Box<str>> {
    "[a-zA-Zäß`'\" ]{1,12}".prop_map(|s| s.into()).boxed()
}

fn text() -> BoxedStrategy<Box<str>> {
    prop_oneof![Just(Box::from("")), any::<String>().prop_map(|s| s.into())].boxed()
}

fn collation() -> BoxedStrategy<Collation> {
    prop::sample::select(Collation::ALL.to_vec()).boxed()
}

fn sql_type() -> BoxedStrategy<SqlType> {
    use SqlType as T;
    let sizes = vec![IntSize::I8, IntSize::I16, IntSize::I24, IntSize::I32, IntSize::I64];
    let kinds = vec![
        StringKind::Char,
        StringKind::VarChar,
        StringKind::TinyText,
        StringKind::Text,
        StringKind::MediumText,
        StringKind::LongText,
    ];
    prop_oneof![
        prop::sample::select(vec![T::Null, T::Bool, T::Float, T::Double, T::Date, T::Year]),
        (prop::sample::select(sizes), any::<bool>()).prop_map(|(size, unsigned)| T::Int { size, unsigned }),
        (1u8..=65, 0u8..=30).prop_map(|(precision, s)| T::Decimal { precision, scale: s.min(precision) }),
        (prop::sample::select(kinds), any::<u32>(), collation()).prop_map(|(kind, len, collation)| T::String {
            kind,
            len,
            collation
        }),
        (0u8..=6).prop_map(|fsp| T::Time { fsp }),
        (0u8..=6).prop_map(|fsp| T::DateTime { fsp }),
        (0u8..=6).prop_map(|fsp| T::Timestamp { fsp }),
    ]
    .boxed()
}

/// A value that a column of the type may have.
fn value_for(ty: SqlType) -> BoxedStrategy<Value> {
    let value = match ty {
        SqlType::Null => Just(Value::Null).boxed(),
        SqlType::Bool | SqlType::Int { unsigned: false, .. } => any::<i64>().prop_map(Value::Int).boxed(),
        SqlType::Int { unsigned: true, .. } | SqlType::Year => any::<u64>().prop_map(Value::UInt).boxed(),
        SqlType::Decimal { .. } => (any::<u128>(), any::<i128>(), 0u8..=30)
            .prop_map(|(lo, hi, scale)| Value::Decimal(Decimal::new(I256 { lo, hi }, scale)))
            .boxed(),
        SqlType::Float => prop::num::f32::NORMAL.prop_map(Value::Float).boxed(),
        SqlType::Double => prop::num::f64::NORMAL.prop_map(Value::Double).boxed(),
        SqlType::String { .. } => vec(any::<u8>(), 0..20).prop_map(|b| Value::Bytes(b.into())).boxed(),
        SqlType::Date => any::<i32>().prop_map(|v| Value::Date(Date(v))).boxed(),
        SqlType::Time { .. } => any::<i64>().prop_map(|v| Value::Time(Time(v))).boxed(),
        SqlType::DateTime { .. } => any::<i64>().prop_map(|v| Value::DateTime(DateTime(v))).boxed(),
        SqlType::Timestamp { .. } => any::<i64>().prop_map(|v| Value::Timestamp(Timestamp(v))).boxed(),
    };
    prop_oneof![9 => value, 1 => Just(Value::Null)].boxed()
}

fn under() -> BoxedStrategy<BoundUnder> {
    let some = (collation(), 0u8..=30, any::<[bool; 3]>()).prop_map(|(collation, digits, [a, b, c])| BoundUnder {
        collation,
        div_precision_increment: digits,
        no_unsigned_subtraction: a,
        no_backslash_escapes: b,
        allow_invalid_dates: c,
    });
    prop_oneof![Just(BoundUnder::default()), some].boxed()
}

fn unbound() -> Box<Expr> {
    column::unbound()
}

fn default_for(ty: SqlType) -> BoxedStrategy<DefaultValue> {
    prop_oneof![
        Just(DefaultValue::None),
        value_for(ty).prop_map(DefaultValue::Value),
        Just(DefaultValue::CurrentTimestamp),
        (text(), under()).prop_map(|(text, under)| DefaultValue::Expr { expr: unbound(), text, under }),
    ]
    .boxed()
}

fn histogram_for(ty: SqlType) -> BoxedStrategy<Histogram> {
    let number = || prop::num::f64::POSITIVE | prop::num::f64::ZERO;
    let bucket = (value_for(ty), value_for(ty), any::<bool>(), number(), number(), any::<bool>()).prop_map(
        |(low, high, single, cumulative, distinct, one)| Bucket {
            high: if single { low.clone() } else { high },
            low,
            cumulative,
            distinct: if one { 1.0 } else { distinct },
        },
    );
    (vec(bucket, 0..5), number(), collation(), number(), any::<(bool, u32, i64, bool)>())
        .prop_map(
            |(buckets, null_fraction, collation, sampling_rate, (equi, buckets_asked, updated_us, auto_update))| {
                let kind = if equi { HistogramKind::EquiHeight } else { HistogramKind::Singleton };
                Histogram {
                    kind,
                    buckets,
                    null_fraction,
                    collation,
                    sampling_rate,
                    buckets_asked,
                    updated_us,
                    auto_update,
                }
            },
        )
        .boxed()
}

fn generated() -> BoxedStrategy<Generated> {
    (text(), under(), any::<bool>())
        .prop_map(|(text, under, stored)| Generated { expr: unbound(), text, under, stored })
        .boxed()
}

fn column() -> BoxedStrategy<ColumnDef> {
    use prop::option::of as maybe;
    let of = move |ty: SqlType| {
        let parts = (default_for(ty), maybe(generated()), maybe(histogram_for(ty)));
        let numbers = (maybe(any::<u32>()), maybe(any::<(u8, u8)>()));
        (name(), parts, text(), any::<[bool; 6]>(), numbers).prop_map(
            move |(name, (default, generated, histogram), comment, flags, (display_width, float_digits))| {
                let [nullable, auto_increment, on_update_current_timestamp, unsigned, zerofill, invisible] = flags;
                ColumnDef {
                    name,
                    ty,
                    nullable,
                    default,
                    auto_increment,
                    on_update_current_timestamp,
                    comment,
                    unsigned,
                    zerofill,
                    display_width,
                    float_digits,
                    invisible,
                    generated,
                    histogram: histogram.map(Arc::new),
                }
            },
        )
    };
    sql_type().prop_flat_map(of).boxed()
}

fn index(columns: usize) -> BoxedStrategy<IndexDef> {
    use IndexKind::*;
    let part = (0..columns, prop::option::of(any::<u32>()), any::<bool>())
        .prop_map(|(column_idx, prefix_len, descending)| IndexPart { column_idx, prefix_len, descending });
    let kind = prop::sample::select(vec![Primary, Unique, Plain, FullText, Spatial]);
    let algorithm = prop::sample::select(vec![None, Some(IndexAlgorithm::BTree), Some(IndexAlgorithm::Hash)]);
    (name(), kind, vec(part, 1..4), algorithm, text(), any::<(bool, bool)>())
        .prop_map(|(name, kind, parts, algorithm, comment, (invisible, made_for_foreign_key))| IndexDef {
            name,
            kind,
            parts,
            algorithm,
            comment,
            invisible,
            made_for_foreign_key,
        })
        .boxed()
}

fn foreign_key(columns: usize) -> BoxedStrategy<ForeignKey> {
    use FkAction::*;
    let action = || prop::sample::select(vec![NoAction, Restrict, Cascade, SetNull]);
    (name(), name(), name(), vec((0..columns, name()), 1..4), action(), action())
        .prop_map(|(name, parent_schema, parent_table, pairs, on_delete, on_update)| {
            let (columns, parent_columns) = pairs.into_iter().unzip();
            ForeignKey { name, columns, parent_schema, parent_table, parent_columns, on_delete, on_update }
        })
        .boxed()
}

fn check() -> BoxedStrategy<CheckConstraint> {
    (name(), text(), under(), any::<bool>())
        .prop_map(|(name, text, under, enforced)| CheckConstraint { name, expr: unbound(), text, under, enforced })
        .boxed()
}

/// With the expressions that [`Echo`] makes.
fn bound(mut t: TableDef) -> TableDef {
    let shown = t.shown_columns().len();
    for (i, c) in t.columns.iter_mut().enumerate() {
        let of = if i < shown { ExprOf::Generated(i) } else { ExprOf::KeyPart(i) };
        c.generated.iter_mut().for_each(|g| *g.expr = echo(of, &g.text));
        if let DefaultValue::Expr { expr, text, .. } = &mut c.default {
            **expr = echo(ExprOf::Default(i), text);
        }
    }
    for (i, c) in t.checks.iter_mut().enumerate() {
        *c.expr = echo(ExprOf::Check(i), &c.text);
    }
    t
}

fn table_def() -> BoxedStrategy<TableDef> {
    let of = |columns: Vec<ColumnDef>| {
        let n = columns.len();
        let keys = (vec(index(n), 0..4), vec(check(), 0..3), vec(foreign_key(n), 0..3));
        let engine = prop::sample::select(vec![TableEngine::InnoDb, TableEngine::Memory, TableEngine::Virtual]);
        let names = (any::<u64>(), name(), name(), text(), vec((text(), text()), 0..3));
        (names, Just(columns), keys, engine, collation(), any::<(i64, bool)>()).prop_map(
            |((id, schema, name, comment, options), columns, keys, engine, collation, (created_at, temporary))| {
                let (indexes, checks, foreign_keys) = keys;
                let id = TableId(id);
                bound(TableDef {
                    id,
                    schema,
                    name,
                    columns,
                    indexes,
                    checks,
                    foreign_keys,
                    engine,
                    collation,
                    comment,
                    options,
                    created_at,
                    temporary,
                })
            },
        )
    };
    let hidden = prop::option::of(generated()).prop_map(|g| {
        g.map(|g| ColumnDef {
            generated: Some(g),
            ..ColumnDef::plain(&ColumnDef::hidden_name("k", 0), SqlType::INT, true)
        })
    });
    (vec(column(), 1..5), hidden)
        .prop_map(|(mut columns, hidden)| {
            columns.extend(hidden);
            columns
        })
        .prop_flat_map(of)
        .boxed()
}

fn view_def() -> BoxedStrategy<ViewDef> {
    let texts = (text(), text(), text(), text());
    (name(), name(), vec(name(), 0..4), name(), collation(), texts)
        .prop_map(|(schema, name, columns, select_text, collation, (algorithm, definer, security, check_option))| {
            ViewDef { schema, name, columns, select_text, collation, algorithm, definer, security, check_option }
        })
        .boxed()
}

fn account_def() -> BoxedStrategy<AccountDef> {
    let verifier = prop_oneof![
        Just(StoredVerifier::None),
        text().prop_map(StoredVerifier::Text),
        any::<[u8; 32]>().prop_map(StoredVerifier::Unsalted),
    ];
    (text(), text(), text(), verifier, any::<[bool; 3]>())
        .prop_map(|(user, host, plugin, verifier, [locked, grant_option, privileged])| AccountDef {
            user,
            host,
            plugin,
            verifier,
            locked,
            grant_option,
            privileged,
        })
        .boxed()
}

fn read_table(t: &TableDef, bytes: &[u8]) -> Result<TableDef> {
    table(t.id, &t.schema, &t.name, bytes, &mut Echo)
}

/// One byte is another, or some are cut off or inserted.
fn harmed(mut bytes: Vec<u8>, at: usize, by: u8, how: u8) -> Vec<u8> {
    let at = at % bytes.len();
    match how % 3 {
        0 => bytes[at] ^= by.max(1),
        1 => bytes.truncate(at),
        _ => bytes.insert(at, by),
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn tables_come_back(t in table_def()) {
        let bytes = of_table(&t).expect("it is short");
        prop_assert!(is_encoded(&bytes));
        prop_assert_eq!(read_table(&t, &bytes).expect("it is whole"), t);
    }

    #[test]
    fn schemas_views_and_accounts_come_back(v in view_def(), a in account_def(), c in collation(), n in name()) {
        let bytes = of_view(&v).expect("it is short");
        prop_assert_eq!(view(&v.schema, &v.name, &bytes).expect("it is whole"), v);
        let bytes = of_account(&a).expect("it is short");
        prop_assert_eq!(account(&a.user, &a.host, &bytes).expect("it is whole"), a);
        let bytes = of_schema(&SchemaDef { name: n.clone(), collation: c, relations: Default::default() });
        let back = schema(&n, &bytes.expect("it is short")).expect("it is whole");
        prop_assert!(back.name == n && back.collation == c && back.relations.is_empty());
    }

    #[test]
    fn damage_is_never_a_panic(t in table_def(), at: usize, by: u8, how: u8) {
        let bytes = harmed(of_table(&t).expect("it is short").into(), at, by, how);
        if let Ok(read) = read_table(&t, &bytes) {
            // What it may be taken for is a definition all the same.
            let again = of_table(&read).expect("it is short");
            prop_assert_eq!(read_table(&read, &again).expect("it is whole"), read);
        }
    }

    #[test]
    fn random_bytes_are_never_a_panic(body: Vec<u8>, kind in 0u8..7) {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[kind, VERSION, 0, 0]);
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&body);
        for bytes in [&bytes[..], &body] {
            let _ = table(TableId(0), "", "", bytes, &mut Echo);
            let _ = (view("", "", bytes), account("", "", bytes), schema("", bytes));
        }
    }
}

fn small_table() -> TableDef {
    TableDef {
        id: TableId(7),
        schema: "shop".into(),
        name: "item".into(),
        columns: vec![ColumnDef::plain("a", SqlType::INT, true)],
        indexes: vec![],
        checks: vec![],
        foreign_keys: vec![],
        engine: TableEngine::InnoDb,
        collation: Collation::default(),
        comment: "".into(),
        options: vec![],
        created_at: 1,
        temporary: false,
    }
}

/// The table with one more field at the end of its record.
fn with_field(tag: u16) -> Vec<u8> {
    let mut w = Writer::new(of_table(&small_table()).expect("it is short").into());
    w.text(tag, "news");
    let mut bytes = w.into_bytes();
    let length = (bytes.len() - HEADER_BYTES) as u32;
    bytes[8..12].copy_from_slice(&length.to_le_bytes());
    bytes
}

#[test]
fn fields_of_later_versions_are_skipped_or_refused() {
    let t = small_table();
    assert_eq!(read_table(&t, &with_field(999)).expect("the field may be skipped"), t);
    let bytes = with_field(999 | MUST_KNOW);
    let e = read_table(&t, &bytes).expect_err("the field must be known");
    let at = bytes.len() - 4;
    let why = format!("at byte {at} of {}: field 999 is of a later version of Nextleaf", bytes.len());
    assert_eq!(e.message(), format!("the definition of table shop.item cannot be read: {why}"));
    let mut later = of_table(&t).expect("it is short");
    later[5] = VERSION + 1;
    let e = read_table(&t, &later).expect_err("the layout is another one");
    assert!(e.message().contains("at byte 5 of "), "{e}");
}

#[test]
fn what_is_damaged_is_named_with_its_place() {
    let t = small_table();
    let bytes = of_table(&t).expect("it is short");
    // The first field is the id: eight bytes behind two headers.
    let at = HEADER_BYTES + 2 * FIELD_HEADER_BYTES + 8;
    let mut bad = bytes.clone();
    bad[at] = 0xFF;
    let e = read_table(&t, &bad).expect_err("the database's name is no UTF-8");
    let why = format!("at byte {at} of {}: a text is no UTF-8", bytes.len());
    assert_eq!(e.message(), format!("the definition of table shop.item cannot be read: {why}"));
    let e = table(TableId(8), "shop", "item", &bytes, &mut Echo).expect_err("it is another table's");
    assert_eq!(e.message(), "the definition of table shop.item cannot be read: it is that of shop.item, id 7");
    let e = view("shop", "item", &bytes).expect_err("it is no view");
    assert!(e.message().contains(": at byte 4 of ") && e.message().ends_with(": it is of kind 2"), "{e}");
}

/// Bytes that were written once are read for ever: this is a table as version 1 of the layout has it.
#[test]
fn the_layout_is_the_one_that_is_described() {
    let expected: Vec<u8> = [
        &b"NLdf\x02\x01\0\0\x60\0\0\0"[..],
        b"\x01\0\x08\0\0\0\x07\0\0\0\0\0\0\0",   // id
        b"\x02\0\x04\0\0\0shop",                 // database
        b"\x03\0\x04\0\0\0item",                 // name
        b"\x04\0\x1b\0\0\0",                     // column
        b"\x01\0\x01\0\0\0a",                    //   name
        b"\x02\0\x07\0\0\0\x01\0\x01\0\0\0\x03", //   type: INT
        b"\x03\0\x01\0\0\0\x01",                 //   nullable
        b"\x08\0\x01\0\0\0\x01",                 // engine
        b"\x09\0\x02\0\0\0\xff\0",               // collation 255
        b"\x0c\0\x08\0\0\0\x01\0\0\0\0\0\0\0",   // made at
    ]
    .concat();
    assert_eq!(*of_table(&small_table()).expect("it is short"), *expected);
}
