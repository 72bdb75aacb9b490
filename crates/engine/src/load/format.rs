//! The FIELDS and LINES clauses of LOAD DATA and SELECT ... INTO OUTFILE.

use parser::ast::FieldsLines;
use types::{Error, ErrorCode, Result};

/// How lines and fields are delimited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Not empty.
    pub field_end: Box<[u8]>,
    pub enclosed: Option<u8>,
    pub escape: Option<u8>,
    pub line_start: Box<[u8]>,
    /// Not empty.
    pub line_end: Box<[u8]>,
}

impl Format {
    /// Errors: 1083 for ENCLOSED or ESCAPED BY of several bytes; 1235 for the fixed-row format.
    pub fn new(clauses: &FieldsLines) -> Result<Format> {
        let single = |bytes: &Option<Box<[u8]>>, default: Option<u8>| match bytes.as_deref() {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([b]) => Ok(Some(*b)),
            Some(_) => Err(Error::new(
                ErrorCode::WRONG_FIELD_TERMINATORS,
                "Field separator argument is not what is expected; check the manual",
            )),
        };
        let field_end = clauses.fields_terminated_by.clone().unwrap_or_else(|| b"\t".as_slice().into());
        let line_end = clauses.lines_terminated_by.clone().unwrap_or_else(|| b"\n".as_slice().into());
        let enclosed = single(&clauses.enclosed_by, None)?;
        if field_end.is_empty() {
            return Err(Error::not_supported("LOAD DATA with an empty FIELDS TERMINATED BY"));
        }
        // "If LINES TERMINATED BY is empty and FIELDS TERMINATED BY is not, lines end like fields."
        let line_end = if line_end.is_empty() { field_end.clone() } else { line_end };
        Ok(Format {
            field_end,
            enclosed,
            escape: single(&clauses.escaped_by, Some(b'\\'))?,
            line_start: clauses.lines_starting_by.clone().unwrap_or_default(),
            line_end,
        })
    }
}
