//! The `convene` program.
fn main() {}
