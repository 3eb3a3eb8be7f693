//! Vectors of passages, from the user's own program, and the passages that are near to a question.
//!
//! | file | owns |
//! |---|---|
//! | `extension` | the vector functions of SQLite; the one file that may have `unsafe` |
//! | `program` | the conversation with the user's program |
//! | `table` | the vectors in the index |
//! | `embed` | bringing the vectors up to date within a time limit |

mod embed;
mod extension;
mod program;
mod table;

pub(super) use embed::embed;
pub(super) use extension::register;
pub(super) use program::Vector;
pub(super) use table::nearest;
