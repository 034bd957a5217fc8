//! Whatever a peer sends as a chunk: it is decoded or refused, within the limits.
#![no_main]

use std::sync::Arc;

use convene::mesh::{Assembly, Decoded, MAX_DECODED_BYTES, decode, exact};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|chunk: &[u8]| {
    if let Ok(decoded) = decode(chunk) {
        assert!(decoded.bytes() <= MAX_DECODED_BYTES);
        if let Decoded::Part(part) = &decoded {
            let count = part.positions.len() as u32;
            assert!(part.positions.as_flattened().iter().all(|value| value.is_finite()));
            assert!(part.indices.as_flattened().iter().all(|&corner| corner < count));
        }
        // As the only chunk, or as the one behind a head that is none.
        let assembly = Assembly::new(1, 1 << 24);
        if assembly.insert(0, Arc::new(decoded)).is_ok() {
            let _ = assembly.glb();
        }
    }
    let mut bytes = Vec::new();
    if exact::decode(chunk, 4096, &mut bytes).is_ok() {
        assert_eq!(bytes.len(), 4096);
    }
});
