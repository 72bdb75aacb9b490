//! Keywords: which words the lexer tells apart, and which of them are reserved (MySQL 8.4, "Keywords and Reserved
//! Words").
//!
//! Only reserved words and the non-reserved ones that steer expressions and queries are here. Statements of
//! administration compare other words by text, so that those words never cost ordinary identifiers anything.

macro_rules! keywords {
    (reserved: $($r:ident)* ; free: $($f:ident)*) => {
        /// A word the lexer knows.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Kw { $($r,)* $($f,)* }

        const RESERVED_COUNT: usize = [$(Kw::$r),*].len();
        const ALL: &[(Kw, &str)] = &[$((Kw::$r, stringify!($r)),)* $((Kw::$f, stringify!($f)),)*];
    };
}

keywords! {
    reserved:
    ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB BOTH BY CALL CASCADE CASE
    CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST
    CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND DAY_MINUTE
    DAY_SECOND DEC DECIMAL DECLARE DEFAULT DELAYED DELETE DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT DISTINCTROW DIV
    DOUBLE DROP DUAL EACH ELSE ELSEIF EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH FIRST_VALUE FLOAT FLOAT4
    FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS HAVING HIGH_PRIORITY
    HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE INNER INOUT INSENSITIVE INSERT INT INT1 INT2 INT3 INT4
    INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG
    LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT LINEAR LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB
    LONGTEXT LOOP LOW_PRIORITY MANUAL MATCH MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT MIDDLEINT MINUTE_MICROSECOND
    MINUTE_SECOND MOD MODIFIES NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL NUMERIC OF ON OPTIMIZE OPTIMIZER_COSTS
    OPTION OPTIONALLY OR ORDER OUT OUTER OUTFILE OVER PARALLEL PARTITION PERCENT_RANK PRECISION PRIMARY PROCEDURE PURGE
    QUALIFY RANGE RANK READ READS READ_WRITE REAL RECURSIVE REFERENCES REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE RESIGNAL
    RESTRICT RETURN REVOKE RIGHT RLIKE ROW ROWS ROW_NUMBER SCHEMA SCHEMAS SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET
    SHOW SIGNAL SMALLINT SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS
    SQL_SMALL_RESULT SSL STARTING STORED STRAIGHT_JOIN SYSTEM TABLE TABLESAMPLE TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO
    TRAILING TRIGGER TRUE UNDO UNION UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES
    VARBINARY VARCHAR VARCHARACTER VARYING VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH ZEROFILL ;
    free:
    ANY DATE DAY END ESCAPE HOUR MEMBER MICROSECOND MINUTE MONTH OFFSET QUARTER ROLLUP SECOND SOME SOUNDS SQL_BUFFER_RESULT
    SQL_CACHE SQL_NO_CACHE TIME TIMESTAMP UNKNOWN VALUE WEEK YEAR
}

impl Kw {
    /// May not stand as a bare identifier.
    pub const fn is_reserved(self) -> bool {
        (self as usize) < RESERVED_COUNT
    }

    /// Upper case.
    pub const fn text(self) -> &'static str {
        ALL[self as usize].1
    }
}

const LEN_MIN: usize = 2;
const LEN_MAX: usize = 20;
const SLOT_COUNT: usize = 1024;
const EMPTY: u16 = u16::MAX;

/// Open addressing over [`hash`], linear probing; built at compile time.
static SLOTS: [u16; SLOT_COUNT] = build();

const fn build() -> [u16; SLOT_COUNT] {
    let mut slots = [EMPTY; SLOT_COUNT];
    let mut i = 0;
    while i < ALL.len() {
        let word = ALL[i].1.as_bytes();
        assert!(word.len() >= LEN_MIN && word.len() <= LEN_MAX);
        let mut slot = hash(word);
        while slots[slot] != EMPTY {
            slot = (slot + 1) % SLOT_COUNT;
        }
        slots[slot] = i as u16;
        i += 1;
    }
    slots
}

/// First, second, middle and last letters with the length: enough to spread the list.
const fn hash(word: &[u8]) -> usize {
    const fn low(b: u8) -> usize {
        (b | 0x20) as usize
    }
    let n = word.len();
    let h = low(word[0])
        .wrapping_mul(0x9E5B)
        .wrapping_add(low(word[1]).wrapping_mul(0x2545))
        .wrapping_add(low(word[n / 2]).wrapping_mul(0x85EB))
        .wrapping_add(low(word[n - 1]).wrapping_mul(0x1F35))
        .wrapping_add(n.wrapping_mul(0x6A09));
    (h ^ (h >> 9)) % SLOT_COUNT
}

/// All keywords, upper case.
pub fn words() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(_, word)| *word)
}

/// Those that may not stand as bare identifiers, upper case.
pub fn reserved_words() -> impl Iterator<Item = &'static str> {
    ALL[..RESERVED_COUNT].iter().map(|(_, word)| *word)
}

/// The keyword that `word` spells, in any case.
pub fn lookup(word: &[u8]) -> Option<Kw> {
    if word.len() < LEN_MIN || word.len() > LEN_MAX {
        return None;
    }
    let mut slot = hash(word);
    loop {
        let i = SLOTS[slot];
        if i == EMPTY {
            return None;
        }
        let (kw, text) = ALL[i as usize];
        if text.len() == word.len() && text.as_bytes().eq_ignore_ascii_case(word) {
            return Some(kw);
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for (kw, text) in ALL {
            assert_eq!(lookup(text.as_bytes()), Some(*kw));
            assert_eq!(lookup(text.to_lowercase().as_bytes()), Some(*kw));
            assert_eq!(kw.text(), *text);
        }
        for other in ["a", "", "selectx", "sbtest1", "l_orderkey", "sel\u{c3}ct", "zzzzzzzzzzzzzzzzzzzzzzzzzzzz"] {
            assert_eq!(lookup(other.as_bytes()), None, "{other}");
        }
        assert!(Kw::SELECT.is_reserved() && Kw::ZEROFILL.is_reserved() && !Kw::ANY.is_reserved());
    }

    #[test]
    fn probes_stay_short() {
        let worst = ALL.iter().map(|(_, t)| {
            let mut slot = hash(t.as_bytes());
            let mut probe_count = 1;
            while ALL[SLOTS[slot] as usize].1 != *t {
                slot = (slot + 1) % SLOT_COUNT;
                probe_count += 1;
            }
            probe_count
        });
        assert!(worst.max() <= Some(8));
    }
}
