//! Definitions of schemas, tables, columns, indexes and views, and what the planner may ask about their contents.
//!
//! Definitions are immutable and shared (`Arc<TableDef>`): a DDL statement publishes a new one. A statement resolves
//! each name once and keeps the Arc, so it sees one version of every table throughout. [`encoding`] is their form on
//! disk.

pub mod catalog;
pub mod constraint;
pub mod directory;
pub mod encoding;
pub mod histogram;
pub mod statistics;
pub mod table;

pub use catalog::{Catalog, CatalogReader, Journal, ReferenceList, Relation, SchemaDef, Schemas};
pub use constraint::{BoundUnder, CheckConstraint, FkAction, ForeignKey, Generated};
pub use directory::{Difference, Directory};
pub use encoding::{AccountDef, ObjectKind, StoredVerifier};
pub use histogram::{Histogram, HistogramKind};
pub use statistics::{ColumnStats, IndexForm, KeyBounds, KeyEnd, Statistics, TableStats};
pub use table::{
    ColumnDef, DefaultValue, IndexAlgorithm, IndexDef, IndexKind, IndexPart, TableDef, TableEngine, TableId, ViewDef,
};
