//! Collations: how strings compare, group, join and sort.

/// A collation, with its character set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Collation {
    /// `utf8mb4_0900_ai_ci`: DUCET 9.0.0 primary weights, NO PAD. The default.
    Utf8mb4_0900AiCi,
    /// `utf8mb4_general_ci`: one weight a character, PAD SPACE.
    Utf8mb4GeneralCi,
    /// `utf8mb4_bin`: code points, PAD SPACE.
    Utf8mb4Bin,
    /// `utf8mb4_0900_bin`: code points, NO PAD.
    Utf8mb4_0900Bin,
    /// `latin1_swedish_ci`, PAD SPACE.
    Latin1SwedishCi,
    /// `latin1_bin`, PAD SPACE.
    Latin1Bin,
    /// `binary`: bytes.
    Binary,
}
